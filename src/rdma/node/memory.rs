//! Making the memory of a node, and finding that of another process.

use super::mapping::Mapping;
use super::ring::{Ring, Shape};
use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals,
    fcntl_get_seals, fstat, ftruncate, memfd_create, open,
};
use rustix::io::{pwrite, retry_on_intr};
use rustix::process::{Resource, getrlimit};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use verbcast_core::wire::NodeMemory;

/// Seals on the file: nobody can change its size any more, nor the seals.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);
/// More than any depth asks for.
const MAX_SLOTS: u32 = 1 << 21;
const MAX_SLOT_LEN: u32 = 1 << 16;
/// Bytes that are taken from the system in one call: one that a signal interrupts takes none.
const TAKEN_AT_ONCE: u64 = 1 << 18;

/// The memory of a node that this process has made, until its mates have opened it.
#[derive(Debug)]
pub struct Memory {
    file: OwnedFd,
    shape: Shape,
    nonce: u64,
}

impl Memory {
    /// Makes it, for so many datagrams of so many bytes.
    pub fn new(slots: u32, slot_len: u32, nonce: u64) -> Result<Self, String> {
        let shape = Shape { slots, slot_len };
        let made = may_have(shape.len() as u64)
            .and_then(|()| Self::try_new(shape, nonce).map_err(|error| error.to_string()));
        made.map_err(|why| format!("cannot make {} bytes of shared memory: {why}", shape.len()))
    }

    fn try_new(shape: Shape, nonce: u64) -> rustix::io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("verbcast-node", flags)?;
        ftruncate(&file, shape.len() as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        // As into a file: there, that the system has no memory for it is an error.
        pwrite(&file, &nonce.to_ne_bytes(), Ring::NONCE_AT as u64)?;
        Ok(Memory { file, shape, nonce })
    }

    /// This process's own view, when it is known how many mates there are. What they use of the memory is taken from the system
    /// before: where it has none for a page that somebody touches, it ends that process by a signal.
    pub fn ring(&self, mates: usize) -> Result<Ring, String> {
        let len = self.shape.used_by(mates);
        let mapping =
            self.take(len as u64).and_then(|()| Mapping::new(&self.file, self.shape.len()));
        match mapping {
            Ok(mapping) => Ok(Ring::new(mapping, self.shape)),
            Err(error) => Err(format!("cannot have {len} bytes of shared memory: {error}")),
        }
    }

    fn take(&self, len: u64) -> rustix::io::Result<()> {
        (0..len).step_by(TAKEN_AT_ONCE as usize).try_for_each(|at| {
            let part = TAKEN_AT_ONCE.min(len - at);
            retry_on_intr(|| fallocate(&self.file, FallocateFlags::empty(), at, part))
        })
    }

    /// What the mates need to find it.
    pub fn told(&self) -> NodeMemory {
        NodeMemory {
            process: std::process::id(),
            descriptor: self.file.as_raw_fd() as u32,
            nonce: self.nonce,
            slots: self.shape.slots,
            slot_len: self.shape.slot_len,
        }
    }

    /// Opens the memory that a mate has made, and makes sure that it is the right one.
    pub fn open(told: &NodeMemory) -> Result<Ring, String> {
        let NodeMemory { process, descriptor, nonce, slots, slot_len } = *told;
        let path = format!("/proc/{process}/fd/{descriptor}");
        let named = |what: &str| format!("{path}, the memory of this node: {what}");
        let failed = |error: rustix::io::Errno| named(&error.to_string());
        if !(1..=MAX_SLOTS).contains(&slots) || !(1..=MAX_SLOT_LEN).contains(&slot_len) {
            return Err(named("nobody makes one of this size"));
        }
        let shape = Shape { slots, slot_len };
        let file = open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(failed)?;
        // Only files of this kind have seals.
        let seals = fcntl_get_seals(&file).map_err(failed)?;
        let len = fstat(&file).map_err(failed)?.st_size;
        if !seals.contains(SEALS) || len != shape.len() as i64 {
            return Err(named("it is another file"));
        }
        let mapping = Mapping::new(&file, shape.len()).map_err(failed)?;
        match mapping.word(Ring::NONCE_AT).load(Ordering::Acquire) == nonce {
            true => Ok(Ring::new(mapping, shape)),
            false => Err(named("it is that of other ranks")),
        }
    }
}

/// Whether this process may have a file so long. To try it is no way to know, as a signal would end the process.
fn may_have(len: u64) -> Result<(), String> {
    match getrlimit(Resource::Fsize).current.filter(|limit| *limit < len) {
        Some(limit) => Err(format!(
            "no file may have more than {limit} bytes: raise that limit (`ulimit -f unlimited`)"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn who_may_have_no_file_so_long_makes_none() {
        const LIMIT: &str = "TEST_HAS_A_LIMIT";
        if std::env::var_os(LIMIT).is_some() {
            return println!("{}", Memory::new(4, 100, 7).unwrap_err());
        }
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 16 && exec \"$0\" \"$@\""]).env(LIMIT, "yes");
        limited.arg(std::env::current_exe().unwrap());
        let name = "rdma::node::memory::tests::who_may_have_no_file_so_long_makes_none";
        let output = limited.args(["--exact", name, "--nocapture"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("ulimit -f"), "{output:?}");
    }

    #[test]
    fn what_is_told_leads_to_the_same_memory() {
        let memory = Memory::new(4, 100, 7).unwrap();
        let one = memory.ring(2).unwrap();
        let other = Memory::open(&memory.told()).unwrap();
        one.word().store(5, Ordering::Relaxed);
        assert_eq!(other.word().load(Ordering::Relaxed), 5);
    }

    #[test]
    fn what_mates_use_is_there_before_they_write() {
        const MATES: usize = 40;
        let memory = Memory::new(64, 4096, 7).unwrap();
        memory.ring(MATES).unwrap();
        let taken = 512 * fstat(&memory.file).unwrap().st_blocks as usize;
        let (used, all) = (memory.shape.used_by(MATES), memory.shape.len());
        assert!(used > TAKEN_AT_ONCE as usize && (used..all).contains(&taken), "{taken}");
    }

    #[test]
    fn what_the_system_does_not_give_is_an_error() {
        let memory = Memory::new(4, 100, 7).unwrap();
        // Its size is sealed.
        let larger = Memory { shape: Shape { slots: 1 << 14, ..memory.shape }, ..memory };
        let error = larger.ring(512).unwrap_err();
        assert!(error.contains("bytes of shared memory"), "{error}");
    }

    #[test]
    fn another_file_is_refused() {
        let memory = Memory::new(4, 100, 7).unwrap();
        let told = memory.told();
        for (wrong, what) in [
            (NodeMemory { nonce: 8, ..told }, "that of other ranks"),
            (NodeMemory { slots: 8, ..told }, "another file"),
            (NodeMemory { slots: 0, ..told }, "of this size"),
            (NodeMemory { slot_len: u32::MAX, ..told }, "of this size"),
            (NodeMemory { descriptor: 9999, ..told }, "No such file"),
        ] {
            let error = Memory::open(&wrong).unwrap_err();
            assert!(error.starts_with("/proc/") && error.contains(what), "{error}");
        }
        let plain = memfd_create("plain", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&plain, memory.shape.len() as u64).unwrap();
        let descriptor = plain.as_raw_fd() as u32;
        let error = Memory::open(&NodeMemory { descriptor, ..told }).unwrap_err();
        assert!(error.contains("another file"), "its size is not sealed: {error}");
    }

    #[test]
    fn nobody_can_take_its_pages_away() {
        let memory = Memory::new(4, 100, 7).unwrap();
        assert!(ftruncate(&memory.file, 0).is_err());
    }
}
