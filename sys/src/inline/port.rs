//! Querying a port.
//!
//! The symbol `ibv_query_port` fills a shorter, older structure. The header
//! hides it behind a macro that prefers the extended context's operation,
//! which is told the structure's length.

use core::ffi::c_int;
use core::mem::size_of;

use super::extended::extended_op;
use crate::{ibv_context, ibv_port_attr};

mod symbol {
    use core::ffi::c_int;

    use crate::{_compat_ibv_port_attr, ibv_context};

    unsafe extern "C" {
        pub fn ibv_query_port(
            context: *mut ibv_context,
            port_num: u8,
            port_attr: *mut _compat_ibv_port_attr,
        ) -> c_int;
    }
}

/// Reads a port's attributes.
///
/// Returns 0 or an `errno` value.
///
/// # Safety
///
/// - `context` is a live device context.
/// - `port_attr` may be written to.
#[inline]
pub unsafe fn ibv_query_port(
    context: *mut ibv_context,
    port_num: u8,
    port_attr: *mut ibv_port_attr,
) -> c_int {
    // SAFETY: the caller says `context` is live.
    match unsafe { extended_op!(context, query_port) } {
        // SAFETY: the caller vouches for the arguments, the size is that of `port_attr`.
        Some(query) => unsafe { query(context, port_num, port_attr, size_of::<ibv_port_attr>()) },
        None => {
            // The older call leaves the newer fields alone.
            // SAFETY: `port_attr` may be written to; zero bytes are valid for its integers.
            unsafe { port_attr.write_bytes(0, 1) };
            // SAFETY: the older structure is a prefix of the newer one.
            unsafe { symbol::ibv_query_port(context, port_num, port_attr.cast()) }
        }
    }
}
