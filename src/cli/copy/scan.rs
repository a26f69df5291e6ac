//! What is to be copied: the sources, as rank 0 finds them.

use super::destination::shown;
use super::manifest::{Entry, Extent, Kind, Manifest};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Shorter holes are sent as zeros: to tell of each would cost more.
const MIN_HOLE: u64 = 64 << 10;
/// Bytes of a block, in which the system counts what a file takes.
const BLOCK: u64 = 512;
/// Permissions that are copied.
const PERMISSIONS: u32 = 0o777;

/// What there is, and where it is read.
#[derive(Debug, Default)]
pub struct Found {
    pub manifest: Manifest,
    /// By entry.
    pub origins: Vec<Origin>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub path: PathBuf,
    /// The device and the number of a file, so that another file is not read in its place.
    pub identity: (u64, u64),
}

pub struct Wanted<'a> {
    pub sources: &'a [PathBuf],
    /// Whether they go into a folder, each under its own name.
    pub into_folder: bool,
    pub recursive: bool,
    /// Whether holes are looked for.
    pub finds_holes: bool,
}

impl Wanted<'_> {
    pub fn find(&self) -> Result<Found, String> {
        let mut found = Found::default();
        if self.sources == [Path::new("-")] {
            let stream = Entry { mode: 0o666, ..root(Kind::Stream) };
            found.add(stream, PathBuf::from("-"), (0, 0));
            return Ok(found);
        }
        if self.into_folder {
            found.add(root(Kind::Folder), PathBuf::new(), (0, 0));
        }
        for source in self.sources {
            let name = match self.into_folder {
                false => Vec::new(),
                true => last_name(source)?,
            };
            // What is named is followed if it is a link.
            let metadata = fs::metadata(source).map_err(|error| cannot_read(source, &error))?;
            self.add(&mut found, (0, name), source.clone(), &metadata)?;
        }
        found.manifest.check().map_err(|what| format!("cannot copy this together: {what}"))?;
        Ok(found)
    }

    /// Adds what is at `path`, with all that is in it.
    fn add(
        &self,
        found: &mut Found,
        (parent, name): (u32, Vec<u8>),
        path: PathBuf,
        metadata: &Metadata,
    ) -> Result<(), String> {
        let first = self.add_one(found, (parent, name), path, metadata)?;
        let mut folders: Vec<(u32, PathBuf)> = first.into_iter().collect();
        while let Some((index, path)) = folders.pop() {
            for (name, path) in names_in(&path)? {
                let metadata =
                    fs::symlink_metadata(&path).map_err(|error| cannot_read(&path, &error))?;
                folders.extend(self.add_one(found, (index, name), path, &metadata)?);
            }
        }
        Ok(())
    }

    /// Adds one thing; if it is a folder, returns its entry and where it is.
    fn add_one(
        &self,
        found: &mut Found,
        (parent, name): (u32, Vec<u8>),
        path: PathBuf,
        metadata: &Metadata,
    ) -> Result<Option<(u32, PathBuf)>, String> {
        let kind = self.kind(&path, metadata)?;
        let index = u32::try_from(found.manifest.entries.len()).map_err(|_| "too many files")?;
        let folder = (kind == Kind::Folder).then(|| (index, path.clone()));
        let mode = metadata.permissions().mode() & PERMISSIONS;
        let nanos = metadata.mtime_nsec().clamp(0, 999_999_999) as u32;
        let modified = Some((metadata.mtime(), nanos));
        let entry = Entry { parent, name, mode, modified, kind };
        found.add(entry, path, (metadata.dev(), metadata.ino()));
        Ok(folder)
    }

    fn kind(&self, path: &Path, metadata: &Metadata) -> Result<Kind, String> {
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(path).map_err(|error| cannot_read(path, &error))?;
            return Ok(Kind::Link(target.into_os_string().into_vec()));
        }
        if kind.is_dir() && self.recursive {
            return Ok(Kind::Folder);
        }
        if kind.is_file() {
            let size = metadata.len();
            // To look for holes is to open the file.
            let has_holes = self.finds_holes && metadata.blocks() * BLOCK < size;
            let extents = if has_holes { extents(path, size)? } else { whole(size) };
            return Ok(Kind::File { size, extents });
        }
        Err(format!("cannot copy {}: it is {}", shown(path), what_it_is(kind)))
    }
}

impl Found {
    fn add(&mut self, entry: Entry, path: PathBuf, identity: (u64, u64)) {
        self.manifest.entries.push(entry);
        self.origins.push(Origin { path, identity });
    }
}

fn root(kind: Kind) -> Entry {
    Entry { parent: 0, name: Vec::new(), mode: 0o777, modified: None, kind }
}

/// The kind of something that cannot be copied.
fn what_it_is(kind: fs::FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "a folder (-r copies folders)",
        _ if kind.is_fifo() => "not a regular file but a pipe",
        _ if kind.is_socket() => "not a regular file but a socket",
        _ => "not a regular file but a device",
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", shown(path))
}

/// The name that a source has in the folder where it is put.
fn last_name(source: &Path) -> Result<Vec<u8>, String> {
    let name = source.file_name().map(|name| name.as_bytes().to_vec());
    name.ok_or_else(|| {
        format!(
            "{} has no name of its own; copy it alone, to a DST without / at its end",
            shown(source)
        )
    })
}

/// What is in a folder, in the order of the names.
fn names_in(folder: &Path) -> Result<Vec<(Vec<u8>, PathBuf)>, String> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        let named =
            entries.map(|entry| entry.map(|entry| (entry.file_name().into_vec(), entry.path())));
        named.collect::<io::Result<Vec<_>>>()
    });
    let mut entries = entries.map_err(|error| cannot_read(folder, &error))?;
    entries.sort_unstable();
    Ok(entries)
}

fn whole(size: u64) -> Vec<Extent> {
    (size > 0).then_some(Extent { offset: 0, len: size }).into_iter().collect()
}

/// The parts of a file that hold data, between its holes.
fn extents(path: &Path, size: u64) -> Result<Vec<Extent>, String> {
    let file = File::open(path).map_err(|error| cannot_read(path, &error))?;
    let mut found: Vec<Extent> = Vec::new();
    let mut at = 0;
    while at < size {
        let offset = match rustix::fs::seek(&file, SeekFrom::Data(at)) {
            Ok(offset) => offset.min(size),
            // Nothing but a hole comes after.
            Err(Errno::NXIO) => break,
            // The file system cannot tell.
            Err(_) => return Ok(whole(size)),
        };
        let end = rustix::fs::seek(&file, SeekFrom::Hole(offset)).map_or(size, |end| end.min(size));
        if end <= offset {
            break;
        }
        match found.last_mut() {
            Some(last) if offset - (last.offset + last.len) < MIN_HOLE => {
                last.len = end - last.offset
            }
            _ => found.push(Extent { offset, len: end - offset }),
        }
        at = end;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::scratch::Scratch;
    use std::ffi::OsStr;
    use std::os::unix::fs::{FileExt, symlink};
    use std::os::unix::net::UnixListener;

    fn find(sources: &[PathBuf], into_folder: bool) -> Result<Found, String> {
        Wanted { sources, into_folder, recursive: true, finds_holes: true }.find()
    }

    #[test]
    fn a_folder_is_found_with_all_that_is_in_it() {
        let scratch = Scratch::new("scan");
        let folder = scratch.path("f");
        fs::create_dir_all(folder.join("b/c")).unwrap();
        fs::write(folder.join("b/file"), "1234").unwrap();
        fs::write(folder.join(OsStr::from_bytes(b"\xff")), "").unwrap();
        symlink("/etc/passwd", folder.join("link")).unwrap();
        fs::set_permissions(folder.join("b/file"), fs::Permissions::from_mode(0o4751)).unwrap();
        for (into_folder, root) in [(false, ""), (true, "f")] {
            let found = find(std::slice::from_ref(&folder), into_folder).unwrap();
            let manifest = &found.manifest;
            let mut paths: Vec<_> =
                (0..manifest.entries.len()).map(|at| manifest.path(at)).collect();
            paths.sort();
            let names = [&b""[..], b"b", b"b/c", b"b/file", b"link", b"\xff"];
            let mut expected: Vec<PathBuf> =
                names.iter().map(|name| Path::new(root).join(OsStr::from_bytes(name))).collect();
            if into_folder {
                expected.insert(0, PathBuf::new());
            }
            assert_eq!(paths.len(), expected.len());
            assert!(
                paths.iter().zip(&expected).all(|(path, expected)| path == expected),
                "{paths:?}"
            );
            let file = manifest.entries.iter().find(|entry| entry.name == b"file").unwrap();
            assert_eq!(
                (file.mode, &file.kind),
                (0o751, &Kind::File { size: 4, extents: whole(4) })
            );
            let link = manifest.entries.iter().find(|entry| entry.name == b"link").unwrap();
            assert_eq!(link.kind, Kind::Link(b"/etc/passwd".to_vec()));
        }
    }

    #[test]
    fn what_is_no_file_is_refused_by_its_name() {
        let scratch = Scratch::new("kinds");
        let _socket = UnixListener::bind(scratch.path("socket")).unwrap();
        let whole = find(&[scratch.path("")], false).unwrap_err();
        assert!(whole.contains("socket: it is not a regular file but a socket"), "{whole}");
        let device = find(&["/dev/null".into()], false).unwrap_err();
        assert_eq!(device, "cannot copy /dev/null: it is not a regular file but a device");
        let nothing = find(&[scratch.path("nothing")], false).unwrap_err();
        assert!(nothing.contains("nothing: No such file"), "{nothing}");
        let unnamed = find(&["/".into()], true).unwrap_err();
        assert!(unnamed.starts_with("/ has no name of its own"), "{unnamed}");
        fs::write(scratch.path("x"), "").unwrap();
        let twice = find(&[scratch.path("x"), scratch.path("x")], true).unwrap_err();
        assert!(twice.ends_with("x is there twice"), "{twice}");
    }

    #[test]
    fn holes_are_found() {
        let scratch = Scratch::new("holes");
        let file = File::create(scratch.path("sparse")).unwrap();
        file.write_all_at(&[1; 4096], 5 << 30).unwrap();
        file.set_len(6 << 30).unwrap();
        let found = find(&[scratch.path("sparse")], false).unwrap();
        let Kind::File { size, extents } = &found.manifest.entries[0].kind else { panic!() };
        assert_eq!(*size, 6 << 30);
        // A file system without holes has the whole file as data.
        let data: u64 = extents.iter().map(|extent| extent.len).sum();
        assert!(data == *size || (extents.len() == 1 && data < 1 << 20), "{extents:?}");
        let wanted = Wanted {
            sources: &[scratch.path("sparse")],
            into_folder: false,
            recursive: false,
            finds_holes: false,
        };
        assert_eq!(wanted.find().unwrap().manifest.data(), Some(6 << 30));
    }
}
