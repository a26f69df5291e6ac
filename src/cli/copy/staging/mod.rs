//! What a rank writes, under a temporary name until all ranks have everything.

mod merge;
mod prepare;
mod restrict;
mod tree;
mod writer;

pub use tree::Tree;
pub use writer::{Output, Pipe, Writer};

use super::destination::{Template, shown, tag};
use super::manifest::{Kind, Manifest};
use super::plan::Plan;
use crate::launch::cleanup::{self, Cleanup};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use verbcast_core::rank::Rank;

/// In the making, nobody else may look at it.
const PRIVATE: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// A file or folder in the making. Dropping it removes it, unless it is to be resumed.
pub struct Staging {
    /// The file, or the folder.
    root: File,
    path: PathBuf,
    /// What it becomes.
    target: PathBuf,
    /// Whether it is a folder whose contents go into one that exists.
    is_inside: bool,
    /// Whether it was there before.
    pub is_resumed: bool,
    /// Whether it stays if the copy fails.
    stays: bool,
    cleanup: Cleanup,
}

/// Why not everything has its place.
#[derive(Debug)]
pub struct Unpublished {
    pub what: String,
    /// Whether something has.
    pub is_partial: bool,
}

impl From<String> for Unpublished {
    /// Nothing has.
    fn from(what: String) -> Self {
        Unpublished { what, is_partial: false }
    }
}

impl Staging {
    pub fn create(
        template: &Template,
        rank: Rank,
        plan: &Plan,
        cleanup: &Cleanup,
    ) -> Result<Staging, String> {
        let target = template.path(rank);
        let tag = tag(&plan.job, rank, plan.resume);
        let is_inside = plan.is_folder && target.is_dir();
        check_target(&target, plan.is_folder)?;
        let path = match is_inside {
            true => Template::inside(&target, &tag),
            false => Template::beside(&target, &tag),
        };
        let open = if plan.is_folder { open_folder } else { open_file };
        let opened = cleanup.update(|kept| {
            let opened = open(&path, plan.resume);
            if opened.is_ok() && !plan.resume {
                *kept = Some(path.clone());
            }
            opened
        });
        let (root, is_resumed) = opened.map_err(|error| cannot_create(&target, &path, &error))?;
        let staging = Staging {
            root,
            path,
            target,
            is_inside,
            is_resumed,
            stays: plan.resume,
            cleanup: cleanup.clone(),
        };
        if plan.resume {
            staging.lock()?;
        }
        // Who has not locked it changes nothing of it: it may be another copy's, which is about to give it its name.
        let private = if plan.is_folder { PRIVATE } else { PRIVATE_FILE };
        rustix::fs::fchmod(&staging.root, Mode::from_raw_mode(private))
            .map_err(|error| staging.cannot("write", &error.into()))?;
        Ok(staging)
    }

    /// Keeps other copies away that would resume the same.
    fn lock(&self) -> Result<(), String> {
        rustix::fs::flock(&self.root, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| cannot_lock(&self.path, error))
    }

    /// What is written there.
    pub fn tree(&self, manifest: &Arc<Manifest>, keeps_times: bool) -> Result<Tree, String> {
        let root = self.root.try_clone().map_err(|error| self.cannot("write", &error))?;
        Ok(Tree::new(manifest, root, (&self.path, &self.target), keeps_times))
    }

    /// Where it is kept if the copy fails.
    pub fn kept(&self) -> Option<&Path> {
        self.stays.then_some(&*self.path)
    }

    /// Checks that everything in the way of `manifest` may be replaced; or says what may not.
    pub fn check(&self, manifest: &Manifest) -> Result<(), String> {
        match self.is_inside {
            true => merge::check(manifest, &self.target),
            false => check_target(&self.target, manifest.entries[0].kind == Kind::Folder),
        }
    }

    /// Puts everything in its place.
    pub fn publish(self, tree: &Tree) -> Result<(), Unpublished> {
        let moved = self.cleanup.update(|kept| {
            self.put(tree)?;
            *kept = None;
            Ok(())
        });
        moved.inspect(|()| {
            let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
            // Everything is there; not every file system keeps folders' entries over a power failure.
            let folder = File::open(folder.unwrap_or(Path::new(".")));
            let _ = folder.and_then(|folder| folder.sync_all());
        })
    }

    fn put(&self, tree: &Tree) -> Result<(), Unpublished> {
        self.check(tree.manifest())?;
        if self.is_inside {
            merge::merge(tree, &self.root, &self.target)?;
            // What is empty by now.
            let _ = fs::remove_dir_all(&self.path);
            Ok(())
        } else {
            let is_folder = tree.manifest().entries[0].kind == Kind::Folder;
            if is_folder && fs::symlink_metadata(&self.target).is_ok() {
                return Err(format!("{} was made while it was copied", shown(&self.target)).into());
            }
            fs::rename(&self.path, &self.target).map_err(|error| {
                let (from, to) = (shown(&self.path), shown(&self.target));
                format!("cannot rename {from} to {to}: {error}")
            })?;
            let restricted = if is_folder { tree.restrict() } else { Ok(()) };
            restricted.map_err(|what| Unpublished { what, is_partial: true })
        }
    }

    fn cannot(&self, what: &str, error: &io::Error) -> String {
        format!("cannot {what} {}: {error}", shown(&self.target))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.cleanup.update(|kept| {
            if let Some(path) = kept.take() {
                cleanup::remove(&path);
            }
        });
    }
}

/// A file may replace a file or a link, and nothing else.
fn check_target(target: &Path, is_folder: bool) -> Result<(), String> {
    let shown = shown(target);
    if is_folder {
        return match fs::symlink_metadata(target) {
            Ok(_) if !target.is_dir() => Err(format!("{shown} is not a folder")),
            _ => Ok(()),
        };
    }
    if target.is_dir() {
        return Err(format!(
            "{shown} is a folder; DST must name a file, or end in / to have it put into the folder"
        ));
    }
    match fs::symlink_metadata(target) {
        Ok(metadata) if !metadata.is_file() && !metadata.is_symlink() => {
            Err(format!("{shown} is a device, a pipe or a socket, and is not replaced"))
        }
        _ => Ok(()),
    }
}

fn cannot_lock(path: &Path, error: Errno) -> String {
    let path = shown(path);
    match error {
        Errno::WOULDBLOCK => format!("{path} is used by another copy"),
        _ => format!("cannot lock {path}, which --resume needs: {error}"),
    }
}

fn cannot_create(target: &Path, path: &Path, error: &io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (folder, error.kind()) {
        (Some(folder), io::ErrorKind::NotFound) if !folder.exists() => {
            format!("cannot write {}: the folder {} does not exist", shown(target), shown(folder))
        }
        _ => format!("cannot create {} beside its destination: {error}", shown(path)),
    }
}

/// Returns whether it was there before, which is an error unless `resumes`.
fn open_file(path: &Path, resumes: bool) -> io::Result<(File, bool)> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let private = Mode::from_raw_mode(PRIVATE_FILE);
    if resumes {
        match rustix::fs::open(path, flags, private) {
            Ok(file) => {
                let file = File::from(file);
                let metadata = file.metadata()?;
                check_own(&metadata, metadata.is_file() && metadata.nlink() == 1)?;
                return Ok((file, true));
            }
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let file = rustix::fs::open(path, flags | OFlags::CREATE | OFlags::EXCL, private)?;
    Ok((file.into(), false))
}

fn open_folder(path: &Path, resumes: bool) -> io::Result<(File, bool)> {
    let was_there = match DirBuilder::new().mode(PRIVATE).create(path) {
        Err(error) if resumes && error.kind() == io::ErrorKind::AlreadyExists => true,
        made => made.map(|()| false)?,
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = folder.metadata()?;
    check_own(&metadata, metadata.mode() & 0o022 == 0)?;
    Ok((folder, was_there))
}

/// Refuses what somebody else has put there.
fn check_own(metadata: &Metadata, is_as_left: bool) -> io::Result<()> {
    match is_as_left && metadata.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => {
            Err(io::Error::other("something else has that name, which was not left by a copy"))
        }
    }
}

#[cfg(test)]
mod tests;
