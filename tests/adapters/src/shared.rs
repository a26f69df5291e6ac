//! What the processes of a node share: places, of which there are so many, in a folder of files. Whoever holds the lock of
//! a file has that place; the kernel gives it back when its process ends.

use std::fs::{self, File, OpenOptions};
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
            let path = folder().join(format!("{name}.{number}"));
            let options = OpenOptions::new().create(true).truncate(false).write(true).open(path);
            let file = options.unwrap_or_else(|error| unusable(&error));
            // SAFETY: the descriptor is open.
            let answer = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
            (answer == 0).then_some(Place { _file: file })
        })
    }
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
