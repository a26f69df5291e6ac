//! Memory that other processes change at any time: reached through atomic numbers alone.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a number.
const WORD: usize = size_of::<u64>();
/// Numbers that are moved in a row without a look at how many are left.
const BLOCK: usize = 8;

/// A mapping of a file whose size is sealed, or of as much memory of this process's own.
#[derive(Debug)]
pub struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is reached through atomic numbers alone, by any thread as by any other process, and unmapped when
// nobody refers to it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of a file that has as many.
    pub fn new(file: impl AsFd, len: usize) -> rustix::io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, wherever the kernel has room for it, which takes nothing from anybody.
        let at = unsafe {
            mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED, file.as_fd(), 0)?
        };
        let at = NonNull::new(at.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Mapping { at, len })
    }

    /// The number at an offset.
    ///
    /// # Panics
    /// If the offset is not a multiple of 8, or is behind the end.
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        &self.words(offset, 1)[0]
    }

    /// So many numbers from an offset on.
    ///
    /// # Panics
    /// As [`word`](Self::word).
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let is_inside = offset <= self.len && count <= (self.len - offset) / WORD;
        assert!(offset.is_multiple_of(WORD) && is_inside, "no {count} numbers at {offset}");
        // SAFETY: the numbers are inside of the mapping, which stays as long as `self` and cannot shrink, are aligned as
        // pages are, and are only reached as atomic numbers.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr().add(offset).cast(), count) }
    }

    /// Writes bytes from an offset on, a number at a time; the rest of the last number is filled with zeros.
    ///
    /// # Panics
    /// As [`word`](Self::word).
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<WORD>();
        let (blocks, others) = chunks.as_chunks::<BLOCK>();
        let (to, to_rest) = self.words(offset, bytes.len().div_ceil(WORD)).split_at(chunks.len());
        let (to_blocks, to_others) = to.as_chunks::<BLOCK>();
        to_blocks.iter().zip(blocks).for_each(|(to, block)| store(to, block));
        store(to_others, others);
        if let Some(last) = to_rest.first() {
            let mut word = [0; WORD];
            word[..rest.len()].copy_from_slice(rest);
            last.store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
    }

    /// Reads bytes from an offset on, a number at a time.
    ///
    /// # Panics
    /// As [`word`](Self::word).
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        let from = self.words(offset, bytes.len().div_ceil(WORD));
        let (chunks, rest) = bytes.as_chunks_mut::<WORD>();
        let (from, from_rest) = from.split_at(chunks.len());
        let (blocks, others) = chunks.as_chunks_mut::<BLOCK>();
        let (from_blocks, from_others) = from.as_chunks::<BLOCK>();
        blocks.iter_mut().zip(from_blocks).for_each(|(block, from)| load(block, from));
        load(others, from_others);
        if let Some(last) = from_rest.first() {
            rest.copy_from_slice(&last.load(Ordering::Relaxed).to_ne_bytes()[..rest.len()]);
        }
    }
}

fn store(to: &[AtomicU64], chunks: &[[u8; WORD]]) {
    for (word, chunk) in to.iter().zip(chunks) {
        word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
    }
}

fn load(chunks: &mut [[u8; WORD]], from: &[AtomicU64]) {
    for (chunk, word) in chunks.iter_mut().zip(from) {
        *chunk = word.load(Ordering::Relaxed).to_ne_bytes();
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and nothing refers to it any more.
        if let Err(error) = unsafe { munmap(self.at.as_ptr().cast(), self.len) } {
            tracing::warn!("while dropping the memory of a node: {error}");
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::OwnedFd;

    /// Memory that can be mapped, all zeros.
    pub fn file(len: usize) -> OwnedFd {
        let file = memfd_create("verbcast-test", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, len as u64).unwrap();
        file
    }

    #[test]
    fn bytes_of_any_length_are_read_as_they_were_written() {
        const LEN: usize = 512;
        let mapping = Mapping::new(file(LEN), LEN).unwrap();
        for len in 0..300 {
            for offset in [0, 8, 64] {
                mapping.write(0, &[0xff; LEN]);
                let bytes: Vec<u8> = (0..len).map(|at| (at + offset) as u8).collect();
                mapping.write(offset, &bytes);
                let mut read = vec![0xee; len];
                mapping.read(offset, &mut read);
                assert_eq!(read, bytes, "{len} bytes from {offset} on");
                // What is beside them is as it was, but for the rest of the last number.
                let mut all = [0; LEN];
                mapping.read(0, &mut all);
                let end = (offset + len).next_multiple_of(WORD);
                let beside = all[..offset].iter().chain(&all[end..]);
                assert!(beside.copied().all(|byte| byte == 0xff), "{len} bytes from {offset} on");
                assert!(all[offset + len..end].iter().all(|byte| *byte == 0));
            }
        }
    }
}
