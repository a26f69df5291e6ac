//! Memory that other processes change at any time: reached through atomic numbers, and by copies of bytes.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// A mapping of a file whose size is sealed, or of as much memory of this process's own.
#[derive(Debug)]
pub struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is reached through atomic numbers and by copies that expect changes, by any thread as by any other
// process, and unmapped when nobody refers to it.
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
        assert!(offset.is_multiple_of(size_of::<u64>()), "a number at {offset}");
        let at = self.bytes(offset, size_of::<u64>()).cast();
        // SAFETY: the number is inside of the mapping, which stays as long as `self` and cannot shrink, is aligned as pages
        // are, and is only reached as an atomic number.
        unsafe { at.as_ref() }
    }

    /// Where so many bytes are from an offset on.
    fn bytes(&self, offset: usize, count: usize) -> NonNull<u8> {
        let is_inside = offset <= self.len && count <= self.len - offset;
        assert!(is_inside, "{count} bytes at {offset} of {}", self.len);
        // SAFETY: the offset is inside of the mapping, or its end.
        unsafe { self.at.add(offset) }
    }

    /// Writes bytes from an offset on.
    ///
    /// # Panics
    /// If they do not fit in.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let to = self.bytes(offset, bytes.len());
        // SAFETY: both are this long, and they do not overlap: the slice is not in the mapping.
        unsafe { copy(to.as_ptr(), bytes.as_ptr(), bytes.len()) }
    }

    /// Reads bytes from an offset on.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        let from = self.bytes(offset, bytes.len());
        // SAFETY: as above.
        unsafe { copy(bytes.as_mut_ptr(), from.as_ptr(), bytes.len()) }
    }
}

type Memcpy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

static MEMCPY: Memcpy = libc::memcpy;

/// Copies bytes that others may change meanwhile: whatever mixture of theirs arrives is a value.
///
/// The C library's function has the best loop for each processor, but Rust's own copies may take it for granted that nobody
/// writes. Read as volatile, its address says nothing to the compiler, which has to expect any function of machine
/// instructions there, as one that moves byte by byte with relaxed order.
///
/// # Safety
/// Both places have so many bytes and share none; one of them is this process's own.
unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the address of a static.
    let memcpy = unsafe { (&raw const MEMCPY).read_volatile() };
    // SAFETY: as the caller says.
    unsafe { memcpy(to.cast(), from.cast(), len) };
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
            for offset in [0, 3, 8, 64] {
                mapping.write(0, &[0xff; LEN]);
                let bytes: Vec<u8> = (0..len).map(|at| (at + offset) as u8).collect();
                mapping.write(offset, &bytes);
                let mut read = vec![0xee; len];
                mapping.read(offset, &mut read);
                assert_eq!(read, bytes, "{len} bytes from {offset} on");
                let mut all = [0; LEN];
                mapping.read(0, &mut all);
                let beside = all[..offset].iter().chain(&all[offset + len..]);
                assert!(
                    beside.copied().all(|byte| byte == 0xff),
                    "beside {len} bytes from {offset}"
                );
            }
        }
    }

    #[test]
    #[should_panic = "2 bytes at 511 of 512"]
    fn there_is_nothing_behind_the_end() {
        Mapping::new(file(512), 512).unwrap().write(511, &[0; 2]);
    }
}
