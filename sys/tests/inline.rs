//! The inline calls, through a context whose operations are written here.
#![allow(
    clippy::missing_safety_doc,
    reason = "each stands for an operation of a provider, and asks for the same"
)]

use std::ffi::c_int;
use std::mem::{offset_of, size_of};
use std::ptr;

use verbcast_sys::*;

/// A context as libibverbs lays it out, without any operation.
fn context() -> Box<verbs_context> {
    let mut extended = Box::new(verbs_context::default());
    extended.sz = size_of::<verbs_context>();
    extended.context.abi_compat = ptr::without_provenance_mut(usize::MAX);
    extended
}

/// The plain context inside, with the right to reach around it.
fn plain(extended: &mut verbs_context) -> *mut ibv_context {
    (&raw mut *extended).wrapping_byte_add(offset_of!(verbs_context, context)).cast()
}

fn errno() -> Option<c_int> {
    std::io::Error::last_os_error().raw_os_error()
}

unsafe extern "C" fn post_send(
    qp: *mut ibv_qp,
    wr: *mut ibv_send_wr,
    bad_wr: *mut *mut ibv_send_wr,
) -> c_int {
    // SAFETY: the tests pass a queue pair, a work request and a place for one.
    unsafe {
        (*wr).wr_id += u64::from((*qp).qp_num);
        *bad_wr = (*wr).next;
    }
    11
}

unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: as in `post_send`.
    unsafe {
        (*wr).wr_id += u64::from((*qp).qp_num);
        *bad_wr = (*wr).next;
    }
    12
}

unsafe extern "C" fn post_srq_recv(
    srq: *mut ibv_srq,
    wr: *mut ibv_recv_wr,
    bad_wr: *mut *mut ibv_recv_wr,
) -> c_int {
    // SAFETY: as in `post_send`.
    unsafe {
        (*wr).wr_id += u64::from((*srq).handle);
        *bad_wr = (*wr).next;
    }
    13
}

#[test]
fn posts_go_to_their_operations() {
    let mut extended = context();
    let context = plain(&mut extended);
    let mut qp = ibv_qp { context, qp_num: 100, ..Default::default() };
    let mut srq = ibv_srq { context, handle: 200, ..Default::default() };
    let mut next_send = ibv_send_wr::default();
    let mut send = ibv_send_wr { wr_id: 1, next: &raw mut next_send, ..Default::default() };
    let mut next_recv = ibv_recv_wr::default();
    let mut recv = ibv_recv_wr { wr_id: 2, next: &raw mut next_recv, ..Default::default() };
    let (mut bad_send, mut bad_recv) = (ptr::null_mut(), ptr::null_mut());

    // SAFETY: everything passed lives in this test.
    unsafe {
        assert_eq!(ibv_post_send(&raw mut qp, &raw mut send, &raw mut bad_send), libc::EOPNOTSUPP);
        assert_eq!(bad_send, &raw mut send);
        assert_eq!(ibv_post_recv(&raw mut qp, &raw mut recv, &raw mut bad_recv), libc::EOPNOTSUPP);
        assert_eq!(bad_recv, &raw mut recv);
        bad_recv = ptr::null_mut();
        let result = ibv_post_srq_recv(&raw mut srq, &raw mut recv, &raw mut bad_recv);
        assert_eq!(result, libc::EOPNOTSUPP);
        assert_eq!(bad_recv, &raw mut recv);

        (*context).ops.post_send = Some(post_send);
        (*context).ops.post_recv = Some(post_recv);
        (*context).ops.post_srq_recv = Some(post_srq_recv);
        assert_eq!(ibv_post_send(&raw mut qp, &raw mut send, &raw mut bad_send), 11);
        assert_eq!((send.wr_id, bad_send), (101, &raw mut next_send));
        assert_eq!(ibv_post_recv(&raw mut qp, &raw mut recv, &raw mut bad_recv), 12);
        assert_eq!((recv.wr_id, bad_recv), (102, &raw mut next_recv));
        assert_eq!(ibv_post_srq_recv(&raw mut srq, &raw mut recv, &raw mut bad_recv), 13);
        assert_eq!((recv.wr_id, bad_recv), (302, &raw mut next_recv));
    }
}

unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, num_entries: c_int, wc: *mut ibv_wc) -> c_int {
    // SAFETY: the test passes a completion queue and room for the entries.
    unsafe {
        for entry in 0..num_entries {
            (*wc.add(entry.cast_unsigned() as usize)).wr_id = u64::from((*cq).handle);
        }
    }
    num_entries
}

unsafe extern "C" fn req_notify_cq(cq: *mut ibv_cq, solicited_only: c_int) -> c_int {
    // SAFETY: the test passes a completion queue.
    unsafe { (*cq).handle.cast_signed() + solicited_only }
}

#[test]
fn completion_calls_go_to_their_operations() {
    let mut extended = context();
    let context = plain(&mut extended);
    let mut cq = ibv_cq { context, handle: 7, ..Default::default() };
    let mut completions = [ibv_wc::default(); 2];

    // SAFETY: everything passed lives in this test.
    unsafe {
        assert!(ibv_poll_cq(&raw mut cq, 2, completions.as_mut_ptr()) < 0);
        assert_eq!(ibv_req_notify_cq(&raw mut cq, 0), libc::EOPNOTSUPP);

        (*context).ops.poll_cq = Some(poll_cq);
        (*context).ops.req_notify_cq = Some(req_notify_cq);
        assert_eq!(ibv_poll_cq(&raw mut cq, 2, completions.as_mut_ptr()), 2);
        assert_eq!(ibv_req_notify_cq(&raw mut cq, 1), 8);
    }
    assert_eq!(completions.map(|it| it.wr_id), [7, 7]);
}

unsafe extern "C" fn query_port(
    _context: *mut ibv_context,
    port_num: u8,
    attr: *mut ibv_port_attr,
    length: usize,
) -> c_int {
    // SAFETY: the test passes a place for the attributes.
    unsafe { *attr = ibv_port_attr { lid: port_num.into(), ..Default::default() } };
    length as c_int
}

#[test]
fn query_port_prefers_the_extended_operation() {
    let mut extended = context();
    extended.query_port = Some(query_port);
    let mut attr = ibv_port_attr::default();
    // SAFETY: everything passed lives in this test.
    let result = unsafe { ibv_query_port(plain(&mut extended), 3, &raw mut attr) };
    assert_eq!(result, size_of::<ibv_port_attr>() as c_int);
    assert_eq!(attr.lid, 3);
}

unsafe extern "C" fn create_qp_ex(
    context: *mut ibv_context,
    _attr: *mut ibv_qp_init_attr_ex,
) -> *mut ibv_qp {
    context.cast() // stands for a queue pair
}

#[test]
fn extended_operations_need_a_context_that_reaches_them() {
    let mut extended = context();
    let context = plain(&mut extended);
    let comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    let mut attr = ibv_qp_init_attr_ex { comp_mask, ..Default::default() };
    // SAFETY: everything passed lives in this test.
    let mut create = |it| unsafe { ibv_create_qp_ex(it, &raw mut attr) };

    assert!(create(context).is_null(), "the entry is empty");
    assert_eq!(errno(), Some(libc::EOPNOTSUPP));
    // SAFETY: `context` lies in `extended`, which lives, as do the places written.
    unsafe {
        let extended = verbs_get_ctx(context);
        (*extended).create_qp_ex = Some(create_qp_ex);
        assert_eq!(create(context), context.cast());

        let reach = size_of::<verbs_context>() - offset_of!(verbs_context, create_qp_ex);
        (*extended).sz = reach - 1;
        assert!(create(context).is_null(), "the context is too short");
        (*extended).sz = reach;
        assert_eq!(create(context), context.cast());

        (*context).abi_compat = ptr::null_mut();
        assert!(create(context).is_null(), "the context is not an extended one");
    }
}

unsafe extern "C" fn query_device_ex(
    _context: *mut ibv_context,
    _input: *const ibv_query_device_ex_input,
    attr: *mut ibv_device_attr_ex,
    size: usize,
) -> c_int {
    // SAFETY: the test passes a place for the attributes.
    unsafe { (*attr).orig_attr.max_qp = size as c_int };
    libc::EBUSY
}

#[test]
fn query_device_ex_passes_the_size_and_checks_the_input() {
    let mut extended = context();
    extended.query_device_ex = Some(query_device_ex);
    let context = plain(&mut extended);
    let mut attr = ibv_device_attr_ex::default();
    let unknown = ibv_query_device_ex_input { comp_mask: 1 };
    // SAFETY: everything passed lives in this test.
    unsafe {
        assert_eq!(ibv_query_device_ex(context, ptr::null(), &raw mut attr), libc::EBUSY);
        assert_eq!(ibv_query_device_ex(context, &raw const unknown, &raw mut attr), libc::EINVAL);
    }
    assert_eq!(attr.orig_attr.max_qp, size_of::<ibv_device_attr_ex>() as c_int);
}

#[test]
fn addresses_are_those_of_the_identifier() {
    let mut id = rdma_cm_id::default();
    let base = (&raw mut id).addr();
    // SAFETY: `id` lives in this test.
    unsafe {
        let (local, peer) = (rdma_get_local_addr(&raw mut id), rdma_get_peer_addr(&raw mut id));
        assert_eq!(local.addr() - base, offset_of!(rdma_cm_id, route.addr.__bindgen_anon_1));
        assert_eq!(peer.addr() - base, offset_of!(rdma_cm_id, route.addr.__bindgen_anon_2));
    }
}
