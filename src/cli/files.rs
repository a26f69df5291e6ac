//! Files that are there whole or not at all.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Temporary names that are tried: others may have been left behind.
const MAX_NAMES: u32 = 100;

/// Writes a file under a temporary name beside it, and renames it. What has the temporary name already, such as a
/// symbolic link to somewhere else, is left alone.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let failed =
        |error: io::Error| Failure::new(format!("cannot write {}: {error}", path.display()));
    let (mut file, temporary) = create_beside(path).map_err(failed)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // Nothing more can be done where this fails.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

/// A new file beside another.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
    for number in 0..MAX_NAMES {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}-{number}.part", std::process::id()));
        let temporary = PathBuf::from(name);
        outcome = File::create_new(&temporary).map(|file| (file, temporary));
        if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
            break;
        }
    }
    outcome
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("verbcast-files-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let (path, victim) = (folder.join("out"), folder.join("victim"));
        fs::write(&victim, "mine").unwrap();
        let pid = std::process::id();
        for name in [format!("out.{pid}.part"), format!("out.{pid}-0.part")] {
            symlink(&victim, folder.join(name)).unwrap();
        }
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
        fs::remove_dir_all(folder).unwrap();
    }
}
