//! Libraries that the program has loaded, without loading any.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

/// How many libraries the program has loaded so far, plus one.
pub fn loads() -> u64 {
    /// # Safety
    /// For the loader, with the address of a number.
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        count: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader tells of a live library, and the number is this function's caller's.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0_u64;
    // SAFETY: the callback is called before this returns, with the number.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count + 1
}

/// A library that is loaded, which stays so from now on.
#[derive(Clone, Copy, Debug)]
pub struct Library(NonNull<c_void>);

impl Library {
    /// The first of these that the program has loaded.
    pub fn find(names: &[&CStr]) -> Option<Self> {
        // SAFETY: the names are C strings; nothing is loaded that is not.
        let open = |name: &&CStr| unsafe {
            NonNull::new(libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD))
        };
        names.iter().find_map(open).map(Library)
    }

    /// A function of it.
    ///
    /// # Safety
    /// `F` is the type of the function of that name.
    pub unsafe fn get<F: Copy>(self, name: &CStr) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        // SAFETY: the library is loaded, and the name a C string.
        let address = NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })?;
        // SAFETY: promised by the caller, and a function's address is as large as any.
        Some(unsafe { std::mem::transmute_copy(&address) })
    }
}
