//! Operations of the extended context, `verbs_context`.
//!
//! It holds the plain context as its last field and grows at the front, so an
//! entry exists only when the library's structure reaches back to it.

use core::ffi::c_int;
use core::mem::{offset_of, size_of};
use core::ptr;

use crate::{
    IBV_QP_INIT_ATTR_PD, ibv_context, ibv_create_qp, ibv_device_attr_ex, ibv_qp, ibv_qp_init_attr,
    ibv_qp_init_attr_ex, ibv_query_device, ibv_query_device_ex_input, verbs_context,
};

/// The extended context around `context`, or null if the library that opened
/// it has none.
///
/// # Safety
///
/// `context` is a live device context that libibverbs made.
#[inline]
pub unsafe fn verbs_get_ctx(context: *mut ibv_context) -> *mut verbs_context {
    // SAFETY: the caller says `context` is live.
    if unsafe { (*context).abi_compat }.addr() != usize::MAX {
        return ptr::null_mut();
    }
    context.wrapping_byte_sub(offset_of!(verbs_context, context)).cast()
}

/// Reads entry `$op` of the extended context: `None` if there is no extended
/// context, if it is too short to hold the entry, or if the entry is empty.
/// Expands to an unsafe operation with the conditions of [`verbs_get_ctx`].
macro_rules! extended_op {
    ($context:expr, $op:ident) => {{
        let extended = $crate::inline::verbs_get_ctx($context);
        let reach = ::core::mem::size_of::<$crate::verbs_context>()
            - ::core::mem::offset_of!($crate::verbs_context, $op);
        if extended.is_null() || (*extended).sz < reach { None } else { (*extended).$op }
    }};
}
pub(crate) use extended_op;

/// Creates a queue pair with extended attributes.
///
/// Returns null with `errno` set on failure.
///
/// # Safety
///
/// - `context` is a live device context.
/// - `attr` is valid for the bits of its `comp_mask`, and what it points at
///   belongs to `context`. The call writes the actual capacities to it.
#[inline]
pub unsafe fn ibv_create_qp_ex(
    context: *mut ibv_context,
    attr: *mut ibv_qp_init_attr_ex,
) -> *mut ibv_qp {
    // SAFETY: the caller says `attr` is valid.
    let (mask, pd) = unsafe { ((*attr).comp_mask, (*attr).pd) };
    if mask == IBV_QP_INIT_ATTR_PD {
        // SAFETY: the extended attributes start with the fields of the plain ones.
        return unsafe { ibv_create_qp(pd, attr.cast::<ibv_qp_init_attr>()) };
    }
    // SAFETY: the caller says `context` is live.
    match unsafe { extended_op!(context, create_qp_ex) } {
        // SAFETY: the caller vouches for the arguments; the entry is the provider's own.
        Some(create) => unsafe { create(context, attr) },
        None => {
            // SAFETY: errno's location is valid for this thread.
            unsafe { *libc::__errno_location() = libc::EOPNOTSUPP };
            ptr::null_mut()
        }
    }
}

/// Reads a device's extended attributes. On a device without them, the
/// extended part is zero.
///
/// Returns 0 or an `errno` value.
///
/// # Safety
///
/// - `context` is a live device context.
/// - `input` is null or valid.
/// - `attr` may be written to.
#[inline]
pub unsafe fn ibv_query_device_ex(
    context: *mut ibv_context,
    input: *const ibv_query_device_ex_input,
    attr: *mut ibv_device_attr_ex,
) -> c_int {
    // SAFETY: the caller says `input` is null or valid.
    if unsafe { input.as_ref() }.is_some_and(|input| input.comp_mask != 0) {
        return libc::EINVAL;
    }
    // SAFETY: the caller says `context` is live.
    if let Some(query) = unsafe { extended_op!(context, query_device_ex) } {
        // SAFETY: the caller vouches for the arguments, the size is that of `attr`.
        let result = unsafe { query(context, input, attr, size_of::<ibv_device_attr_ex>()) };
        if result != libc::EOPNOTSUPP && result != libc::ENOSYS {
            return result;
        }
    }
    // SAFETY: `attr` may be written to; zero bytes are valid for its integers.
    unsafe { attr.write_bytes(0, 1) };
    // SAFETY: as above; the plain attributes are a field of `attr`.
    unsafe { ibv_query_device(context, &raw mut (*attr).orig_attr) }
}
