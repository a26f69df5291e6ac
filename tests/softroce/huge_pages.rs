//! Messages in huge pages, from which and into which the device reads and writes without a copy.

use crate::needs;
use crate::ranks;
use std::ptr::{NonNull, null_mut};
use std::{fs, io};
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

const SIZE: u32 = 3;
/// Bytes of a mapping: whole huge pages, of whatever size this system has.
const MAPPED: usize = 4 << 20;
/// A message begins and ends within a page.
const BEGIN: usize = 104;
const LEN: usize = MAPPED - 3 * BEGIN;

/// Memory in huge pages.
struct Huge(NonNull<u8>);

impl Huge {
    /// Pages that are reserved for it; an error if there are none.
    fn reserved() -> io::Result<Huge> {
        Huge::map(libc::MAP_HUGETLB | libc::MAP_POPULATE)
    }

    /// Pages that the kernel joins. None if it does not.
    fn joined() -> io::Result<Option<Huge>> {
        let huge = Huge::map(0)?;
        // SAFETY: the mapping is live, and advice changes no byte.
        unsafe {
            if libc::madvise(huge.0.as_ptr().cast(), MAPPED, libc::MADV_HUGEPAGE) != 0 {
                return Err(io::Error::last_os_error());
            }
            huge.0.write_bytes(0, MAPPED);
        }
        let text = fs::read_to_string("/proc/self/smaps")?;
        // The mapping may be a part of a longer one, which is as well.
        let count = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
        let pages =
            text.lines().filter(|line| line.starts_with("AnonHugePages:")).filter_map(count);
        Ok((pages.sum::<u64>() > 0).then_some(huge))
    }

    fn map(flags: i32) -> io::Result<Huge> {
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, where the kernel likes it.
        let memory = unsafe { libc::mmap(null_mut(), MAPPED, access, flags, -1, 0) };
        match memory == libc::MAP_FAILED {
            true => Err(io::Error::last_os_error()),
            false => Ok(Huge(NonNull::new(memory.cast()).unwrap())),
        }
    }

    fn message(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is live and of zeros at first, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr().add(BEGIN), LEN) }
    }
}

impl Drop for Huge {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and of no more use.
        unsafe { libc::munmap(self.0.as_ptr().cast(), MAPPED) };
    }
}

/// Broadcasts from and into such memory, from each root.
fn exchange(devices: &[String], memory: impl Fn() -> Huge + Sync) {
    let all = ranks::run(SIZE, |bootstrap| {
        let mut config = ranks::flat();
        config.device.devices = devices.to_vec();
        config.device.zero_copy = Some(LEN);
        config.protocol.set("algorithm", "two-stage").unwrap();
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let (me, mut memory) = (broadcaster.rank(), memory());
        for root in (0..SIZE).map(Rank) {
            let sent = ranks::message(root.index(), LEN);
            let message = memory.message();
            if me == root {
                message.copy_from_slice(&sent);
            } else {
                message.fill(0xee);
            }
            broadcaster.broadcast_into(root, message).unwrap();
            assert!(message == sent, "{me}, root {root}");
        }
        let statistics = broadcaster.statistics();
        broadcaster.close().unwrap();
        statistics
    });
    for (rank, one) in all.iter().enumerate() {
        assert!(one.sent_in_place > 0, "rank {rank}: {one:?}");
    }
    let received: u64 = all.iter().map(|one| one.received_in_place).sum();
    assert!(received > 0 || devices.len() > 1, "{all:?}");
}

#[test]
fn messages_in_reserved_huge_pages_are_sent_and_received_in_place() {
    let Some(devices) = needs::devices() else { return };
    // Together, so that there are pages for all.
    let probes: io::Result<Vec<Huge>> = (0..SIZE).map(|_| Huge::reserved()).collect();
    if let Err(error) = probes {
        return needs::skip(format!("no huge pages (/proc/sys/vm/nr_hugepages): {error}"));
    }
    drop(probes);
    exchange(&devices, || Huge::reserved().unwrap());
}

#[test]
fn messages_in_transparent_huge_pages_are_sent_and_received_in_place() {
    let Some(devices) = needs::devices() else { return };
    match Huge::joined() {
        Ok(Some(_)) => exchange(&devices, || Huge::joined().unwrap().unwrap()),
        Ok(None) => needs::skip("this system joined no pages to a huge one"),
        Err(error) => needs::skip(format!("no transparent huge pages: {error}")),
    }
}
