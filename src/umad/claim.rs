//! Which processes of a host are in a group through one port.
//!
//! The subnet administrator knows a port's membership, not the processes that have asked for it: whoever leaves
//! first would leave for all. So every process has a lock on the port's device file, at the place that the group's
//! MGID gives, which others may have too; who leaves gives it up, and looks whether it can have it alone. Of processes that leave
//! together, whoever gives it up last does. The kernel gives up the locks of a process that is killed.

use std::os::fd::RawFd;
use std::thread;
use std::time::{Duration, Instant};

/// How long one that leaves may have the lock alone: longer than it takes to leave.
const LEAVING: Duration = Duration::from_secs(2);
/// Between two looks whether it has left.
const PAUSE: Duration = Duration::from_millis(5);

/// A process's share in a group.
#[derive(Debug)]
pub(super) struct Claim {
    descriptor: RawFd,
    at: i64,
}

impl Claim {
    /// On a group, through the port whose device file this is, once nobody is leaving it. Where the file takes no locks, as a
    /// simulated one, the process counts as the only one.
    pub fn new(descriptor: RawFd, mgid: &[u8; 16]) -> Claim {
        let low: [u8; 8] = std::array::from_fn(|byte| mgid[8 + byte]);
        // Files end below 2⁶³.
        let claim = Claim { descriptor, at: (u64::from_be_bytes(low) >> 2) as i64 };
        let begun = Instant::now();
        loop {
            match claim.lock(libc::F_RDLCK) {
                Lock::Others if begun.elapsed() < LEAVING => thread::sleep(PAUSE),
                Lock::Own => break claim,
                Lock::Others | Lock::None => {
                    tracing::debug!("the port's device file takes no locks");
                    break claim;
                }
            }
        }
    }

    /// Gives it up; whether no other process has one. Nobody gets one then before this is dropped.
    pub fn give_up(&self) -> bool {
        self.lock(libc::F_UNLCK);
        self.lock(libc::F_WRLCK) != Lock::Others
    }

    fn lock(&self, kind: i32) -> Lock {
        // SAFETY: the lock is plain numbers, for which zero is valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = self.at;
        lock.l_len = 1;
        // SAFETY: a descriptor that is not open is refused, and the lock is whole.
        if unsafe { libc::fcntl(self.descriptor, libc::F_OFD_SETLK, &lock) } == 0 {
            return Lock::Own;
        }
        match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN) => Lock::Others,
            _ => Lock::None,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.lock(libc::F_UNLCK);
    }
}

/// Who has a lock that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// This claim.
    Own,
    /// Others, in a way that it cannot be had too.
    Others,
    /// The file takes none.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The groups' device file, opened so often.
    fn opened(name: &str, times: usize) -> Vec<File> {
        let path = std::env::temp_dir().join(format!("verbcast-{name}-{}", std::process::id()));
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let files = (0..times).map(|_| open().unwrap()).collect();
        std::fs::remove_file(&path).unwrap();
        files
    }

    fn claim(file: &File, last: u8) -> Claim {
        Claim::new(file.as_raw_fd(), &[last; 16])
    }

    #[test]
    fn the_last_one_is_known() {
        let files = opened("claim", 2);
        let (one, other) = (claim(&files[0], 0xff), claim(&files[1], 0xff));
        assert!(!one.give_up());
        drop(one);
        let one = claim(&files[0], 0xff);
        assert!(!other.give_up() && one.give_up());
        assert!(claim(&files[0], 0x11).give_up(), "another group");
        drop((one, other));
        let again = claim(&files[1], 0xff);
        assert!(again.give_up(), "what was dropped is no claim");
        assert!(Claim::new(-1, &[0; 16]).give_up(), "where there are no locks");
    }

    #[test]
    fn of_those_that_leave_together_one_is_the_last() {
        const COUNT: usize = 4;
        let files = opened("claims", COUNT);
        let (together, last) = (Barrier::new(COUNT), AtomicUsize::new(0));
        for round in 0..50 {
            thread::scope(|scope| {
                for file in &files {
                    scope.spawn(|| {
                        let claim = claim(file, 0xff);
                        together.wait();
                        last.fetch_add(usize::from(claim.give_up()), Ordering::Relaxed);
                        together.wait();
                    });
                }
            });
            assert_eq!(last.swap(0, Ordering::Relaxed), 1, "round {round}");
        }
    }

    #[test]
    fn who_comes_waits_for_one_that_leaves() {
        let files = opened("claim-late", 3);
        let leaving = claim(&files[0], 0xff);
        assert!(leaving.give_up());
        thread::scope(|scope| {
            let coming = scope.spawn(|| claim(&files[1], 0xff));
            thread::sleep(10 * PAUSE);
            drop(leaving);
            let come = coming.join().unwrap();
            assert!(!claim(&files[2], 0xff).give_up(), "it has a claim");
            assert!(come.give_up());
        });
    }
}
