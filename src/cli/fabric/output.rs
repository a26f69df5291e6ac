//! What is printed, or written instead.

use crate::failure::Failure;
use crate::files::write_whole;
use serde::Serialize;
use std::path::Path;

/// Writes to a file, or to standard output if there is none.
pub fn put(path: Option<&Path>, text: &str) -> Result<(), Failure> {
    match path {
        Some(path) => write_whole(path, text),
        None => crate::print(text),
    }
}

/// Prints one JSON object.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::new)?;
    crate::print(&(text + "\n"))
}
