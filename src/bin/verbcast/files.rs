//! Files that are there whole or not at all.

use std::fs;
use std::path::Path;

/// Writes a file under a temporary name beside it, and renames it.
pub fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // It may not have come into being.
        let _ = fs::remove_file(&temporary);
        format!("cannot write {}: {error}", path.display())
    })
}
