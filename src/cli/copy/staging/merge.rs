//! Puts what is whole into a folder that exists. What is there and has other names stays.
//!
//! All goes by open folders and never by a link, so that nothing lands outside.

use super::super::destination::shown;
use super::super::manifest::{Entry, Kind, Manifest};
use super::restrict::Restriction;
use super::tree::Tree;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Checks that nothing is in the way; or says what is.
pub fn check(manifest: &Manifest, target: &Path) -> Result<(), String> {
    Merge::new(manifest, target).descend(None, &open_root(target)?, 0)
}

/// Moves everything from the open folder `from`. A folder that exists keeps its permissions.
pub fn merge(tree: &Tree, from: &File, target: &Path) -> Result<(), String> {
    let restriction = Restriction::new(tree);
    let merge = Merge::new(tree.manifest(), target);
    merge.descend(Some(&Origin { folder: from, restriction: &restriction }), &open_root(target)?, 0)
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
    fn new<'a>(manifest: &'a Manifest, target: &'a Path) -> Merge<'a> {
        Merge { manifest, children: manifest.children(), target }
    }

    /// Moves what is in a folder from `from`, or only looks whether that can be done.
    fn descend(&self, from: Option<&Origin<'_>>, to: &File, folder: usize) -> Result<(), String> {
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
                    if let Some(from) = from {
                        self.move_one(from, to, entry)?;
                    }
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

    /// Moves something to where nothing is in its way.
    fn move_one(&self, from: &Origin<'_>, to: &File, entry: usize) -> Result<(), String> {
        let Entry { name, kind, .. } = &self.manifest.entries[entry];
        // Where it is put, somebody else may put another one into its place.
        let folder = (*kind == Kind::Folder).then(|| open_in(from.folder, name)).transpose();
        let folder = folder.map_err(|error| self.cannot(entry, &error))?;
        rustix::fs::renameat(from.folder, &name[..], to, &name[..])
            .map_err(|error| self.cannot(entry, &error.into()))?;
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
