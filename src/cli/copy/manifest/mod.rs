//! What is copied: files, folders and links, each in a folder that stands before it.
//!
//! The bytes of all files one after the other, without their holes, are the data of a copy. Chunks are cut from that, so
//! that many small files share one.

mod codec;
mod layout;

pub use codec::{decode, encode};
pub use layout::{Layout, Piece};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most bytes of a manifest, which every rank keeps in memory: about two million files.
pub const MAX_BYTES: u64 = 256 << 20;
/// The longest name that file systems allow, in bytes.
const MAX_NAME: usize = 255;
/// The most nanoseconds beside whole seconds.
const MAX_NANOS: u32 = 999_999_999;
/// The most bytes in what a link leads to.
const MAX_TARGET: usize = 4095;

/// Bytes of a file that are not in a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub offset: u64,
    pub len: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File {
        size: u64,
        /// In order, none empty.
        extents: Vec<Extent>,
    },
    /// What it leads to.
    Link(Vec<u8>),
    /// A file whose length is not known.
    Stream,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The folder that it is in: an earlier entry. Of the first entry, 0.
    pub parent: u32,
    /// Empty for the first entry, which is DST.
    pub name: Vec<u8>,
    /// Permissions, without those to run as another user.
    pub mode: u32,
    /// When it was modified, in seconds and nanoseconds since 1970; none: a folder that rank 0 does not have.
    pub modified: Option<(i64, u32)>,
    pub kind: Kind,
}

/// The first entry is the root, DST itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub entries: Vec<Entry>,
}

impl Manifest {
    /// Where an entry is below the root.
    pub fn path(&self, mut index: usize) -> PathBuf {
        let mut names = Vec::new();
        while index != 0 {
            names.push(&self.entries[index].name[..]);
            index = self.entries[index].parent as usize;
        }
        names.iter().rev().map(|name| OsStr::from_bytes(name)).collect()
    }

    /// Where an entry is if the root is `root`.
    pub fn path_in(&self, root: &Path, index: usize) -> PathBuf {
        // `join` of an empty path adds a slash.
        if index == 0 { root.to_owned() } else { root.join(self.path(index)) }
    }

    /// What is in each folder, by the folder's index.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.entries.len()];
        for (index, entry) in self.entries.iter().enumerate().skip(1) {
            children[entry.parent as usize].push(index);
        }
        children
    }

    /// Bytes of data; none: they come as a stream.
    pub fn data(&self) -> Option<u64> {
        let len = |entry: &Entry| match &entry.kind {
            Kind::File { extents, .. } => Some(extents.iter().map(|extent| extent.len).sum()),
            Kind::Stream => None,
            Kind::Folder | Kind::Link(_) => Some(0),
        };
        self.entries.iter().map(len).sum()
    }

    /// Bytes of all files, with their holes.
    pub fn size(&self) -> u64 {
        let size = |entry: &Entry| match entry.kind {
            Kind::File { size, .. } => size,
            _ => 0,
        };
        self.entries.iter().map(size).sum()
    }

    pub fn files(&self) -> u64 {
        let is_file = |entry: &&Entry| matches!(entry.kind, Kind::File { .. } | Kind::Stream);
        self.entries.iter().filter(is_file).count() as u64
    }

    /// Checks that everything is inside of the root, and each thing in a place of its own; or says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let root = self.entries.first().ok_or("it is empty")?;
        if !root.name.is_empty() || root.parent != 0 || matches!(root.kind, Kind::Link(_)) {
            return Err("its first entry is not a root".to_owned());
        }
        let mut seen = std::collections::HashSet::new();
        let mut total = 0_u64;
        for (index, entry) in self.entries.iter().enumerate() {
            if index > 0 {
                let parent = self.entries[..index].get(entry.parent as usize);
                if !parent.is_some_and(|parent| parent.kind == Kind::Folder) {
                    return Err(format!("entry {index} is in no folder before it"));
                }
                check_name(&entry.name).map_err(|what| format!("entry {index} has {what}"))?;
                if entry.kind == Kind::Stream {
                    return Err(format!("entry {index} is a stream beside others"));
                }
                if !seen.insert((entry.parent, &entry.name[..])) {
                    return Err(format!("{} is there twice", self.path(index).display()));
                }
            }
            let data = entry.check().map_err(|what| format!("entry {index} has {what}"))?;
            total = total.checked_add(data).ok_or("it has too many bytes")?;
        }
        Ok(())
    }
}

impl Entry {
    /// Returns the bytes of data.
    fn check(&self) -> Result<u64, &'static str> {
        if self.modified.is_some_and(|(_, nanos)| nanos > MAX_NANOS) {
            return Err("an impossible time");
        }
        match &self.kind {
            Kind::File { size, extents } => {
                let (mut end, mut data) = (0, 0);
                for &Extent { offset, len } in extents {
                    let after = offset.checked_add(len).filter(|after| after <= size);
                    if len == 0 || offset < end || after.is_none() {
                        return Err("bytes out of order");
                    }
                    end = offset + len;
                    data += len;
                }
                // What file systems count with.
                if *size > i64::MAX as u64 { Err("too many bytes") } else { Ok(data) }
            }
            Kind::Link(target)
                if target.is_empty() || target.len() > MAX_TARGET || target.contains(&0) =>
            {
                Err("an impossible link")
            }
            _ => Ok(0),
        }
    }
}

/// Checks that a name is one that something in a folder can have.
pub fn check_name(name: &[u8]) -> Result<(), &'static str> {
    let is_elsewhere = name == b"." || name == b".." || name.contains(&b'/');
    match name.is_empty() || name.len() > MAX_NAME || name.contains(&0) || is_elsewhere {
        true => Err("an impossible name"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn entry(parent: u32, name: &str, kind: Kind) -> Entry {
        Entry { parent, name: name.into(), mode: 0o644, modified: None, kind }
    }

    fn file(size: u64, extents: &[(u64, u64)]) -> Kind {
        let extents = extents.iter().map(|&(offset, len)| Extent { offset, len }).collect();
        Kind::File { size, extents }
    }

    fn manifest(entries: &[Entry]) -> Manifest {
        Manifest { entries: entries.to_vec() }
    }

    #[test]
    fn paths_go_from_the_root() {
        let manifest = manifest(&[
            entry(0, "", Kind::Folder),
            entry(0, "a", Kind::Folder),
            entry(1, "b", file(3, &[(0, 3)])),
            entry(0, "l", Kind::Link(b"/etc".to_vec())),
        ]);
        assert_eq!(manifest.check(), Ok(()));
        assert_eq!(manifest.path_in(Path::new("d"), 2), Path::new("d/a/b"));
        assert_eq!(manifest.path_in(Path::new("d"), 0).as_os_str(), "d");
        assert_eq!(manifest.children(), [vec![1, 3], vec![2], vec![], vec![]]);
        assert_eq!((manifest.data(), manifest.size(), manifest.files()), (Some(3), 3, 1));
    }

    #[test]
    fn nothing_is_outside_of_the_root() {
        let root = entry(0, "", Kind::Folder);
        for name in ["", ".", "..", "a/b", "/etc", "../x", "a\0"] {
            let tried = manifest(&[root.clone(), entry(0, name, file(0, &[]))]);
            assert!(tried.check().unwrap_err().contains("an impossible name"), "{name}");
        }
        // Nothing can be put into a link or a file, nor into a folder that stands later.
        for kind in [Kind::Link(b"/etc".to_vec()), file(0, &[])] {
            let tried = manifest(&[root.clone(), entry(0, "a", kind), entry(1, "b", file(0, &[]))]);
            assert!(tried.check().unwrap_err().contains("in no folder before it"));
        }
        for parent in [1, 7] {
            let tried = manifest(&[root.clone(), entry(parent, "a", Kind::Folder)]);
            assert!(tried.check().unwrap_err().contains("in no folder before it"));
        }
        let link = manifest(&[entry(0, "", Kind::Link(b"x".to_vec()))]);
        assert!(link.check().is_err());
        assert!(Manifest::default().check().is_err());
    }

    #[test]
    fn impossible_entries_are_refused() {
        let root = entry(0, "", Kind::Folder);
        let twice = [root.clone(), entry(0, "a", Kind::Folder), entry(0, "a", file(0, &[]))];
        assert_eq!(manifest(&twice).check(), Err("a is there twice".to_owned()));
        for kind in [
            file(5, &[(0, 6)]),
            file(5, &[(0, 0)]),
            file(9, &[(4, 2), (2, 1)]),
            file(9, &[(0, 4), (3, 2)]),
            file(9, &[(u64::MAX, 2)]),
            file(u64::MAX, &[]),
            Kind::Link(Vec::new()),
            Kind::Link(b"a\0b".to_vec()),
            Kind::Stream,
        ] {
            assert!(manifest(&[root.clone(), entry(0, "a", kind)]).check().is_err());
        }
        let times = Entry { modified: Some((0, MAX_NANOS + 1)), ..entry(0, "a", file(0, &[])) };
        assert!(manifest(&[root, times]).check().unwrap_err().contains("an impossible time"));
    }
}
