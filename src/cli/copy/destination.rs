//! The file that a rank writes: under a temporary name until all ranks have everything.

use crate::launch::cleanup::Cleanup;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use verbcast_core::rank::Rank;

const PLACEHOLDER: &str = "{rank}";
/// File names have at most 255 bytes; the temporary one adds about 40.
const MAX_STEM: usize = 200;

/// DST as it was given.
#[derive(Debug, PartialEq, Eq)]
pub struct Destination(String);

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.ends_with('/') || Path::new(text).file_name().is_none() {
            return Err(format!("DST must name a file, not a folder: '{text}'"));
        }
        Ok(Destination(text.to_owned()))
    }
}

impl Destination {
    /// Whether each rank writes a file of its own.
    pub fn is_numbered(&self) -> bool {
        self.0.contains(PLACEHOLDER)
    }

    /// The file of `rank`.
    pub fn path(&self, rank: Rank) -> PathBuf {
        self.0.replace(PLACEHOLDER, &rank.0.to_string()).into()
    }

    /// The temporary file of `rank` in the job of that name.
    pub fn temporary(&self, rank: Rank, job: &str) -> PathBuf {
        let path = self.path(rank);
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let end = (0..=MAX_STEM.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
        let stem = &name[..end.unwrap_or(0)];
        path.with_file_name(OsString::from(format!(".{stem}.verbcast-{job}-{}.part", rank.0)))
    }
}

/// A file in the making. Dropping it removes it.
pub struct Partial {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    /// Its permissions in the end.
    rights: Permissions,
    cleanup: Cleanup,
}

/// The permissions that a mode may ask for: reading, writing and executing, but not to run as another user.
const PERMISSIONS: u32 = 0o777;

impl Partial {
    /// A file that gets the permissions of `mode` which this process's umask allows, as any file that it creates. Until
    /// it is complete, it is its owner's alone.
    pub fn create(
        destination: &Destination,
        rank: Rank,
        (job, mode): (&str, u32),
        cleanup: &Cleanup,
    ) -> Result<Partial, String> {
        let path = destination.path(rank);
        if path.is_dir() {
            return Err(format!("{} is a folder; DST must name a file", path.display()));
        }
        let temporary = destination.temporary(rank, job);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode & PERMISSIONS);
        let opened = cleanup.update(|file| {
            let opened = options.open(&temporary);
            if opened.is_ok() {
                *file = Some(temporary.clone());
            }
            opened
        });
        let file = opened.map_err(|error| {
            let folder = temporary.parent().filter(|folder| !folder.as_os_str().is_empty());
            match (folder, error.kind()) {
                (Some(folder), io::ErrorKind::NotFound) if !folder.exists() => {
                    format!(
                        "cannot write {}: the folder {} does not exist",
                        path.display(),
                        folder.display()
                    )
                }
                _ => {
                    format!("cannot create {} beside its destination: {error}", temporary.display())
                }
            }
        })?;
        let rights = Permissions::from_mode(mode & PERMISSIONS);
        let mut partial = Partial { file, temporary, path, rights, cleanup: cleanup.clone() };
        partial.keep_private().map_err(|error| partial.cannot("write", &error))?;
        Ok(partial)
    }

    /// Remembers the permissions that the kernel has granted, and takes all but the owner's for now.
    fn keep_private(&mut self) -> io::Result<()> {
        let granted = self.file.metadata()?.permissions().mode() & PERMISSIONS;
        self.rights = Permissions::from_mode(granted);
        self.file.set_permissions(Permissions::from_mode(0o600))
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.file.write_all(bytes).map_err(|error| self.cannot("write", &error))
    }

    /// Makes the file durable, with its final permissions.
    pub fn complete(&mut self) -> Result<(), String> {
        self.file
            .set_permissions(self.rights.clone())
            .and_then(|()| self.file.sync_all())
            .map_err(|error| self.cannot("write", &error))
    }

    /// Puts the file in its place.
    pub fn publish(self) -> Result<(), String> {
        let renamed = self.cleanup.update(|file| {
            fs::rename(&self.temporary, &self.path)?;
            *file = None;
            Ok(())
        });
        renamed.map_err(|error: io::Error| {
            let (from, to) = (self.temporary.display(), self.path.display());
            format!("cannot rename {from} to {to}: {error}")
        })?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // The file is there; that the folder's entry survives a power failure is not had
        // everywhere.
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }

    fn cannot(&self, what: &str, error: &io::Error) -> String {
        format!("cannot {what} {}: {error}", self.path.display())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        self.cleanup.update(|file| {
            if let Some(path) = file.take() {
                // Nothing more can be done where this fails.
                let _ = fs::remove_file(path);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_its_names() {
        let destination: Destination = "d{rank}/out.{rank}".parse().unwrap();
        assert!(destination.is_numbered());
        assert_eq!(destination.path(Rank(3)), Path::new("d3/out.3"));
        let temporary = destination.temporary(Rank(3), "abcd");
        assert_eq!(temporary, Path::new("d3/.out.3.verbcast-abcd-3.part"));
        let long: Destination = "ä".repeat(127).parse().unwrap();
        assert!(long.temporary(Rank(511), "0123456789abcdef").as_os_str().len() <= 255);
    }

    #[test]
    fn permissions_are_those_of_any_new_file_and_never_more() {
        let path = |name: &str| {
            std::env::temp_dir().join(format!("verbcast-{name}-{}", std::process::id()))
        };
        let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        for mode in [0o104_755, 0o102_777, 0o7777, 0o666, 0o600, u32::MAX] {
            let plain = path("plain");
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(mode & 0o777).open(&plain).unwrap();
            let destination: Destination = path("rights").to_str().unwrap().parse().unwrap();
            let cleanup = Cleanup::default();
            let mut partial =
                Partial::create(&destination, Rank(1), ("0", mode), &cleanup).unwrap();
            assert_eq!(mode_of(&destination.temporary(Rank(1), "0")), 0o600, "in the making");
            partial.write(b"some").unwrap();
            partial.complete().unwrap();
            partial.publish().unwrap();
            let copied = destination.path(Rank(1));
            assert_eq!(mode_of(&copied), mode_of(&plain), "{mode:o}");
            fs::remove_file(copied).unwrap();
            fs::remove_file(plain).unwrap();
        }
    }

    #[test]
    fn a_folder_is_no_destination() {
        for text in ["", "/", "out/", "..", "a/.."] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }
}
