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

#[cfg(test)]
mod tests {
    use super::super::testing::mpi;
    use super::*;
    use std::ffi::{CStr, CString};
    use std::path::PathBuf;
    use std::process::Command;
    use std::ptr;

    type Allocate = unsafe extern "C" fn(*mut *mut c_void, usize) -> c_int;

    /// A library in place of a runtime's, whose memory only its own functions may touch.
    struct StandIn {
        /// Its source in `tests/mpi/gpu`, which is its name without the version.
        name: &'static str,
        version: &'static str,
        allocate: &'static CStr,
        copies: &'static str,
    }

    const STAND_INS: [StandIn; 3] = [
        StandIn { name: "libcuda", version: ".1", allocate: c"cuMemAlloc_v2", copies: "cuMemcpy" },
        StandIn { name: "libamdhip64", version: ".6", allocate: c"hipMalloc", copies: "hipMemcpy" },
        StandIn {
            name: "libze_loader",
            version: ".1",
            allocate: c"test_allocate",
            copies: "zeCommandListAppendMemoryCopy",
        },
    ];

    impl StandIn {
        fn build(&self) -> PathBuf {
            let StandIn { name, version, .. } = self;
            let source = format!("{}/tests/mpi/gpu/{name}.c", env!("CARGO_MANIFEST_DIR"));
            let library = std::env::temp_dir().join(format!("{name}-{}.so", std::process::id()));
            let status = Command::new("cc")
                .args(["-shared", "-fPIC", &format!("-Wl,-soname,{name}.so{version}"), "-o"])
                .args([library.as_os_str(), source.as_ref()])
                .status();
            assert!(status.unwrap().success());
            library
        }

        /// Loads it, and allocates memory of it.
        fn allocate(&self, len: usize) -> *mut c_void {
            let library = self.build();
            let path = CString::new(library.to_str().unwrap()).unwrap();
            let mut memory = ptr::null_mut::<c_void>();
            // SAFETY: the library stays loaded, and its function is of this type.
            unsafe {
                let loaded = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
                let address = libc::dlsym(loaded, self.allocate.as_ptr());
                assert!(!address.is_null());
                let allocate = std::mem::transmute::<*mut c_void, Allocate>(address);
                assert_eq!(allocate(&mut memory, len), 0);
            }
            std::fs::remove_file(&library).unwrap();
            memory
        }
    }

    /// One after the other in one process, as a program may load several.
    #[test]
    fn memory_of_runtimes_that_are_loaded_later_is_found_and_copied() {
        // As it starts, MPI changes the environment, which a compiler that is started meanwhile finds gone.
        let _started = mpi();
        let here = [1_u8; 100];
        // Other tests of this process load libraries too, perhaps between the two.
        let is_settled = |_| runtime_of(here.as_ptr().cast()).is_none() && !may_have_runtime();
        assert!((0..1000).any(is_settled), "nothing has been loaded since");
        for stand_in in STAND_INS {
            let device = stand_in.allocate(here.len());
            assert!(may_have_runtime());
            assert!(runtime_of(here.as_ptr().cast()).is_none());
            let runtime = runtime_of(device.wrapping_byte_add(50)).expect("it is the library's");
            assert_eq!(runtime.name(), stand_in.copies);
            let mut back = [0_u8; 100];
            // SAFETY: both sides have as many bytes.
            unsafe {
                copy(runtime, device, here.as_ptr().cast(), here.len()).unwrap();
                copy(runtime, back.as_mut_ptr().cast(), device, back.len()).unwrap();
                let beyond = device.wrapping_byte_add(1 << 20);
                copy(runtime, back.as_mut_ptr().cast(), beyond, back.len()).unwrap_err();
            }
            assert_eq!(back, here, "{}", stand_in.name);
        }
    }
}
