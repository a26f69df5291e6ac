//! The notices of the crates that are linked into what is installed: which they are, and on which terms.

use crate::nextest::cargo;
use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is installed, and so linked.
const INSTALLED: [&str; 4] = ["-p", "verbcast-cli", "-p", "verbcast-preload"];
/// What the files with a crate's terms begin with.
const TERMS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// A crate that is linked.
struct Linked<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
    folder: &'a Path,
}

/// All notices, as text.
///
/// # Errors
/// If cargo does not tell, or a crate's files cannot be read.
pub fn text() -> Result<String, Box<dyn Error>> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    let tree = said(tree.args(["--format", "{p}"]).args(INSTALLED))?;
    let linked = names(&tree);
    let metadata = said(cargo().args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata tells of no packages")?;
    let mut text = String::from(
        "Crates that are linked into verbcast's command and libraries, beside Rust's standard library (MIT or Apache-2.0):\n",
    );
    for package in packages {
        let of = |key: &str| package[key].as_str().unwrap_or_default();
        let linked_as = (of("name").to_owned(), of("version").to_owned());
        // What is in this workspace has no source, and is verbcast itself.
        if package["source"].is_null() || !linked.contains(&linked_as) {
            continue;
        }
        let folder =
            Path::new(of("manifest_path")).parent().ok_or("a manifest without a folder")?;
        let (name, version, licence) = (of("name"), of("version"), of("license"));
        notice(&mut text, &Linked { name, version, licence, folder })?;
    }
    Ok(text)
}

/// Names and versions in the lines of `cargo tree`.
fn names(tree: &str) -> BTreeSet<(String, String)> {
    let words = tree.lines().map(|line| line.split(' '));
    let pairs = words.filter_map(|mut words| Some((words.next()?, words.next()?)));
    pairs
        .filter_map(|(name, version)| {
            Some((name.to_owned(), version.strip_prefix('v')?.to_owned()))
        })
        .collect()
}

/// Adds the notice of a crate: its name, and the files that say its terms.
fn notice(text: &mut String, linked: &Linked<'_>) -> Result<(), Box<dyn Error>> {
    let Linked { name, version, licence, folder } = linked;
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file() && TERMS.iter().any(|begin| name.starts_with(begin))
    });
    files.sort();
    writeln!(text, "\n==== {name} {version}: {licence}")?;
    for file in files {
        let terms = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        writeln!(text, "\n{}", String::from_utf8_lossy(&terms).trim_end())?;
    }
    Ok(())
}

fn said(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?),
        false => Err(format!("{command:?} failed: {}", output.status).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_named_with_its_terms() {
        let text = text().unwrap();
        for name in ["clap", "tracing", "mpi"] {
            assert!(text.contains(&format!("\n==== {name} ")), "{name} in {text}");
        }
        assert!(text.contains("Permission is hereby granted, free of charge"), "MIT's words");
        for name in ["verbcast", "serde_derive", "proptest"] {
            assert!(!text.contains(&format!("\n==== {name} ")), "{name} in {text}");
        }
    }

    #[test]
    fn lines_of_the_tree_are_read() {
        let found = names("clap v4.6.7\nverbcast v0.1.0 (/src)\nclap v4.6.7 (*)\n\n");
        let expected = [("clap", "4.6.7"), ("verbcast", "0.1.0")];
        assert_eq!(
            found,
            expected.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
        );
    }
}
