//! Who has sent a datagram, as its receiver's adapter tells.

/// The source of a datagram: what its network header says, and the QP that its completion names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    pub gid: [u8; 16],
    pub qpn: u32,
}

/// The version in the first four bits of a GRH (InfiniBand Architecture, volume 1, section 8.3).
const GRH_VERSION: u8 = 6;
/// Where the source GID is in it.
const SOURCE_AT: usize = 8;
/// Where the source is in the last 20 bytes, which are the IPv4 header of a RoCE v2 packet (Annex A17, section A17.4.5.2).
const IPV4_SOURCE_AT: usize = 32;
/// What is in front of an IPv4 address in a GID.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

impl Sender {
    /// That of a datagram with these bytes in front of it, which a QP has sent.
    #[inline]
    pub fn new(grh: &[u8; 40], qpn: u32) -> Self {
        let mut gid = [0; 16];
        if grh[0] >> 4 == GRH_VERSION {
            gid.copy_from_slice(&grh[SOURCE_AT..SOURCE_AT + 16]);
        } else {
            gid[..12].copy_from_slice(&MAPPED);
            gid[12..].copy_from_slice(&grh[IPV4_SOURCE_AT..IPV4_SOURCE_AT + 4]);
        }
        Sender { gid, qpn }
    }

    /// Whether it has sent a datagram with these bytes in front of it, from this QP: whether [`new`](Self::new) makes it of
    /// them, without making another.
    #[inline]
    pub fn has_sent(&self, grh: &[u8; 40], qpn: u32) -> bool {
        let is_from_gid = match grh[0] >> 4 == GRH_VERSION {
            true => self.gid[..] == grh[SOURCE_AT..SOURCE_AT + 16],
            false => {
                self.gid[12..] == grh[IPV4_SOURCE_AT..IPV4_SOURCE_AT + 4]
                    && self.gid[..12] == MAPPED
            }
        };
        is_from_gid && self.qpn == qpn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grh_and_an_ipv4_header_tell_the_source() {
        let mut grh: [u8; 40] = std::array::from_fn(|at| at as u8);
        grh[0] = 0x60;
        assert_eq!(Sender::new(&grh, 7).gid, std::array::from_fn(|at| 8 + at as u8));
        // The bytes before an IPv4 header may be anything but a GRH.
        (grh[0], grh[20]) = (0, 0x45);
        let gid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 32, 33, 34, 35];
        assert_eq!(Sender::new(&grh, 7), Sender { gid, qpn: 7 });
    }

    #[test]
    fn a_sender_has_sent_what_tells_of_it_and_nothing_else() {
        for first in [0x60, 0] {
            let mut grh: [u8; 40] = std::array::from_fn(|at| at as u8);
            grh[0] = first;
            let sender = Sender::new(&grh, 7);
            assert!(sender.has_sent(&grh, 7) && !sender.has_sent(&grh, 8));
            for bit in 0..8 * grh.len() {
                let mut other = grh;
                other[bit / 8] ^= 1 << (bit % 8);
                let is_it = Sender::new(&other, 7) == sender;
                assert_eq!(sender.has_sent(&other, 7), is_it, "bit {bit} behind {first:#x}");
            }
        }
        // An address of four bytes is not the end of any GID that ends so.
        let mut grh = [1; 40];
        grh[0] = 0;
        let gid = [1; 16];
        assert!(!Sender { gid, qpn: 7 }.has_sent(&grh, 7));
    }
}
