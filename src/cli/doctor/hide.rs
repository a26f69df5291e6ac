//! What names a site is replaced in a report that leaves it: the same by the same, and differently in each report.

use crate::units::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// Replaces all of `secrets`, wherever they stand in texts.
pub fn hide(value: &mut Value, secrets: &BTreeSet<String>, salt: &str) {
    match value {
        Value::String(text) => {
            // The longest first: an address may begin with another.
            let mut ordered: Vec<_> = secrets.iter().filter(|secret| !secret.is_empty()).collect();
            ordered.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
            for secret in ordered {
                *text = replace(text, secret, &pseudonym(secret, salt));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| hide(value, secrets, salt)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| hide(value, secrets, salt));
        }
        _ => {}
    }
}

fn pseudonym(secret: &str, salt: &str) -> String {
    let digest = Sha256::digest(format!("{salt} {secret}"));
    format!("#{}", hex(&digest[..4]))
}

/// Replaces a word, which may not be a part of a longer one.
fn replace(text: &str, secret: &str, by: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '#';
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        let (before, found) = rest.split_at(at);
        let after = &found[secret.len()..];
        let begins = !before.ends_with(is_word);
        let ends = !after.starts_with(is_word);
        replaced += before;
        replaced += if begins && ends { by } else { secret };
        rest = after;
    }
    replaced + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_replaced_wherever_they_stand() {
        let secrets = ["node1", "10.0.0.1", "10.0.0.12"].map(str::to_owned).into();
        let mut value = json!({
            "host": "node1",
            "came": ["node1 with 10.0.0.12: refused", "node10 keeps its name"],
            "node1": 1,
        });
        hide(&mut value, &secrets, "salt");
        let text = value.to_string();
        assert!(!text.contains("10.0.0.1") && text.contains("node10 keeps"), "{text}");
        let name = pseudonym("node1", "salt");
        assert_eq!(value["host"], name.as_str());
        assert!(value["came"][0].as_str().unwrap().starts_with(&name));
        assert_ne!(name, pseudonym("node1", "other"), "another report has other names");
    }
}
