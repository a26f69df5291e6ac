//! InfiniBand over SoftRoCE: LIDs, MGIDs, IPoIB.

use crate::again::under;
use crate::rig::{Address, Id, Rig, ok};
use std::mem::zeroed;
use std::ptr::null_mut;
use verbcast_sys::*;

pub const MGID: [u8; 16] = [0xff, 0x12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
/// The first device's IPoIB interface.
pub const IPOIB: [u8; 4] = [10, 77, 0, 1];

/// An id that is in the group, and where the group's datagrams go.
pub fn join() -> (Id, ibv_ah_attr) {
    let id = Id::new();
    id.bind(Address::v4(IPOIB)).unwrap();
    id.join(Address::gid(MGID)).unwrap();
    let (kind, status, attr) = id.event();
    assert_eq!((kind, status), (RDMA_CM_EVENT_MULTICAST_JOIN, 0));
    (id, attr)
}

#[test]
fn a_port_has_a_lid_and_one_gid() {
    under("mlx5-ib", "infiniband::a_port_has_a_lid_and_one_gid", || {
        let rig = Rig::new();
        let port = rig.port();
        assert_eq!((u32::from(port.link_layer), port.lid), (IBV_LINK_LAYER_INFINIBAND, 1));
        assert_eq!((port.gid_tbl_len, port.pkey_tbl_len), (1, 1));
        // SAFETY: the union's bytes.
        assert_eq!(unsafe { rig.gid().raw }[..2], [0xfe, 0x80]);
    });
}

#[test]
fn an_ipoib_interface_ends_with_the_gid() {
    under("mlx5-ib,ipoib_pkey=0x8001", "infiniband::an_ipoib_interface_ends_with_the_gid", || {
        // SAFETY: a list of interfaces, freed once.
        unsafe {
            // SAFETY: the union's bytes.
            let gid = Rig::new().gid().raw;
            let mut list = null_mut();
            ok(libc::getifaddrs(&raw mut list));
            let (mut found, mut next) = (0, list);
            while let Some(entry) = next.as_ref() {
                next = entry.ifa_next;
                let Some(address) = entry.ifa_addr.cast::<libc::sockaddr_ll>().as_ref() else {
                    continue;
                };
                if i32::from(address.sll_family) == libc::AF_PACKET && address.sll_hatype == 32 {
                    let bytes = |link: *const libc::sockaddr| {
                        link.cast::<u8>().add(12).cast::<[u8; 20]>().read_unaligned()
                    };
                    assert_eq!(bytes(entry.ifa_addr)[4..], gid);
                    assert_eq!(bytes(entry.ifa_ifu)[8..10], [0x80, 0x01]);
                    let index = libc::if_nametoindex(entry.ifa_name);
                    assert_eq!(i64::from(index), i64::from(address.sll_ifindex));
                    found += 1;
                }
            }
            libc::freeifaddrs(list);
            assert_eq!(found, 1);
        }
    });
}

#[test]
fn a_join_needs_the_ipoib_interface() {
    under("mlx5-ib", "infiniband::a_join_needs_the_ipoib_interface", || {
        let id = Id::new();
        // SAFETY: the union's bytes.
        id.bind(Address::gid(unsafe { Rig::new().gid().raw })).unwrap();
        assert_eq!(id.join(Address::gid(MGID)), Err(libc::EADDRNOTAVAIL));
        let id = Id::new();
        assert_eq!(id.bind(Address::v4([10, 9, 0, 1])), Err(libc::ENODEV));
        let (id, attr) = join();
        assert!(attr.dlid >= 0xc000 && attr.is_global == 1, "{:#x}", attr.dlid);
        // SAFETY: the union's bytes.
        assert_eq!(unsafe { attr.grh.dgid.raw }, MGID);
        id.leave(Address::gid(MGID)).unwrap();
    });
}

#[test]
fn a_join_fails_while_ipoib_is_down() {
    under("mlx5-ib,ipoib=down", "infiniband::a_join_fails_while_ipoib_is_down", || {
        let id = Id::new();
        id.bind(Address::v4(IPOIB)).unwrap();
        assert_eq!(id.join(Address::gid(MGID)), Err(libc::EADDRNOTAVAIL));
    });
}

#[test]
fn datagrams_come_by_mgid_and_by_lid() {
    under("mlx5-ib", "infiniband::datagrams_come_by_mgid_and_by_lid", || {
        let rig = Rig::new();
        let (_id, attr) = join();
        let [from, to] = [rig.datagrams(), rig.datagrams()];
        let mgid = ibv_gid { raw: MGID };
        // SAFETY: the QP is live, and attached once.
        unsafe {
            assert_eq!(ibv_attach_mcast(to.qp, &raw const mgid, 0xc000), libc::EINVAL);
            ok(ibv_attach_mcast(to.qp, &raw const mgid, attr.dlid));
        }
        let group = rig.handle(attr);
        // SAFETY: attributes are numbers, for which zero is valid.
        let mut way: ibv_ah_attr = unsafe { zeroed() };
        way.dlid = 1;
        way.port_num = 1;
        let one = rig.handle(way);
        for (slot, handle, number) in [(1, group, 0xff_ffff), (2, one, to.number())] {
            to.receive(slot);
            from.send(0, 100, Some((handle, number)));
            let mut received = None;
            for _ in 0..2 {
                let wc = rig.next();
                assert_eq!(wc.status, IBV_WC_SUCCESS);
                received = received.or((wc.opcode == IBV_WC_RECV).then_some(wc));
            }
            let wc = received.unwrap();
            assert_eq!((wc.wr_id, wc.byte_len), (slot as u64, 140));
            // SAFETY: the union's bytes.
            let gid = unsafe { rig.gid().raw };
            let expected = match slot {
                1 => (
                    true,
                    [[0x60, 0, 0, 0, 0, 0, 0x1b, 64].to_vec(), gid.to_vec(), MGID.to_vec()]
                        .concat(),
                ),
                // Within a subnet there is none where the sender does not want one.
                _ => (false, vec![0; 40]),
            };
            let front = (wc.wc_flags & IBV_WC_GRH != 0, rig.front(slot).to_vec());
            assert_eq!(front, expected, "slot {slot}");
        }
    });
}

#[test]
fn connections_are_made_by_lid() {
    under("mlx5-ib", "infiniband::connections_are_made_by_lid", || {
        let rig = Rig::new();
        let [from, to] =
            [(); 2].map(|()| crate::rig::Qp { rig: &rig, qp: rig.create(IBV_QPT_RC, 16, 0) });
        from.connect(1, to.number());
        to.connect(1, from.number());
        to.receive(1);
        from.send(0, 5000, None);
        let [one, other] = [rig.next(), rig.next()];
        assert_eq!((one.status, other.status), (IBV_WC_SUCCESS, IBV_WC_SUCCESS));
        assert_eq!(one.byte_len.max(other.byte_len), 5000);
    });
}

#[test]
fn a_group_takes_so_many_queue_pairs() {
    under("mlx5-ib,max_mcast_qp_attach=2", "infiniband::a_group_takes_so_many_queue_pairs", || {
        let rig = Rig::new();
        let (_id, attr) = join();
        let mgid = ibv_gid { raw: MGID };
        let qps = [(); 3].map(|()| rig.datagrams());
        // SAFETY: the QPs are live.
        let answers =
            qps.each_ref().map(|qp| unsafe { ibv_attach_mcast(qp.qp, &raw const mgid, attr.dlid) });
        assert_eq!(answers, [0, 0, libc::ENOMEM]);
        // SAFETY: as above.
        unsafe {
            ok(ibv_detach_mcast(qps[0].qp, &raw const mgid, attr.dlid));
            ok(ibv_attach_mcast(qps[2].qp, &raw const mgid, attr.dlid));
        }
    });
}
