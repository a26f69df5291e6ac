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
}
