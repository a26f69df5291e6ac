//! Who has sent a datagram, as its receiver's adapter tells.

use crate::rdma::group::AddressKind;
use verbcast_verbs::Origin;

/// The source of a datagram: what its network header says, and the QP that its completion names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    pub gid: [u8; 16],
    pub qpn: u32,
}

/// Where the source GID is in a GRH, or the source address in an IPv6 header (InfiniBand Architecture, volume 1, section 8.3).
const SOURCE_AT: usize = 8;
/// Where the IPv4 header of a RoCE v2 packet is: it is the last 20 bytes, and nobody says what is in those in front of it (Annex
/// A17, section A17.4.5.2). Some adapters leave there what another datagram has left.
const IPV4_AT: usize = 20;
/// How it begins: its version, and its length without options in words.
const IPV4_BEGIN: u8 = 0x45;
/// Where the source is in it.
const IPV4_SOURCE_AT: usize = IPV4_AT + 12;
/// What is in front of an IPv4 address in a GID.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/// Whether what is in front of a datagram to a group of this kind ends with an IPv4 header. With RoCE v1 it is a GRH, whatever the
/// kind.
#[inline]
fn is_ipv4(kind: AddressKind, front: &[u8; 40]) -> bool {
    kind == AddressKind::V4 && front[IPV4_AT] == IPV4_BEGIN
}

impl Sender {
    /// Whether it is told who has sent a datagram to a group of this kind. To a group of InfiniBand each has a GRH; others may come
    /// without one to a single QP, and what is in front of them is of another datagram.
    #[inline]
    fn is_told(kind: AddressKind, origin: Origin) -> bool {
        kind != AddressKind::Mgid || origin.has_grh
    }

    /// That of a datagram to a group of this kind, with these bytes in front of it; none if nobody tells.
    #[inline]
    pub fn new(kind: AddressKind, front: &[u8; 40], origin: Origin) -> Option<Self> {
        let mut gid = [0; 16];
        if is_ipv4(kind, front) {
            gid[..12].copy_from_slice(&MAPPED);
            gid[12..].copy_from_slice(&front[IPV4_SOURCE_AT..IPV4_SOURCE_AT + 4]);
        } else {
            gid.copy_from_slice(&front[SOURCE_AT..SOURCE_AT + 16]);
        }
        Self::is_told(kind, origin).then_some(Sender { gid, qpn: origin.qpn })
    }

    /// Whether it has sent a datagram to a group of this kind, with these bytes in front of it: whether
    /// [`new`](Self::new) makes it of them, without making another.
    #[inline]
    pub fn has_sent(&self, kind: AddressKind, front: &[u8; 40], origin: Origin) -> bool {
        let is_from_gid = match is_ipv4(kind, front) {
            false => self.gid[..] == front[SOURCE_AT..SOURCE_AT + 16],
            true => {
                self.gid[12..] == front[IPV4_SOURCE_AT..IPV4_SOURCE_AT + 4]
                    && self.gid[..12] == MAPPED
            }
        };
        is_from_gid && self.qpn == origin.qpn && Self::is_told(kind, origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin = Origin { qpn: 7, has_grh: true };
    const KINDS: [AddressKind; 3] = [AddressKind::V4, AddressKind::V6, AddressKind::Mgid];

    /// Bytes that end as an IPv4 header does, behind a first one.
    fn front(first: u8) -> [u8; 40] {
        let mut front: [u8; 40] = std::array::from_fn(|at| at as u8);
        (front[0], front[IPV4_AT]) = (first, IPV4_BEGIN);
        front
    }

    #[test]
    fn what_is_in_front_of_an_ipv4_header_does_not_matter() {
        let gid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 32, 33, 34, 35];
        for first in 0..=u8::MAX {
            let sender = Sender::new(AddressKind::V4, &front(first), ORIGIN);
            assert_eq!(sender, Some(Sender { gid, qpn: 7 }), "behind {first:#x}");
        }
    }

    #[test]
    fn a_grh_tells_the_source_whatever_is_in_its_addresses() {
        for kind in [AddressKind::V6, AddressKind::Mgid] {
            let front = front(0x60);
            assert_eq!(
                Sender::new(kind, &front, ORIGIN).unwrap().gid[..],
                front[8..24],
                "{kind:?}"
            );
        }
        // RoCE v1 with the GID of an IPv4 address.
        let mut front = front(0x60);
        front[8..20].copy_from_slice(&MAPPED);
        front[20..24].copy_from_slice(&[10, 9, 0, 1]);
        assert_eq!(Sender::new(AddressKind::V4, &front, ORIGIN).unwrap().gid[12..], [10, 9, 0, 1]);
    }

    #[test]
    fn a_datagram_without_a_grh_is_of_nobody_on_infiniband() {
        let (front, origin) = (front(0x60), Origin { qpn: 7, has_grh: false });
        for (kind, is_told) in KINDS.into_iter().zip([true, true, false]) {
            let sender = Sender::new(kind, &front, ORIGIN).unwrap();
            assert_eq!(Sender::new(kind, &front, origin).is_some(), is_told, "{kind:?}");
            assert_eq!(sender.has_sent(kind, &front, origin), is_told, "{kind:?}");
        }
    }

    #[test]
    fn a_sender_has_sent_what_tells_of_it_and_nothing_else() {
        for (kind, first) in KINDS.into_iter().flat_map(|kind| [(kind, 0x60), (kind, 0)]) {
            let front = front(first);
            let sender = Sender::new(kind, &front, ORIGIN).unwrap();
            assert!(sender.has_sent(kind, &front, ORIGIN));
            assert!(!sender.has_sent(kind, &front, Origin { qpn: 8, ..ORIGIN }));
            for bit in 0..8 * front.len() {
                let mut other = front;
                other[bit / 8] ^= 1 << (bit % 8);
                let is_it = Sender::new(kind, &other, ORIGIN) == Some(sender);
                let has_sent = sender.has_sent(kind, &other, ORIGIN);
                assert_eq!(has_sent, is_it, "bit {bit} behind {first:#x}, {kind:?}");
            }
        }
        // An address of four bytes is not the end of any GID that ends so.
        let mut front = [1; 40];
        front[IPV4_AT] = IPV4_BEGIN;
        let gid = [1; 16];
        assert!(!Sender { gid, qpn: 7 }.has_sent(AddressKind::V4, &front, ORIGIN));
    }
}
