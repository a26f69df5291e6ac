//! Memory of GPUs, which MPI libraries take in place of a host's: CUDA's, HIP's and Level Zero's.
//!
//! A message there is copied to host memory before it is sent, and from there when it has come, by the runtime that the
//! program has loaded itself. That is this rank's affair alone: which way a broadcast takes is the same at every rank,
//! whatever memory theirs is in.

mod cuda;
mod hip;
mod level_zero;
mod loaded;

use super::MpiError;
use loaded::loads;
use mpi::ffi;
use std::ffi::{c_int, c_void};
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A runtime whose memory programs may hand to MPI.
pub trait Runtime: Debug + Send + Sync {
    /// Whether the address is in its memory, which the CPU may be unable to reach or the network to register.
    fn owns(&self, address: *const c_void) -> bool;

    /// Copies between its memory and the host's, and returns when it is done; false if the runtime refuses.
    ///
    /// # Safety
    /// Both sides have `len` bytes, one of them in this runtime's memory.
    unsafe fn copy(&self, to: *mut c_void, from: *const c_void, len: usize) -> bool;

    /// The name of what copies.
    fn name(&self) -> &'static str;
}

/// The number of libraries that had been loaded when no runtime was found among them; 0: not looked yet.
static NONE_AMONG: AtomicU64 = AtomicU64::new(0);
/// The runtimes that were found. What is loaded later is found at the next look, which more loaded libraries bring about.
static FOUND: Mutex<&[&dyn Runtime]> = Mutex::new(&[]);

/// Whether a runtime may be there. Where none is, which is found out once unless the program loads more libraries,
/// this is a look at a number.
pub fn may_have_runtime() -> bool {
    NONE_AMONG.load(Ordering::Acquire) != loads()
}

/// The runtime whose memory this is; none for the host's.
pub fn runtime_of(address: *const c_void) -> Option<&'static dyn Runtime> {
    runtimes(loads()).iter().copied().find(|runtime| runtime.owns(address))
}

fn runtimes(loads: u64) -> &'static [&'static dyn Runtime] {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if SEEN.swap(loads, Ordering::AcqRel) != loads {
        let all = [cuda::find(), hip::find(), level_zero::find()];
        // A few bytes for each library that a program loads late.
        *found = Vec::leak(all.into_iter().flatten().collect());
    }
    if found.is_empty() {
        NONE_AMONG.store(loads, Ordering::Release);
    }
    *found
}

/// Copies by a runtime.
///
/// # Errors
/// If the runtime refuses.
///
/// # Safety
/// As [`Runtime::copy`].
pub unsafe fn copy(
    runtime: &dyn Runtime,
    to: *mut c_void,
    from: *const c_void,
    len: usize,
) -> Result<(), MpiError> {
    // SAFETY: promised by the caller.
    match len == 0 || unsafe { runtime.copy(to, from, len) } {
        true => Ok(()),
        false => Err(MpiError { call: runtime.name(), code: ffi::MPI_ERR_OTHER as c_int }),
    }
}
