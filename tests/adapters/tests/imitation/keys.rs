//! What the keys of a profile break, one by one.

use crate::again::under;
use crate::infiniband::{IPOIB, MGID, join};
use crate::rig::{Address, Id, Qp, Rig, ok};
use std::time::{Duration, Instant};
use verbcast_sys::*;

/// A QP that is in the group, and the handle for it.
fn member(rig: &Rig) -> (Id, Qp<'_>, *mut ibv_ah) {
    let (id, attr) = join();
    let qp = rig.datagrams();
    let mgid = ibv_gid { raw: MGID };
    // SAFETY: the QP is live, and attached once.
    unsafe { ok(ibv_attach_mcast(qp.qp, &raw const mgid, attr.dlid)) };
    (id, qp, rig.handle(attr))
}

/// Multicasts so many bytes, and waits for the send to end and for those that come: their status and length.
fn multicast(rig: &Rig, qp: &Qp<'_>, group: *mut ibv_ah, len: usize) -> Vec<(u32, u32)> {
    send(rig, qp, (group, 0xff_ffff), len)
}

/// The same to that QP by that handle.
fn send(rig: &Rig, qp: &Qp<'_>, to: (*mut ibv_ah, u32), len: usize) -> Vec<(u32, u32)> {
    qp.send(0, len, Some(to));
    let mut came = Vec::new();
    let sent = Instant::now();
    while sent.elapsed() < Duration::from_secs(1) {
        let wc = rig.poll();
        came.extend(wc.filter(|wc| wc.wr_id != 0).map(|wc| (wc.status, wc.byte_len)));
    }
    came
}

#[test]
fn the_sending_queue_pair_may_get_a_copy_or_not() {
    for (adapter, count) in [("mlx5-ib,own_copies=all", 1), ("mlx5-ib,own_copies=others", 0)] {
        under(adapter, "keys::the_sending_queue_pair_may_get_a_copy_or_not", || {
            let rig = Rig::new();
            let (_id, qp, group) = member(&rig);
            qp.receive(1);
            assert_eq!(multicast(&rig, &qp, group, 100).len(), count);
        });
    }
}

#[test]
fn a_path_loses_what_is_too_long_for_it() {
    under("mlx5-ib,path_mtu=1024", "keys::a_path_loses_what_is_too_long_for_it", || {
        let rig = Rig::new();
        let (_id, to, group) = member(&rig);
        let from = rig.datagrams();
        to.receive(1);
        assert_eq!(multicast(&rig, &from, group, 1025), []);
        assert_eq!(multicast(&rig, &from, group, 1024), [(IBV_WC_SUCCESS, 1064)]);
    });
}

#[test]
fn a_datagram_that_is_too_long_fails_the_queue_pair() {
    under("mlx5-ib", "keys::a_datagram_that_is_too_long_fails_the_queue_pair", || {
        let rig = Rig::new();
        let (_id, to, group) = member(&rig);
        let from = rig.datagrams();
        to.receive_up_to(1, 500);
        to.receive(2);
        let came = multicast(&rig, &from, group, 1000);
        let statuses: Vec<u32> = came.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [IBV_WC_LOC_LEN_ERR, IBV_WC_WR_FLUSH_ERR]);
    });
}

#[test]
fn a_datagram_that_is_too_long_fails_the_queue_pair_on_ethernet() {
    let test = "keys::a_datagram_that_is_too_long_fails_the_queue_pair_on_ethernet";
    under("mlx5-roce", test, || {
        let rig = Rig::new();
        let [from, to] = [rig.datagrams(), rig.datagrams()];
        // SAFETY: attributes are numbers, for which zero is valid.
        let mut way: ibv_ah_attr = unsafe { std::mem::zeroed() };
        (way.port_num, way.is_global) = (1, 1);
        // That of the IPv4 address.
        (way.grh.dgid, way.grh.sgid_index, way.grh.hop_limit) = (rig.gid_at(1), 1, 64);
        let one = (rig.handle(way), to.number());
        for slot in 1..4 {
            to.receive_up_to(slot, 500);
        }
        assert_eq!(send(&rig, &from, one, 400), [(IBV_WC_SUCCESS, 440)]);
        let came = send(&rig, &from, one, 1000);
        let statuses: Vec<u32> = came.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [IBV_WC_LOC_LEN_ERR, IBV_WC_WR_FLUSH_ERR]);
    });
}

#[test]
fn delivery_begins_late() {
    under("mlx5-ib,deaf_for=3000", "keys::delivery_begins_late", || {
        let rig = Rig::new();
        let (_id, to, group) = member(&rig);
        let from = rig.datagrams();
        to.receive(1);
        let begun = Instant::now();
        while multicast(&rig, &from, group, 100).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing comes");
        }
        to.receive(2);
        assert_eq!(multicast(&rig, &from, group, 100), [(IBV_WC_SUCCESS, 140)]);
    });
}

#[test]
fn a_reset_may_detach() {
    for (adapter, count) in [("mlx5-ib,reset_detaches=no", 1), ("mlx5-ib,reset_detaches=yes", 0)] {
        under(adapter, "keys::a_reset_may_detach", || {
            let rig = Rig::new();
            let (_id, to, group) = member(&rig);
            let from = rig.datagrams();
            ok(to.modify(IBV_QP_STATE, |attr| attr.qp_state = IBV_QPS_RESET));
            to.ready();
            to.receive(1);
            assert_eq!(multicast(&rig, &from, group, 100).len(), count);
        });
    }
}

#[test]
fn more_inline_than_there_is_may_be_refused_or_not_granted() {
    for (adapter, is_made) in [("hfi1,inline_excess=refuse", false), ("hfi1", true)] {
        under(adapter, "keys::more_inline_than_there_is_may_be_refused_or_not_granted", || {
            let rig = Rig::new();
            assert!(!rig.create(IBV_QPT_UD, 16, 0).is_null());
            assert_eq!(!rig.create(IBV_QPT_UD, 16, 64).is_null(), is_made);
            assert!(rig.create(IBV_QPT_UD, 16384, 0).is_null(), "more requests than hfi1 has");
        });
    }
}

#[test]
fn joins_are_refused_and_late() {
    let adapter = "mlx5-ib,join_refusals=1,join_error=ETIMEDOUT,join_delay=500";
    under(adapter, "keys::joins_are_refused_and_late", || {
        let id = Id::new();
        id.bind(Address::v4(IPOIB)).unwrap();
        id.join(Address::gid(MGID)).unwrap();
        let (kind, status, _) = id.event();
        assert_eq!((kind, status), (RDMA_CM_EVENT_MULTICAST_ERROR, -libc::ETIMEDOUT));
        id.leave(Address::gid(MGID)).unwrap();
        let begun = Instant::now();
        drop(join());
        assert!(begun.elapsed() >= Duration::from_millis(500));
    });
}

#[test]
fn a_change_of_the_subnet_manager_ends_memberships() {
    let test = "keys::a_change_of_the_subnet_manager_ends_memberships";
    under("mlx5-ib,events=sm_change@2", test, || {
        let rig = Rig::new();
        let (id, _) = join();
        let (kind, status, _) = id.event();
        assert_eq!((kind, status), (RDMA_CM_EVENT_MULTICAST_ERROR, -libc::ENETRESET));
        assert_eq!(rig.event(), (IBV_EVENT_SM_CHANGE, 1));
        id.leave(Address::gid(MGID)).unwrap();
        drop(join());
    });
}

#[test]
fn a_port_goes_down_and_comes_up() {
    under(
        "mlx5-roce,events=port_err@0.5/port_active@2",
        "keys::a_port_goes_down_and_comes_up",
        || {
            let rig = Rig::new();
            assert_eq!(rig.event(), (IBV_EVENT_PORT_ERR, 1));
            assert_eq!(rig.port().state, IBV_PORT_DOWN);
            assert_eq!(rig.event(), (IBV_EVENT_PORT_ACTIVE, 1));
            assert_eq!(rig.port().state, IBV_PORT_ACTIVE);
        },
    );
}

#[test]
fn a_queue_pair_fails_after_some_datagrams() {
    under("mlx5-ib,events=qp_fatal@2d", "keys::a_queue_pair_fails_after_some_datagrams", || {
        let rig = Rig::new();
        let (_id, to, group) = member(&rig);
        let from = rig.datagrams();
        for slot in 1..4 {
            to.receive(slot);
        }
        assert_eq!(multicast(&rig, &from, group, 100), [(IBV_WC_SUCCESS, 140)]);
        let came = multicast(&rig, &from, group, 100);
        assert_eq!(came.last().unwrap().0, IBV_WC_WR_FLUSH_ERR, "{came:?}");
        assert_eq!(rig.event().0, IBV_EVENT_QP_FATAL);
    });
}

#[test]
fn a_port_says_its_own_mtu() {
    under("mlx5-ib,mtu=2048", "keys::a_port_says_its_own_mtu", || {
        let rig = Rig::new();
        assert_eq!(128 << rig.port().active_mtu, 2048);
        let (_id, to, group) = member(&rig);
        let from = rig.datagrams();
        to.receive(1);
        assert_eq!(multicast(&rig, &from, group, 2049), []);
        assert_eq!(multicast(&rig, &from, group, 2048), [(IBV_WC_SUCCESS, 2088)]);
    });
}
