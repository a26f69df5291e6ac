//! Registering memory.

use core::ffi::{c_int, c_void};

use crate::{IB_UVERBS_ACCESS_OPTIONAL_RANGE, ibv_mr, ibv_pd, ibv_reg_mr_iova2};

mod symbol {
    use core::ffi::{c_int, c_void};

    use crate::{ibv_mr, ibv_pd};

    unsafe extern "C" {
        pub fn ibv_reg_mr(
            pd: *mut ibv_pd,
            addr: *mut c_void,
            length: usize,
            access: c_int,
        ) -> *mut ibv_mr;
    }
}

/// Registers memory for the device to read and, as `access` says, write.
///
/// Optional access flags, such as `IBV_ACCESS_RELAXED_ORDERING`, are dropped on
/// a kernel that does not know them. Returns null with `errno` set on failure.
///
/// # Safety
///
/// - `pd` is a live protection domain.
/// - The `length` bytes at `addr` stay mapped until the region is deregistered.
#[inline]
pub unsafe fn ibv_reg_mr(
    pd: *mut ibv_pd,
    addr: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut ibv_mr {
    // The plain symbol passes optional flags on, to a kernel that may refuse them.
    if access.cast_unsigned() & IB_UVERBS_ACCESS_OPTIONAL_RANGE == 0 {
        // SAFETY: the caller vouches for the arguments.
        unsafe { symbol::ibv_reg_mr(pd, addr, length, access) }
    } else {
        let iova = addr.addr() as u64;
        // SAFETY: the caller vouches for the arguments.
        unsafe { ibv_reg_mr_iova2(pd, addr, length, iova, access.cast_unsigned()) }
    }
}
