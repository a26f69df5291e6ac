//! HIP, the interface of AMD's ROCm (`hip_runtime_api.h`).

use super::Runtime;
use super::loaded::Library;
use std::ffi::{c_int, c_void};
use std::ptr;

type Result = c_int;
type GetAttributes = unsafe extern "C" fn(*mut c_void, *const c_void) -> Result;
type Memcpy = unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> Result;
type Version = unsafe extern "C" fn(*mut c_int) -> Result;
type Synchronize = unsafe extern "C" fn(*mut c_void) -> Result;

const SUCCESS: Result = 0;
/// `hipMemcpyDefault`: the addresses tell where the memory is.
const DEFAULT: c_int = 4;
/// From this version on, memory types are numbered as CUDA's runtime does.
const RENUMBERED: c_int = 6 * 10_000_000;
/// Room for `hipPointerAttribute_t` of any version, which begins with the memory's type.
const ATTRIBUTES: usize = 32;

#[derive(Debug)]
struct Hip {
    attributes: GetAttributes,
    memcpy: Memcpy,
    synchronize: Synchronize,
    /// The first type that is not the host's.
    first_type: u64,
}

/// The runtime, if the program has loaded it.
pub fn find() -> Option<&'static dyn Runtime> {
    let names = [c"libamdhip64.so.7", c"libamdhip64.so.6", c"libamdhip64.so.5", c"libamdhip64.so"];
    let library = Library::find(&names)?;
    // SAFETY: the types are those of hip_runtime_api.h.
    let hip = unsafe {
        let mut version = 0;
        library.get::<Version>(c"hipRuntimeGetVersion")?(&mut version);
        Hip {
            attributes: library.get(c"hipPointerGetAttributes")?,
            memcpy: library.get(c"hipMemcpy")?,
            synchronize: library.get(c"hipStreamSynchronize")?,
            first_type: first_type(version),
        }
    };
    Some(Box::leak(Box::new(hip)))
}

/// Before version 6: host 0, device 1, array 2, unified 3. Since then: unregistered 0, host 1, device 2, managed 3, …
fn first_type(version: c_int) -> u64 {
    if version < RENUMBERED { 1 } else { 2 }
}

impl Runtime for Hip {
    fn owns(&self, address: *const c_void) -> bool {
        let mut attributes = [0_u64; ATTRIBUTES];
        // SAFETY: there is room for them; HIP takes any address.
        let answer = unsafe { (self.attributes)(attributes.as_mut_ptr().cast(), address) };
        // The type is an enum: 32 bits.
        answer == SUCCESS && u64::from(attributes[0] as u32) >= self.first_type
    }

    unsafe fn copy(&self, to: *mut c_void, from: *const c_void, len: usize) -> bool {
        // SAFETY: promised by the caller.
        unsafe {
            (self.memcpy)(to, from, len, DEFAULT) == SUCCESS
                && (self.synchronize)(ptr::null_mut()) == SUCCESS
        }
    }

    fn name(&self) -> &'static str {
        "hipMemcpy"
    }
}

#[cfg(test)]
mod tests {
    use super::first_type;

    #[test]
    fn types_were_numbered_anew() {
        assert_eq!([50_731_921, 60_032_830].map(first_type), [1, 2]);
    }
}
