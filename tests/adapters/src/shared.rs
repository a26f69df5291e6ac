//! What the processes of a node share: places, of which there are so many, in a folder of files. Whoever holds the lock of
//! a file has that place; the kernel gives it back when its process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A place that nobody else has.
pub struct Place {
    _file: File,
}

impl Place {
    /// Takes one of the first `count` places of that name; none if all are taken.
    pub fn take(name: &str, count: u32) -> Option<Place> {
        (0..count).find_map(|number| {
            let file = open(&format!("{name}.{number}"));
            lock(&file, libc::LOCK_EX | libc::LOCK_NB).then_some(Place { _file: file })
        })
    }
}

/// A membership in a group that the subnet administrator knows: it lasts while the file is locked.
pub struct Membership {
    _file: File,
}

impl Membership {
    /// Joins a group from a port with this MTU, and the group's Q_Key; none if the group's MTU is larger. Who is first
    /// makes the group, with what it has.
    pub fn enter(group: &str, mtu: u32, qkey: u32) -> Option<(Membership, u32)> {
        // One at a time decides whether it is the first.
        let turn = open("groups");
        lock(&turn, libc::LOCK_EX);
        let mut file = open(group);
        let mut found = [mtu, qkey];
        if lock(&file, libc::LOCK_EX | libc::LOCK_NB) {
            let text = format!("{mtu:10} {qkey:10}");
            file.write_all(text.as_bytes()).unwrap_or_else(|error| unusable(&error));
        } else {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap_or_else(|error| unusable(&error));
            for (number, word) in found.iter_mut().zip(text.split_whitespace()) {
                *number = word.parse().unwrap_or(*number);
            }
        }
        lock(&file, libc::LOCK_SH);
        let [group_mtu, group_qkey] = found;
        (group_mtu <= mtu).then_some((Membership { _file: file }, group_qkey))
    }
}

/// Whether somebody is in a group.
pub fn exists(group: &str) -> bool {
    !lock(&open(group), libc::LOCK_EX | libc::LOCK_NB)
}

/// The file of a group.
pub fn group_name(mgid: &[u8; 16]) -> String {
    format!("group-{:032x}", u128::from_be_bytes(*mgid))
}

/// Opens a file of the folder, which is made if it is not there.
pub fn open(name: &str) -> File {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    options.open(folder().join(name)).unwrap_or_else(|error| unusable(&error))
}

/// Locks a file; false if it would have to wait, and shall not.
fn lock(file: &File, operation: libc::c_int) -> bool {
    // SAFETY: the descriptor is open.
    unsafe { libc::flock(file.as_raw_fd(), operation) == 0 }
}

/// The folder that the processes share.
pub fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let named = std::env::var_os("VERBCAST_ADAPTER_STATE").map(PathBuf::from);
        let folder = named.unwrap_or_else(|| std::env::temp_dir().join("verbcast-adapter"));
        fs::create_dir_all(&folder).unwrap_or_else(|error| unusable(&error));
        folder
    })
}

fn unusable(error: &std::io::Error) -> ! {
    crate::adapter::die(&format!("VERBCAST_ADAPTER_STATE: the folder cannot be used: {error}"))
}
