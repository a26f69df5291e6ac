//! Files, folders and links as they are made, in the temporary place.

use super::super::destination::shown;
use super::super::digest::{Hasher, LEN};
use super::super::manifest::{Entry, Kind, Layout, Manifest};
use super::restrict::Restriction;
use super::{PRIVATE, PRIVATE_FILE};
use rustix::fs::{Advice, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Of a folder: new things in it get its group.
const SET_GROUP: u32 = 0o2000;

pub struct Tree {
    manifest: Arc<Manifest>,
    /// The file or the folder itself.
    root: File,
    path: PathBuf,
    /// What it becomes, for messages.
    target: PathBuf,
    /// Permissions that this process withholds from what it makes.
    umask: u32,
    keeps_times: bool,
}

impl Tree {
    pub fn new(
        manifest: &Arc<Manifest>,
        root: File,
        (path, target): (&Path, &Path),
        keeps_times: bool,
    ) -> Tree {
        let (manifest, umask) = (Arc::clone(manifest), umask());
        Tree { manifest, root, path: path.into(), target: target.into(), umask, keeps_times }
    }

    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    pub(super) fn entry(&self, entry: usize) -> &Entry {
        &self.manifest.entries[entry]
    }

    /// Where an entry is until all is whole.
    pub(super) fn place(&self, entry: usize) -> PathBuf {
        self.manifest.path_in(&self.path, entry)
    }

    pub(super) fn cannot(&self, what: &str, entry: usize, error: impl Into<io::Error>) -> String {
        let path = self.manifest.path_in(&self.target, entry);
        format!("cannot {what} {}: {}", shown(&path), error.into())
    }

    /// Opens a file to write it, new or as it was left.
    pub(super) fn open(&self, entry: usize) -> Result<File, String> {
        if entry == 0 {
            return self.root.try_clone().map_err(|error| self.cannot("write", 0, error));
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::open(self.place(entry), flags, Mode::from_raw_mode(PRIVATE_FILE))
            .map(File::from)
            .map_err(|error| self.cannot("write", entry, error))
    }

    /// Gives a file that has all its data its length, time and permissions. The root stays private.
    pub(super) fn finish(&self, entry: usize, file: &File) -> Result<(), String> {
        let finished = || {
            if let Kind::File { size, .. } = self.entry(entry).kind
                && file.metadata()?.len() != size
            {
                file.set_len(size)?;
            }
            let mode = self.mode(entry);
            if entry != 0 && mode != PRIVATE_FILE {
                rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
            }
            self.set_time(entry, file)
        };
        finished().map_err(|error| self.cannot("write", entry, error))
    }

    fn set_time(&self, entry: usize, file: &File) -> io::Result<()> {
        match self.times(entry) {
            Some(times) => Ok(rustix::fs::futimens(file, &times)?),
            None => Ok(()),
        }
    }

    /// Gives a link its time.
    pub(super) fn set_time_of_link(&self, entry: usize) -> io::Result<()> {
        if let Some(times) = self.times(entry) {
            let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::utimensat(rustix::fs::CWD, self.place(entry), &times, flags)?;
        }
        Ok(())
    }

    /// The time that an entry gets, if it gets one.
    fn times(&self, entry: usize) -> Option<Timestamps> {
        let (tv_sec, nanos) = self.entry(entry).modified.filter(|_| self.keeps_times)?;
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        let last_modification = Timespec { tv_sec, tv_nsec: nanos.into() };
        Some(Timestamps { last_access, last_modification })
    }

    /// The permissions of an entry that this process's umask allows, as of any file that it makes.
    pub(super) fn mode(&self, entry: usize) -> u32 {
        self.entry(entry).mode & 0o777 & !self.umask
    }

    /// Gives folders their times and permissions, as far as they can be moved with them, and makes everything durable.
    pub fn complete(&self) -> Result<(), String> {
        // What is in a folder changes its time, so the inner ones come first.
        for (entry, _) in self.folders().rev() {
            let complete = || {
                let folder = open_folder(&self.place(entry))?;
                self.set_time(entry, &folder)?;
                // One that its owner may not write to cannot be moved into another folder. The root is private.
                let mode = if entry == 0 { 0 } else { self.mode(entry) };
                set_mode(&folder, mode | PRIVATE)
            };
            complete().map_err(|error| self.cannot("write", entry, error))?;
        }
        let durable = match self.entry(0).kind {
            Kind::Folder => rustix::fs::syncfs(&self.root).map_err(io::Error::from),
            _ => rustix::fs::fchmod(&self.root, Mode::from_raw_mode(self.mode(0)))
                .map_err(io::Error::from)
                .and_then(|()| self.root.sync_all()),
        };
        durable.map_err(|error| self.cannot("write", 0, error))
    }

    pub(super) fn folders(&self) -> impl DoubleEndedIterator<Item = (usize, &Entry)> {
        self.manifest.entries.iter().enumerate().filter(|(_, entry)| entry.kind == Kind::Folder)
    }

    /// Gives the root and all folders in it the permissions that [`complete`](Self::complete) had to change.
    pub(super) fn restrict(&self) -> Result<(), String> {
        Restriction::new(self).apply(&self.root, 0)
    }

    /// Reads back everything that was written, from the disk where that can be asked for.
    pub fn hash(&self, mut hasher: Hasher, chunk: usize) -> Result<[u8; LEN], String> {
        let mut buffer = vec![0; chunk.min(1 << 20)];
        let mut hash_run = |entry, file: &File, mut offset: u64, mut len: u64| {
            while len > 0 {
                let part = buffer.len().min(usize::try_from(len).unwrap_or(usize::MAX));
                file.read_exact_at(&mut buffer[..part], offset)
                    .map_err(|error| self.cannot("read back", entry, error))?;
                hasher.update(&buffer[..part]);
                offset += part as u64;
                len -= part as u64;
            }
            Ok::<(), String>(())
        };
        if self.manifest.data().is_none() {
            let metadata =
                self.root.metadata().map_err(|error| self.cannot("read back", 0, error))?;
            forget_pages(&self.root);
            hash_run(0, &self.root, 0, metadata.len())?;
            return Ok(hasher.finish());
        }
        let mut layout = Layout::new(&self.manifest);
        let mut open: Option<(usize, File)> = None;
        while let Some(piece) = layout.next(chunk) {
            let file = match open.take() {
                Some((entry, file)) if entry == piece.entry => file,
                _ => self.open_again(piece.entry)?,
            };
            hash_run(piece.entry, &file, piece.offset, piece.len as u64)?;
            open = Some((piece.entry, file));
        }
        Ok(hasher.finish())
    }

    pub fn open_again(&self, entry: usize) -> Result<File, String> {
        let file = match entry {
            0 => self.root.try_clone(),
            _ => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                let file = rustix::fs::open(self.place(entry), flags, Mode::empty());
                file.map(File::from).map_err(io::Error::from)
            }
        };
        let file = file.map_err(|error| self.cannot("read back", entry, error))?;
        forget_pages(&file);
        Ok(file)
    }
}

/// So that what is read comes from the disk. Where that is not possible it comes from memory.
fn forget_pages(file: &File) {
    let _ = file.sync_data();
    let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
}

/// Opens a folder, and no link to one.
pub(super) fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Sets a folder's permissions, and leaves it the group of new things that it has from the folder it is in.
pub(super) fn set_mode(folder: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let kept = folder.metadata()?.permissions().mode() & SET_GROUP;
    Ok(rustix::fs::fchmod(folder, Mode::from_raw_mode(mode | kept))?)
}

/// This process's umask; if the system does not tell, all but the owner's permissions.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o077)
}
