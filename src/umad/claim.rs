//! Which processes of a host are in a group through one port.
//!
//! The subnet administrator knows a port's membership, not the processes that have asked for it: whoever leaves
//! first would leave for all. So every process has a lock on the port's device file, at the place that the group's
//! MGID gives, which others may have too; who leaves looks whether it could have it alone. The kernel gives up the locks of
//! a process that is killed.

use std::os::fd::RawFd;

/// A process's share in a group.
#[derive(Debug)]
pub(super) struct Claim {
    descriptor: RawFd,
    at: i64,
}

impl Claim {
    /// On a group, through the port whose device file this is. Where the file takes no locks, as a simulated one, the
    /// process counts as the only one.
    pub fn new(descriptor: RawFd, mgid: &[u8; 16]) -> Claim {
        let low: [u8; 8] = std::array::from_fn(|byte| mgid[8 + byte]);
        // Files end below 2⁶³.
        let claim = Claim { descriptor, at: (u64::from_be_bytes(low) >> 2) as i64 };
        if !claim.lock(libc::F_RDLCK) {
            tracing::debug!("the port's device file takes no locks");
        }
        claim
    }

    /// Whether no other process has a claim on the group.
    pub fn is_last(&self) -> bool {
        self.lock(libc::F_WRLCK)
            || std::io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN)
    }

    fn lock(&self, kind: i32) -> bool {
        // SAFETY: the lock is plain numbers, for which zero is valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = self.at;
        lock.l_len = 1;
        // SAFETY: a descriptor that is not open is refused, and the lock is whole.
        unsafe { libc::fcntl(self.descriptor, libc::F_OFD_SETLK, &lock) == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_last_one_is_known() {
        let path = std::env::temp_dir().join(format!("verbcast-claim-{}", std::process::id()));
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let (first, second) = (open().unwrap(), open().unwrap());
        let claim = |file: &File, last| Claim::new(file.as_raw_fd(), &[last; 16]);
        let (one, other) = (claim(&first, 0xff), claim(&second, 0xff));
        assert!(!one.is_last() && !other.is_last());
        assert!(claim(&first, 0x11).is_last(), "another group");
        drop(second);
        assert!(one.is_last());
        std::fs::remove_file(&path).unwrap();
        assert!(Claim::new(-1, &[0; 16]).is_last(), "where there are no locks");
    }
}
