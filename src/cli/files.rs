//! Files that are there whole or not at all.

use crate::failure::Failure;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Temporary names that are tried: others may have been left behind.
const MAX_NAMES: u32 = 100;
/// Permissions that a file keeps when it is replaced.
const PERMISSIONS: u32 = 0o777;

/// Writes a file under a temporary name beside it, and renames it. What has the temporary name already, such as a
/// symbolic link to somewhere else, is left alone. A device or a pipe is written to.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    let written = Target::find(path).and_then(|target| target.write(text));
    written.map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// What has the name of a file that is to be written.
enum Target {
    None(PathBuf),
    /// A file, where it is behind all links.
    File(PathBuf, Metadata),
    /// A device, a pipe or a socket.
    Special(PathBuf),
}

impl Target {
    fn find(path: &Path) -> io::Result<Target> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {
                // The system knows whether it may be written, and whether a link to it may be followed.
                File::options().write(true).open(path)?;
                Ok(Target::File(fs::canonicalize(path)?, metadata))
            }
            Ok(_) => Ok(Target::Special(path.to_owned())),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Err(_) if fs::symlink_metadata(path).is_ok() => {
                Err(io::Error::other("it is a link that leads nowhere"))
            }
            Err(_) => Ok(Target::None(path.to_owned())),
        }
    }

    fn write(&self, text: &str) -> io::Result<()> {
        match self {
            Target::None(path) => replace(path, None, text),
            Target::File(path, metadata) => replace(path, Some(metadata), text),
            Target::Special(path) => {
                File::options().write(true).open(path)?.write_all(text.as_bytes())
            }
        }
    }
}

fn replace(path: &Path, former: Option<&Metadata>, text: &str) -> io::Result<()> {
    let (mut file, temporary) = create_beside(path)?;
    let mut write = || {
        if let Some(former) = former {
            // Only root may give a file to somebody else.
            let _ = fchown(&file, Some(former.uid()), Some(former.gid()));
            file.set_permissions(Permissions::from_mode(former.mode() & PERMISSIONS))?;
        }
        file.write_all(text.as_bytes())?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        // Nothing more can be done where this fails.
        let _ = fs::remove_file(&temporary);
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
    if path.is_dir() || !folder.is_dir() {
        return Err(format!("{option} {}: not a file in a folder that exists", path.display()));
    }
    let found = Target::find(path).map(|_| ());
    found.map_err(|error| format!("{option} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::scratch::Scratch;
    use rustix::fs::{CWD, FileType, Mode, OFlags};
    use std::io::Read;
    use std::os::unix::fs::{FileTypeExt, symlink};

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let folder = Scratch::new("files");
        let (path, victim) = (folder.path("out"), folder.path("victim"));
        fs::write(&victim, "mine").unwrap();
        let pid = std::process::id();
        for name in [format!("out.{pid}.part"), format!("out.{pid}-0.part")] {
            symlink(&victim, folder.path(&name)).unwrap();
        }
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_keeps_its_permissions() {
        let folder = Scratch::new("links");
        fs::create_dir(folder.path("elsewhere")).unwrap();
        let (link, file) = (folder.path("link"), folder.path("elsewhere/file"));
        symlink("elsewhere/file", &link).unwrap();
        let nowhere = check_file("--json", &link).unwrap_err();
        assert!(nowhere.ends_with("link: it is a link that leads nowhere"), "{nowhere}");
        assert!(write_whole(&link, "new").is_err());
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        check_file("--json", &link).unwrap();
        write_whole(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & PERMISSIONS, 0o640);
        assert_eq!(fs::read_dir(folder.path("elsewhere")).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_is_written_to() {
        let folder = Scratch::new("pipes");
        let path = folder.path("pipe");
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        // So that it waits for nobody to write.
        let reader = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        check_file("--json", &path).unwrap();
        write_whole(&path, "new").unwrap();
        let mut text = String::new();
        File::from(reader.unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "new");
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    }
}
