//! Files that are there whole or not at all.

use crate::failure::Failure;
use std::fs;
use std::path::Path;

/// Writes a file under a temporary name beside it, and renames it.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // It may not have come into being.
        let _ = fs::remove_file(&temporary);
        Failure::new(format!("cannot write {}: {error}", path.display()))
    })
}

/// Finds out early that the file of an option cannot be written.
pub fn check_file(option: &str, path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    match path.is_dir() || !folder.is_dir() {
        true => Err(format!("{option} {}: not a file in a folder that exists", path.display())),
        false => Ok(()),
    }
}
