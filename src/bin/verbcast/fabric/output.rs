//! What is printed, and files that are there whole or not at all.

use crate::failure::Failure;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a file under a temporary name beside it, and renames it.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    let part = PathBuf::from(name);
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        // It may never have been made.
        let _ = fs::remove_file(&part);
        Failure::new(format!("cannot write {}: {error}", path.display()))
    })
}

/// Writes to a file, or to standard output if there is none.
pub fn put(path: Option<&Path>, text: &str) -> Result<(), Failure> {
    match path {
        Some(path) => write(path, text),
        None => crate::print(text),
    }
}

/// Prints one JSON object.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::new)?;
    crate::print(&(text + "\n"))
}
