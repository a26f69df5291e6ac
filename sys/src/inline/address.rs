//! The addresses inside an `rdma_cm_id`.

use libc::sockaddr;

use crate::rdma_cm_id;

/// The local address of a connection manager identifier: a `sockaddr_in`,
/// `sockaddr_in6` or `sockaddr_ib`, as its family says.
///
/// # Safety
///
/// `id` is a live identifier.
#[inline]
pub unsafe fn rdma_get_local_addr(id: *mut rdma_cm_id) -> *mut sockaddr {
    // SAFETY: a place inside the live identifier; every member of the union starts it.
    unsafe { (&raw mut (*id).route.addr.__bindgen_anon_1).cast() }
}

/// The peer's address of a connection manager identifier: a `sockaddr_in`,
/// `sockaddr_in6` or `sockaddr_ib`, as its family says.
///
/// # Safety
///
/// `id` is a live identifier.
#[inline]
pub unsafe fn rdma_get_peer_addr(id: *mut rdma_cm_id) -> *mut sockaddr {
    // SAFETY: a place inside the live identifier; every member of the union starts it.
    unsafe { (&raw mut (*id).route.addr.__bindgen_anon_2).cast() }
}
