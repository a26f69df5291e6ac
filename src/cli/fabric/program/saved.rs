//! The file with what was there before changes.

use crate::failure::Failure;
use crate::files::write_whole;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use verbcast_fabric::program::Change;

/// The file's first word, so that no other is taken for one.
const FORMAT: &str = "verbcast multicast tables 1";

#[derive(Serialize, Deserialize)]
struct Saved {
    format: String,
    changes: Vec<Change>,
}

/// Saves what was there before changes, and what is to be there after. An older file is not replaced: what
/// it has may be needed as well.
pub fn save(path: &Path, changes: Vec<Change>) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(Failure::new(format!("{}: it is there already", path.display())));
    }
    let saved = Saved { format: FORMAT.to_owned(), changes };
    let text = serde_json::to_string(&saved).map_err(Failure::new)? + "\n";
    write_whole(path, &text)
}

/// What was saved to a file.
pub fn load(path: &Path) -> Result<Vec<Change>, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::new(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
    let saved: Saved = serde_json::from_str(&text).map_err(|error| failed(&error))?;
    if saved.format != FORMAT {
        return Err(failed(&format!("it does not begin as {FORMAT} does")));
    }
    match saved.changes.iter().find(|change| !change.is_valid()) {
        Some(change) => Err(failed(&format!("there is no {change}"))),
        None => Ok(saved.changes),
    }
}
