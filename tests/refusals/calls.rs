//! The functions with a symbol, in place of the libraries'.

#![allow(clashing_extern_declarations, reason = "they have the libraries' names")]
#![allow(clippy::unused_unit, reason = "some functions give nothing")]

use crate::{ledger, operations, real};
use libc::{c_int, c_void, sockaddr};
use std::ptr::null_mut;
use std::sync::OnceLock;
use verbcast_sys::*;

/// Sets `errno` to that of what is refused here, and is it.
fn io_error() -> c_int {
    // SAFETY: errno's location is valid for this thread.
    unsafe { *libc::__errno_location() = libc::EIO };
    libc::EIO
}

/// A function that is passed on to the library's own.
macro_rules! passed {
    ($name:ident, ($($argument:ident: $kind:ty),*) -> $answer:ty, |$refused:pat_param| $refusal:expr, |$got:ident| $then:expr) => {
        /// # Safety
        /// As for the library's function of that name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $answer {
            static FOUND: OnceLock<usize> = OnceLock::new();
            let name = concat!(stringify!($name), "\0").as_bytes();
            let address = real::find(&FOUND, std::ffi::CStr::from_bytes_with_nul(name).unwrap());
            // SAFETY: the library's function of that name has this type, and the caller keeps to its conditions.
            let call = || unsafe {
                let function =
                    std::mem::transmute::<usize, unsafe extern "C" fn($($kind),*) -> $answer>(address);
                function($($argument),*)
            };
            if real::is_inside() {
                return call();
            }
            if ledger::refuses(stringify!($name)) {
                let $refused = io_error();
                return $refusal;
            }
            let $got = real::inside(call);
            $then;
            $got
        }
    };
}

/// One that makes something, or gives a null pointer.
macro_rules! makes {
    ($name:ident, ($($argument:ident: $kind:ty),*) -> $answer:ty, $made:literal) => {
        passed!($name, ($($argument: $kind),*) -> $answer, |_| null_mut(), |got| if !got.is_null() {
            ledger::count($made, 1);
        });
    };
}

/// One that gives 0 or an error's number.
macro_rules! answers {
    ($name:ident, ($($argument:ident: $kind:ty),*)) => {
        passed!($name, ($($argument: $kind),*) -> c_int, |error| error, |got| ());
    };
}

/// One that gives 0 or an error's number, and ends something.
macro_rules! ends {
    ($name:ident, ($($argument:ident: $kind:ty),*), $ended:literal) => {
        passed!($name, ($($argument: $kind),*) -> c_int, |error| error, |got| if got == 0 {
            ledger::count($ended, -1);
        });
    };
}

/// One that gives 0 or -1 with `errno` set.
macro_rules! says {
    ($name:ident, ($($argument:ident: $kind:ty),*)) => {
        passed!($name, ($($argument: $kind),*) -> c_int, |_| -1, |got| ());
    };
}

makes!(ibv_get_device_list, (count: *mut c_int) -> *mut *mut ibv_device, "list");
passed!(ibv_free_device_list, (list: *mut *mut ibv_device) -> (), |_| (), |got| ledger::count("list", -1));
passed!(ibv_open_device, (device: *mut ibv_device) -> *mut ibv_context, |_| null_mut(), |got| {
    if !got.is_null() {
        ledger::count("context", 1);
        // SAFETY: it was opened right now, and nobody else knows it yet.
        unsafe { operations::replace(got) };
    }
});
ends!(ibv_close_device, (context: *mut ibv_context), "context");
makes!(ibv_alloc_pd, (context: *mut ibv_context) -> *mut ibv_pd, "protection domain");
ends!(ibv_dealloc_pd, (pd: *mut ibv_pd), "protection domain");
makes!(ibv_reg_mr, (pd: *mut ibv_pd, address: *mut c_void, len: usize, access: c_int) -> *mut ibv_mr, "registration");
ends!(ibv_dereg_mr, (mr: *mut ibv_mr), "registration");
makes!(ibv_create_comp_channel, (context: *mut ibv_context) -> *mut ibv_comp_channel, "completion channel");
ends!(ibv_destroy_comp_channel, (channel: *mut ibv_comp_channel), "completion channel");
makes!(
    ibv_create_cq,
    (context: *mut ibv_context, cqe: c_int, data: *mut c_void, channel: *mut ibv_comp_channel, vector: c_int) -> *mut ibv_cq,
    "completion queue"
);
ends!(ibv_destroy_cq, (cq: *mut ibv_cq), "completion queue");
makes!(ibv_create_srq, (pd: *mut ibv_pd, init: *mut ibv_srq_init_attr) -> *mut ibv_srq, "shared receive queue");
ends!(ibv_destroy_srq, (srq: *mut ibv_srq), "shared receive queue");
makes!(ibv_create_qp, (pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp, "queue pair");
ends!(ibv_destroy_qp, (qp: *mut ibv_qp), "queue pair");
makes!(ibv_create_ah, (pd: *mut ibv_pd, attr: *mut ibv_ah_attr) -> *mut ibv_ah, "address handle");
ends!(ibv_destroy_ah, (ah: *mut ibv_ah), "address handle");
answers!(ibv_query_device, (context: *mut ibv_context, attr: *mut ibv_device_attr));
says!(ibv_query_gid, (context: *mut ibv_context, port: u8, index: c_int, gid: *mut ibv_gid));
says!(ibv_query_pkey, (context: *mut ibv_context, port: u8, index: c_int, pkey: *mut u16));
answers!(ibv_modify_qp, (qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int));
answers!(ibv_attach_mcast, (qp: *mut ibv_qp, gid: *const ibv_gid, lid: u16));
answers!(ibv_detach_mcast, (qp: *mut ibv_qp, gid: *const ibv_gid, lid: u16));
answers!(ibv_resize_cq, (cq: *mut ibv_cq, cqe: c_int));
says!(ibv_get_async_event, (context: *mut ibv_context, event: *mut ibv_async_event));
says!(ibv_get_cq_event, (channel: *mut ibv_comp_channel, cq: *mut *mut ibv_cq, data: *mut *mut c_void));
makes!(rdma_create_event_channel, () -> *mut rdma_event_channel, "event channel");
passed!(
    rdma_destroy_event_channel,
    (channel: *mut rdma_event_channel) -> (),
    |_| (),
    |got| ledger::count("event channel", -1)
);
passed!(
    rdma_create_id,
    (channel: *mut rdma_event_channel, id: *mut *mut rdma_cm_id, context: *mut c_void, space: rdma_port_space) -> c_int,
    |_| -1,
    |got| if got == 0 {
        ledger::count("identifier", 1);
    }
);
passed!(rdma_destroy_id, (id: *mut rdma_cm_id) -> c_int, |_| -1, |got| if got == 0 {
    ledger::count("identifier", -1);
});
says!(rdma_bind_addr, (id: *mut rdma_cm_id, address: *mut sockaddr));
says!(rdma_join_multicast, (id: *mut rdma_cm_id, address: *mut sockaddr, context: *mut c_void));
says!(rdma_leave_multicast, (id: *mut rdma_cm_id, address: *mut sockaddr));
says!(rdma_get_cm_event, (channel: *mut rdma_event_channel, event: *mut *mut rdma_cm_event));
