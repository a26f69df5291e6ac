//! Reading GID table entries with their type, which tells RoCE v1 from v2.
//!
//! The C calls also take flags, which must be 0; these do not. rdma-core has
//! them since version 32, so they are looked up when they are first called.

use core::ffi::{CStr, c_int, c_void};
use core::mem::{size_of, transmute};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::{ibv_context, ibv_gid_entry};

type QueryGid =
    unsafe extern "C" fn(*mut ibv_context, u32, u32, *mut ibv_gid_entry, u32, usize) -> c_int;
type QueryTable =
    unsafe extern "C" fn(*mut ibv_context, *mut ibv_gid_entry, usize, u32, usize) -> isize;

/// A symbol that the library may not have.
struct Optional {
    name: &'static CStr,
    /// Null as long as it has not been found.
    address: AtomicPtr<c_void>,
}

impl Optional {
    const fn new(name: &'static CStr) -> Self {
        Optional { name, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// Its address, or null.
    fn find(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

static QUERY_GID: Optional = Optional::new(c"_ibv_query_gid_ex");
static QUERY_TABLE: Optional = Optional::new(c"_ibv_query_gid_table");

/// Reads one entry of a port's GID table.
///
/// Returns 0 or an `errno` value; `ENODATA` for an empty entry, `ENOSYS` where
/// the library does not have the call.
///
/// # Safety
///
/// - `context` is a live device context.
/// - `entry` may be written to.
#[inline]
pub unsafe fn ibv_query_gid_ex(
    context: *mut ibv_context,
    port_num: u32,
    gid_index: u32,
    entry: *mut ibv_gid_entry,
) -> c_int {
    let address = QUERY_GID.find();
    if address.is_null() {
        return libc::ENOSYS;
    }
    let size = size_of::<ibv_gid_entry>();
    // SAFETY: the symbol is the function of this type; the caller vouches for
    // the arguments, the size is that of `entry`.
    unsafe {
        let query: QueryGid = transmute(address);
        query(context, port_num, gid_index, entry, 0, size)
    }
}

/// Reads all valid entries of the device's GID tables.
///
/// Returns how many were written, or a negated `errno` value; `-ENOSYS` where
/// the library does not have the call.
///
/// # Safety
///
/// - `context` is a live device context.
/// - `entries` has room for `max_entries` entries.
#[inline]
pub unsafe fn ibv_query_gid_table(
    context: *mut ibv_context,
    entries: *mut ibv_gid_entry,
    max_entries: usize,
) -> isize {
    let address = QUERY_TABLE.find();
    if address.is_null() {
        return -(libc::ENOSYS as isize);
    }
    let size = size_of::<ibv_gid_entry>();
    // SAFETY: the symbol is the function of this type; the caller vouches for
    // the arguments, the size is that of an entry.
    unsafe {
        let query: QueryTable = transmute(address);
        query(context, entries, max_entries, 0, size)
    }
}
