//! Reading GID table entries with their type, which tells RoCE v1 from v2.
//!
//! The C calls also take flags, which must be 0; these do not.

use core::ffi::c_int;
use core::mem::size_of;

use crate::{_ibv_query_gid_ex, _ibv_query_gid_table, ibv_context, ibv_gid_entry};

/// Reads one entry of a port's GID table.
///
/// Returns 0 or an `errno` value; `ENODATA` for an empty entry.
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
    let size = size_of::<ibv_gid_entry>();
    // SAFETY: the caller vouches for the arguments, the size is that of `entry`.
    unsafe { _ibv_query_gid_ex(context, port_num, gid_index, entry, 0, size) }
}

/// Reads all valid entries of the device's GID tables.
///
/// Returns how many were written, or a negated `errno` value.
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
    let size = size_of::<ibv_gid_entry>();
    // SAFETY: the caller vouches for the arguments, the size is that of an entry.
    unsafe { _ibv_query_gid_table(context, entries, max_entries, 0, size) }
}
