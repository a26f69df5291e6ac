//! Puts what is whole into a folder that exists. What is there and has other names stays.
//!
//! All goes by open folders and never by a link, so that nothing lands outside.

use super::super::destination::shown;
use super::super::manifest::{Entry, Kind, Manifest};
use super::Unpublished;
use super::restrict::Restriction;
use super::tree::Tree;
use rustix::fs::{Access, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Checks that nothing is in the way, and that everything can be moved where it belongs; or says what is wrong.
pub fn check(manifest: &Manifest, target: &Path) -> Result<(), String> {
    let root = open_root(target)?;
    Merge::new(manifest, target, &root)?.descend(None, &root, 0)
}

/// Moves everything from the open folder `from`. A folder that exists keeps its permissions.
pub fn merge(tree: &Tree, from: &File, target: &Path) -> Result<(), Unpublished> {
    let root = open_root(target)?;
    let merge = Merge::new(tree.manifest(), target, &root)?;
    let restriction = Restriction::new(tree);
    merge
        .descend(Some(&Origin { folder: from, restriction: &restriction }), &root, 0)
        .map_err(|what| Unpublished { what, is_partial: merge.has_moved.get() })
}

/// DST itself may be a link to a folder.
fn open_root(target: &Path) -> Result<File, String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let root = rustix::fs::open(target, flags, Mode::empty());
    root.map(File::from).map_err(|error| format!("cannot write {}: {error}", shown(target)))
}

struct Merge<'a> {
    manifest: &'a Manifest,
    children: Vec<Vec<usize>>,
    target: &'a Path,
    /// The file system of the target, and of what is moved.
    device: u64,
    has_moved: Cell<bool>,
}

/// What is moved.
struct Origin<'a> {
    folder: &'a File,
    restriction: &'a Restriction<'a>,
}

/// What is in the way of an entry.
enum Obstacle {
    None,
    Folder,
    Replaceable,
    Other,
}

impl Merge<'_> {
    fn new<'a>(manifest: &'a Manifest, target: &'a Path, root: &File) -> Result<Merge<'a>, String> {
        let (children, has_moved) = (manifest.children(), Cell::new(false));
        let merge = Merge { manifest, children, target, device: 0, has_moved };
        let device = root.metadata().map_err(|error| merge.cannot(0, &error))?.dev();
        Ok(Merge { device, ..merge })
    }

    /// Moves what is in a folder from `from`, or only looks whether that can be done.
    fn descend(&self, from: Option<&Origin<'_>>, to: &File, folder: usize) -> Result<(), String> {
        let mut is_checked = false;
        for &entry in &self.children[folder] {
            let name = &self.manifest.entries[entry].name[..];
            let is_folder = self.manifest.entries[entry].kind == Kind::Folder;
            match (obstacle(to, name).map_err(|error| self.cannot(entry, &error))?, is_folder) {
                (Obstacle::Folder, true) => {
                    let inner = open_in(to, name).map_err(|error| self.cannot(entry, &error))?;
                    match from {
                        None => self.descend(None, &inner, entry)?,
                        Some(from) => {
                            let folder = open_in(from.folder, name);
                            let folder = &folder.map_err(|error| self.cannot(entry, &error))?;
                            self.descend(Some(&Origin { folder, ..*from }), &inner, entry)?;
                        }
                    }
                }
                (Obstacle::None, _) | (Obstacle::Replaceable, false) => {
                    match from {
                        Some(from) => self.move_one(from, to, entry)?,
                        None if is_checked => {}
                        None => self.check_folder(to, folder)?,
                    }
                    is_checked = true;
                }
                (Obstacle::Folder, false) => return Err(self.in_the_way(entry, "a folder")),
                (Obstacle::Replaceable, true) => {
                    return Err(self.in_the_way(entry, "a link or a file, where a folder is to be"));
                }
                (Obstacle::Other, _) => {
                    return Err(self.in_the_way(entry, "a device, a pipe or a socket"));
                }
            }
        }
        Ok(())
    }

    /// Checks that things can be moved into a folder.
    fn check_folder(&self, open: &File, folder: usize) -> Result<(), String> {
        let metadata = open.metadata().map_err(|error| self.cannot(folder, &error))?;
        if metadata.dev() != self.device {
            let (path, target) = (self.path(folder), shown(self.target));
            let path = shown(&path);
            return Err(format!(
                "cannot write into {path}: it is on another file system than {target}"
            ));
        }
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(open, ".", access, AtFlags::EACCESS)
            .map_err(|error| self.cannot(folder, &error.into()))
    }

    /// Moves something to where nothing is in its way.
    fn move_one(&self, from: &Origin<'_>, to: &File, entry: usize) -> Result<(), String> {
        let Entry { name, kind, .. } = &self.manifest.entries[entry];
        // Where it is put, somebody else may put another one into its place.
        let folder = (*kind == Kind::Folder).then(|| open_in(from.folder, name)).transpose();
        let folder = folder.map_err(|error| self.cannot(entry, &error))?;
        rustix::fs::renameat(from.folder, &name[..], to, &name[..])
            .map_err(|error| self.cannot(entry, &error.into()))?;
        self.has_moved.set(true);
        folder.map_or(Ok(()), |folder| from.restriction.apply(&folder, entry))
    }

    fn path(&self, entry: usize) -> PathBuf {
        self.manifest.path_in(self.target, entry)
    }

    fn cannot(&self, entry: usize, error: &io::Error) -> String {
        format!("cannot write {}: {error}", shown(&self.path(entry)))
    }

    fn in_the_way(&self, entry: usize, what: &str) -> String {
        format!("{} is {what}, and is not replaced", shown(&self.path(entry)))
    }
}

fn obstacle(folder: &File, name: &[u8]) -> io::Result<Obstacle> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(Obstacle::None),
        Err(error) => Err(error.into()),
        Ok(stat) => Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Obstacle::Folder,
            FileType::RegularFile | FileType::Symlink => Obstacle::Replaceable,
            _ => Obstacle::Other,
        }),
    }
}

pub(super) fn open_in(folder: &File, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?.into())
}
