//! CUDA, by its driver's interface (`cuda.h`).

use super::Runtime;
use super::loaded::Library;
use std::ffi::{c_int, c_void};
use std::ptr;

type Result = c_int;
type GetAttribute = unsafe extern "C" fn(*mut c_void, c_int, u64) -> Result;
type ToHost = unsafe extern "C" fn(*mut c_void, u64, usize) -> Result;
type ToDevice = unsafe extern "C" fn(u64, *const c_void, usize) -> Result;
type Push = unsafe extern "C" fn(*mut c_void) -> Result;
type Pop = unsafe extern "C" fn(*mut *mut c_void) -> Result;
type Synchronize = unsafe extern "C" fn(*mut c_void) -> Result;

const SUCCESS: Result = 0;
/// `CU_POINTER_ATTRIBUTE_CONTEXT`.
const CONTEXT: c_int = 1;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const MEMORY_TYPE: c_int = 2;
/// `CU_POINTER_ATTRIBUTE_IS_MANAGED`.
const IS_MANAGED: c_int = 8;
/// `CU_MEMORYTYPE_HOST`.
const HOST: u32 = 1;

#[derive(Debug)]
struct Cuda {
    attribute: GetAttribute,
    to_host: ToHost,
    to_device: ToDevice,
    push: Push,
    pop: Pop,
    synchronize: Synchronize,
}

/// The driver, if the program has loaded it.
pub fn find() -> Option<&'static dyn Runtime> {
    let library = Library::find(&[c"libcuda.so.1", c"libcuda.so"])?;
    // SAFETY: the types are those of cuda.h; names with _v2 are what its macros make of the others.
    let cuda = unsafe {
        Cuda {
            attribute: library.get(c"cuPointerGetAttribute")?,
            to_host: library.get(c"cuMemcpyDtoH_v2")?,
            to_device: library.get(c"cuMemcpyHtoD_v2")?,
            push: library.get(c"cuCtxPushCurrent_v2")?,
            pop: library.get(c"cuCtxPopCurrent_v2")?,
            synchronize: library.get(c"cuStreamSynchronize")?,
        }
    };
    Some(Box::leak(Box::new(cuda)))
}

impl Cuda {
    /// An attribute of memory that CUDA knows.
    fn attribute<T: Copy + Default>(&self, which: c_int, address: u64) -> Option<T> {
        // Larger than any attribute that is asked for here.
        let mut value = [T::default(); 4];
        // SAFETY: the value is writable; CUDA takes any address.
        let answer = unsafe { (self.attribute)(value.as_mut_ptr().cast(), which, address) };
        (answer == SUCCESS).then_some(value[0])
    }
}

impl Runtime for Cuda {
    fn owns(&self, address: *const c_void) -> bool {
        let address = address as u64;
        // It knows no other memory of the host than what was registered with it.
        let kind: Option<u32> = self.attribute(MEMORY_TYPE, address);
        kind.is_some_and(|kind| kind != HOST)
            || kind.is_some()
                && self.attribute::<u32>(IS_MANAGED, address).is_some_and(|is| is != 0)
    }

    unsafe fn copy(&self, to: *mut c_void, from: *const c_void, len: usize) -> bool {
        let is_out = self.owns(from);
        let ours = if is_out { from as u64 } else { to as u64 };
        // The thread that calls MPI may have no context, or another device's. Memory of a pool has none of its own.
        let context = self.attribute::<usize>(CONTEXT, ours).filter(|context| *context != 0);
        // SAFETY: promised by the caller; the context is that of live memory, and is taken back below.
        unsafe {
            let is_pushed = context.is_some_and(|one| (self.push)(one as *mut c_void) == SUCCESS);
            let answer = match is_out {
                true => (self.to_host)(to, from as u64, len),
                false => (self.to_device)(to as u64, from, len),
            };
            // A copy to the device may go on when the call returns.
            let is_done = answer == SUCCESS && (self.synchronize)(ptr::null_mut()) == SUCCESS;
            if is_pushed {
                let mut popped = ptr::null_mut();
                (self.pop)(&mut popped);
            }
            is_done
        }
    }

    fn name(&self) -> &'static str {
        "cuMemcpy"
    }
}
