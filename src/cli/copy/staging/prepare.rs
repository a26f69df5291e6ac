//! Makes what needs no data, and fits what an earlier copy has left to what is copied now.

use super::super::manifest::{Extent, Kind, Manifest};
use super::tree::{Tree, open_folder};
use super::{PRIVATE, PRIVATE_FILE};
use crate::launch::cleanup;
use rustix::fs::{FallocateFlags, Mode};
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

impl Tree {
    /// Makes folders, links and files without data. `is_resumed`: an earlier copy has left something.
    pub fn prepare(&self, is_resumed: bool) -> Result<(), String> {
        let children = if is_resumed { self.manifest().children() } else { Vec::new() };
        for entry in 0..self.manifest().entries.len() {
            let wanted = children.get(entry).map_or(&[][..], |children| children);
            self.prepare_one(entry, is_resumed)
                .map_err(|error| self.cannot("write", entry, error))?;
            if is_resumed && self.entry(entry).kind == Kind::Folder {
                prune(self.manifest(), wanted, &self.place(entry))
                    .map_err(|error| self.cannot("write", entry, error))?;
            }
        }
        Ok(())
    }

    fn prepare_one(&self, entry: usize, is_resumed: bool) -> io::Result<()> {
        let place = self.place(entry);
        match &self.entry(entry).kind {
            Kind::Folder if entry == 0 => Ok(()),
            Kind::Folder => {
                if is_resumed && !fs::symlink_metadata(&place).is_ok_and(|there| there.is_dir()) {
                    cleanup::remove(&place);
                }
                match DirBuilder::new().mode(PRIVATE).create(&place) {
                    Err(error) if is_resumed && error.kind() == io::ErrorKind::AlreadyExists => {
                        let folder = open_folder(&place)?;
                        Ok(rustix::fs::fchmod(&folder, Mode::from_raw_mode(PRIVATE))?)
                    }
                    made => made,
                }
            }
            Kind::Link(target) => {
                if is_resumed {
                    cleanup::remove(&place);
                }
                symlink(std::ffi::OsStr::from_bytes(target), &place)?;
                self.set_time_of_link(entry)
            }
            Kind::File { size, extents } => {
                if is_resumed && entry != 0 {
                    free(&place)?;
                }
                if extents.is_empty() || is_resumed {
                    let file = self.open(entry).map_err(io::Error::other)?;
                    clear_holes(&file, *size, extents)?;
                    if extents.is_empty() {
                        return self.finish(entry, &file).map_err(io::Error::other);
                    }
                }
                Ok(())
            }
            Kind::Stream => self
                .open(0)
                .and_then(|file| file.set_len(0).map_err(|error| self.cannot("write", 0, error)))
                .map_err(io::Error::other),
        }
    }
}

/// Makes room for a file where an earlier copy has left something else, or one that cannot be written.
fn free(place: &Path) -> io::Result<()> {
    match fs::symlink_metadata(place) {
        Ok(there) if there.is_file() && there.nlink() == 1 => {
            fs::set_permissions(place, Permissions::from_mode(PRIVATE_FILE))
        }
        Ok(_) => {
            cleanup::remove(place);
            Ok(())
        }
        Err(_) => Ok(()),
    }
}

/// Makes sure that an earlier copy has left nothing where there are holes now, nor behind the end.
fn clear_holes(file: &File, size: u64, extents: &[Extent]) -> io::Result<()> {
    let len = file.metadata()?.len();
    if len > size {
        file.set_len(size)?;
    }
    let len = len.min(size);
    let ends = extents.iter().map(|extent| extent.offset + extent.len);
    let begins = extents.iter().map(|extent| extent.offset).chain([size]);
    for (begin, end) in [0].into_iter().chain(ends).zip(begins) {
        let end = end.min(len);
        if begin < end {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            if rustix::fs::fallocate(file, flags, begin, end - begin).is_err() {
                // Where holes cannot be made, it begins anew.
                return file.set_len(0);
            }
        }
    }
    Ok(())
}

/// Removes what is in a folder that an earlier copy has left, and is not to be there.
fn prune(manifest: &Manifest, children: &[usize], folder: &Path) -> io::Result<()> {
    let wanted: HashSet<&[u8]> =
        children.iter().map(|&child| &manifest.entries[child].name[..]).collect();
    for found in fs::read_dir(folder)? {
        let found = found?;
        if !wanted.contains(found.file_name().as_bytes()) {
            cleanup::remove(&found.path());
        }
    }
    Ok(())
}
