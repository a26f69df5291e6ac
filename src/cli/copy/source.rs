//! The file that rank 0 reads.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub struct Source {
    file: File,
    path: PathBuf,
    /// Its length when it was opened, in bytes.
    pub length: u64,
    /// Its permissions, without set-user-ID, set-group-ID and sticky bits.
    pub mode: u32,
    read: u64,
}

impl Source {
    pub fn open(path: &Path) -> Result<Source, String> {
        let cannot = |error: io::Error| format!("cannot read {}: {error}", path.display());
        // To open a pipe would wait for its other end.
        check_kind(path, &fs::metadata(path).map_err(cannot)?)?;
        let file = File::open(path).map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        check_kind(path, &metadata)?;
        let mode = metadata.permissions().mode() & 0o777;
        Ok(Source { file, path: path.to_owned(), length: metadata.len(), mode, read: 0 })
    }

    /// Fills `buffer` with the next bytes of the file.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => {
                    let (path, got) = (self.path.display(), self.read + filled as u64);
                    let expected = self.length;
                    return Err(format!(
                        "{path} shrank while it was read: expected {expected} bytes, got {got}"
                    ));
                }
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("cannot read {}: {error}", self.path.display())),
            }
        }
        self.read += filled as u64;
        Ok(())
    }

    /// Makes sure that the file was not changed in length since it was opened.
    pub fn finish(&self) -> Result<(), String> {
        let path = self.path.display();
        let now =
            self.file.metadata().map_err(|error| format!("cannot read {path}: {error}"))?.len();
        let expected = self.length;
        match now {
            _ if now < expected => Err(format!(
                "{path} shrank while it was read: expected {expected} bytes, got {now}"
            )),
            _ if now > expected => {
                Err(format!("{path} grew while it was read: expected {expected} bytes, got {now}"))
            }
            _ => Ok(()),
        }
    }
}

fn check_kind(path: &Path, metadata: &fs::Metadata) -> Result<(), String> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = if metadata.is_dir() { "a folder" } else { "not a regular file" };
    Err(format!("cannot copy {}: it is {kind}", path.display()))
}
