//! Memory that other processes change at any time: reached through atomic numbers alone.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a number.
const WORD: usize = size_of::<u64>();

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
        assert!(offset.is_multiple_of(WORD) && offset + WORD <= self.len, "no number at {offset}");
        // SAFETY: the number is inside of the mapping, which stays as long as `self` and cannot shrink, is aligned as
        // pages are, and is only reached as an atomic number.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr().add(offset).cast()) }
    }

    /// Writes bytes from an offset on, a number at a time; the rest of the last number is filled with zeros.
    ///
    /// # Panics
    /// As [`word`](Self::word).
    pub fn write(&self, mut offset: usize, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<WORD>();
        for word in words {
            self.word(offset).store(u64::from_ne_bytes(*word), Ordering::Relaxed);
            offset += WORD;
        }
        if !rest.is_empty() {
            let mut word = [0; WORD];
            word[..rest.len()].copy_from_slice(rest);
            self.word(offset).store(u64::from_ne_bytes(word), Ordering::Relaxed);
        }
    }

    /// Reads bytes from an offset on, a number at a time.
    ///
    /// # Panics
    /// As [`word`](Self::word).
    pub fn read(&self, mut offset: usize, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<WORD>();
        for word in words {
            *word = self.word(offset).load(Ordering::Relaxed).to_ne_bytes();
            offset += WORD;
        }
        if !rest.is_empty() {
            let word = self.word(offset).load(Ordering::Relaxed).to_ne_bytes();
            rest.copy_from_slice(&word[..rest.len()]);
        }
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
