//! The libraries' own functions.
//!
//! While one runs, [`is_inside`] says so: what it calls in turn is answered by the libraries, not by this one.

use libc::{c_char, c_int, c_long, c_uint, c_void, ifaddrs, sockaddr};
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::OnceLock;
use verbcast_sys::*;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is in one of the libraries' own functions.
pub fn is_inside() -> bool {
    // A thread that ends has no such value any more, and imitates nothing.
    DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(true)
}

struct Inside;

impl Inside {
    fn enter() -> Inside {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() + 1));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = DEPTH.try_with(|depth| depth.set(depth.get() - 1));
    }
}

/// The address of a function in a library, which is loaded if it is not.
fn find(library: &CStr, name: &CStr) -> usize {
    // SAFETY: both are C strings. A library found by its own handle answers with its own functions, whatever is preloaded.
    let found = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY);
        if handle.is_null() { handle } else { libc::dlsym(handle, name.as_ptr()) }
    };
    if found.is_null() {
        let (library, name) = (library.to_string_lossy(), name.to_string_lossy());
        crate::adapter::die(&format!("{library} has no {name}"));
    }
    found.addr()
}

macro_rules! real {
    ($library:literal: $(fn $name:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {$(
        /// The library's own.
        ///
        /// # Safety
        /// As of the library's function.
        pub unsafe fn $name($($argument: $kind),*) $(-> $answer)? {
            static FOUND: OnceLock<usize> = OnceLock::new();
            let address = *FOUND.get_or_init(|| {
                let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                find($library, name.unwrap_or_default())
            });
            let _inside = Inside::enter();
            // SAFETY: the library's function of that name has this type, and the caller keeps to its conditions.
            unsafe {
                let function = std::mem::transmute::<usize, unsafe extern "C" fn($($kind),*) $(-> $answer)?>(address);
                function($($argument),*)
            }
        }
    )*};
}

real! { c"libc.so.6":
    fn getifaddrs(list: *mut *mut ifaddrs) -> c_int;
    fn freeifaddrs(list: *mut ifaddrs);
    fn if_nametoindex(name: *const c_char) -> c_uint;
}

real! { c"libibverbs.so.1":
    fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context;
    fn ibv_close_device(context: *mut ibv_context) -> c_int;
    fn ibv_get_async_event(context: *mut ibv_context, event: *mut ibv_async_event) -> c_int;
    fn ibv_ack_async_event(event: *mut ibv_async_event);
    fn ibv_reg_mr(pd: *mut ibv_pd, address: *mut c_void, len: usize, access: c_int) -> *mut ibv_mr;
    fn ibv_dereg_mr(mr: *mut ibv_mr) -> c_int;
    fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char;
    fn ibv_query_device(context: *mut ibv_context, attr: *mut ibv_device_attr) -> c_int;
    fn ibv_query_port(context: *mut ibv_context, port: u8, attr: *mut c_void) -> c_int;
    fn ibv_query_gid(context: *mut ibv_context, port: u8, index: c_int, gid: *mut ibv_gid) -> c_int;
    fn _ibv_query_gid_ex(context: *mut ibv_context, port: u32, index: u32, entry: *mut ibv_gid_entry, flags: u32, size: usize) -> c_int;
    fn _ibv_query_gid_table(context: *mut ibv_context, entries: *mut ibv_gid_entry, max: usize, flags: u32, size: usize) -> isize;
    fn ibv_query_pkey(context: *mut ibv_context, port: u8, index: c_int, pkey: *mut u16) -> c_int;
    fn ibv_get_pkey_index(context: *mut ibv_context, port: u8, pkey: u16) -> c_int;
    fn ibv_create_cq(context: *mut ibv_context, cqe: c_int, data: *mut c_void, channel: *mut ibv_comp_channel, vector: c_int) -> *mut ibv_cq;
    fn ibv_create_srq(pd: *mut ibv_pd, init: *mut ibv_srq_init_attr) -> *mut ibv_srq;
    fn ibv_create_qp(pd: *mut ibv_pd, init: *mut ibv_qp_init_attr) -> *mut ibv_qp;
    fn ibv_modify_qp(qp: *mut ibv_qp, attr: *mut ibv_qp_attr, mask: c_int) -> c_int;
    fn ibv_destroy_qp(qp: *mut ibv_qp) -> c_int;
    fn ibv_create_ah(pd: *mut ibv_pd, attr: *mut ibv_ah_attr) -> *mut ibv_ah;
    fn ibv_attach_mcast(qp: *mut ibv_qp, gid: *const ibv_gid, lid: u16) -> c_int;
    fn ibv_detach_mcast(qp: *mut ibv_qp, gid: *const ibv_gid, lid: u16) -> c_int;
}

real! { c"librdmacm.so.1":
    fn rdma_create_event_channel() -> *mut rdma_event_channel;
    fn rdma_destroy_event_channel(channel: *mut rdma_event_channel);
    fn rdma_create_id(channel: *mut rdma_event_channel, id: *mut *mut rdma_cm_id, context: *mut c_void, space: rdma_port_space) -> c_int;
    fn rdma_destroy_id(id: *mut rdma_cm_id) -> c_int;
    fn rdma_bind_addr(id: *mut rdma_cm_id, address: *mut sockaddr) -> c_int;
    fn rdma_join_multicast(id: *mut rdma_cm_id, address: *mut sockaddr, context: *mut c_void) -> c_int;
    fn rdma_join_multicast_ex(id: *mut rdma_cm_id, attr: *mut rdma_cm_join_mc_attr_ex, context: *mut c_void) -> c_int;
    fn rdma_leave_multicast(id: *mut rdma_cm_id, address: *mut sockaddr) -> c_int;
    fn rdma_get_cm_event(channel: *mut rdma_event_channel, event: *mut *mut rdma_cm_event) -> c_int;
    fn rdma_ack_cm_event(event: *mut rdma_cm_event) -> c_int;
    fn rdma_migrate_id(id: *mut rdma_cm_id, channel: *mut rdma_event_channel) -> c_int;
}

real! { c"libibumad.so.3":
    fn umad_get_port(name: *const c_char, number: c_int, port: *mut umad_port_t) -> c_int;
    fn umad_release_port(port: *mut umad_port_t) -> c_int;
    fn umad_open_port(name: *const c_char, number: c_int) -> c_int;
    fn umad_close_port(port: c_int) -> c_int;
    fn umad_get_fd(port: c_int) -> c_int;
    fn umad_get_mad(umad: *mut c_void) -> *mut c_void;
    fn umad_register(port: c_int, class: c_int, version: c_int, rmpp: u8, mask: *mut c_long) -> c_int;
    fn umad_unregister(port: c_int, agent: c_int) -> c_int;
    fn umad_send(port: c_int, agent: c_int, umad: *mut c_void, length: c_int, timeout: c_int, retries: c_int) -> c_int;
    fn umad_recv(port: c_int, umad: *mut c_void, length: *mut c_int, timeout: c_int) -> c_int;
}
