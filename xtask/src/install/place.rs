//! The folder into which things are installed.

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Modes of files.
pub const PROGRAM: u32 = 0o755;
pub const TEXT: u32 = 0o644;

pub struct Place(PathBuf);

impl Place {
    /// Below a prefix, which is itself below another folder where a package is made.
    pub fn new(prefix: &Path, below: Option<&Path>) -> Place {
        let relative = prefix.strip_prefix("/").unwrap_or(prefix);
        Place(below.map_or(prefix.to_owned(), |below| below.join(relative)))
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Copies a file there.
    pub fn put(&self, file: &Path, to: &str, mode: u32) -> Result<(), Box<dyn Error>> {
        let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        self.write(&bytes, to, mode)
    }

    /// Writes a file there: beside what it takes the place of, which may be running.
    pub fn write(&self, bytes: &[u8], to: &str, mode: u32) -> Result<(), Box<dyn Error>> {
        let path = self.0.join(to);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&self.0))?;
            let part = path.with_file_name(format!(".{}.part", std::process::id()));
            fs::write(&part, bytes)?;
            fs::set_permissions(&part, fs::Permissions::from_mode(mode))?;
            fs::rename(&part, &path)
        };
        write().map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_below_the_prefix_with_their_modes() {
        let folder = std::env::temp_dir().join(format!("xtask-install-{}", std::process::id()));
        let place = Place::new(Path::new("/opt/verbcast"), Some(&folder));
        assert_eq!(place.root(), folder.join("opt/verbcast"));
        place.write(b"old", "bin/verbcast", TEXT).unwrap();
        place.write(b"new", "bin/verbcast", PROGRAM).unwrap();
        let path = folder.join("opt/verbcast/bin/verbcast");
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, PROGRAM);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let error = place.put(Path::new("/nonexistent"), "share/x", TEXT).unwrap_err();
        assert!(error.to_string().contains("/nonexistent: No such file"), "{error}");
        let error = place.write(b"", "bin/verbcast/below", TEXT).unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
