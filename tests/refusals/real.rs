//! The libraries' own functions.

use std::cell::Cell;
use std::ffi::CStr;
use std::sync::OnceLock;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is in one of the libraries' own functions, whose calls among themselves are their own affair.
pub fn is_inside() -> bool {
    DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(true)
}

/// Calls one of them.
pub fn inside<R>(call: impl FnOnce() -> R) -> R {
    let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
    let answer = call();
    let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
    answer
}

/// The address of a function, looked up once.
pub fn find(found: &'static OnceLock<usize>, name: &CStr) -> usize {
    *found.get_or_init(|| {
        // SAFETY: the name is a C string.
        let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        assert!(!address.is_null(), "no library has {name:?}");
        address.addr()
    })
}
