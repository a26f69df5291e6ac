//! Addresses of groups, drawn at random (Hoefler 2007, section 3.1).
//!
//! The paper seeds a cryptographic generator from a time stamp, the host, a temporary file's name
//! and `/dev/urandom`, so that jobs which know nothing of each other draw different groups. Here the
//! generator is ChaCha20, and SHA-256 mixes the sources.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::SystemTime;
use verbcast_core::rank::Rank;

/// The address of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAddress {
    /// On RoCE: an address of 239.0.0.0/8 (administratively scoped, RFC 2365).
    V4(Ipv4Addr),
    /// On RoCE: an address of `ff15::/16` (transient, site scope, RFC 4291).
    V6(Ipv6Addr),
    /// On InfiniBand: an MGID of 14 random bytes behind 0xff12 (transient, link-local scope).
    Mgid([u8; 16]),
}

/// The kinds of [`GroupAddress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    V4,
    V6,
    Mgid,
}

impl GroupAddress {
    /// Length of an address on the wire.
    pub(in crate::rdma) const WIRE_LEN: usize = 17;

    /// Draws an address.
    pub(in crate::rdma) fn draw(generator: &mut impl Rng, kind: AddressKind) -> Self {
        let mut bytes = [0; 16];
        generator.fill_bytes(&mut bytes);
        match kind {
            // Neither 239.255/16 (local scope) nor the low blocks, which services claim.
            AddressKind::V4 => {
                let second = 1 + bytes[0] % 254;
                GroupAddress::V4(Ipv4Addr::new(239, second, bytes[1], bytes[2]))
            }
            AddressKind::V6 => {
                bytes[..2].copy_from_slice(&[0xff, 0x15]);
                GroupAddress::V6(Ipv6Addr::from(bytes))
            }
            AddressKind::Mgid => {
                bytes[..2].copy_from_slice(&[0xff, 0x12]);
                GroupAddress::Mgid(bytes)
            }
        }
    }

    pub(in crate::rdma) fn emit(&self) -> [u8; Self::WIRE_LEN] {
        let (tag, bytes) = match self {
            GroupAddress::V4(address) => (4, address.to_ipv6_mapped().octets()),
            GroupAddress::V6(address) => (6, address.octets()),
            GroupAddress::Mgid(mgid) => (1, *mgid),
        };
        let mut wire = [tag; Self::WIRE_LEN];
        wire[1..].copy_from_slice(&bytes);
        wire
    }

    pub(in crate::rdma) fn parse(wire: &[u8; Self::WIRE_LEN]) -> Option<Self> {
        let (tag, bytes) = wire.split_first()?;
        let bytes: [u8; 16] = bytes.try_into().ok()?;
        match tag {
            4 => Ipv6Addr::from(bytes).to_ipv4_mapped().map(GroupAddress::V4),
            6 => Some(GroupAddress::V6(Ipv6Addr::from(bytes))),
            1 => Some(GroupAddress::Mgid(bytes)),
            _ => None,
        }
    }
}

impl fmt::Display for GroupAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupAddress::V4(address) => address.fmt(f),
            GroupAddress::V6(address) => address.fmt(f),
            GroupAddress::Mgid(mgid) => write!(f, "MGID {}", Ipv6Addr::from(*mgid)),
        }
    }
}

/// A generator that no other process of the system seeds alike.
pub fn generator(rank: Rank) -> ChaCha20Rng {
    let mut pool = Sha256::new();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    pool.update(now.as_nanos().to_be_bytes());
    pool.update(rustix::system::uname().nodename().to_bytes());
    pool.update(std::process::id().to_be_bytes());
    pool.update(rank.0.to_be_bytes());
    // A stack address stands for the paper's temporary name: it differs between processes.
    pool.update((std::ptr::from_ref(&pool).addr() as u64).to_be_bytes());
    let mut entropy = [0; 32];
    // Without the kernel's entropy the other sources must do, as in the paper.
    if getrandom::fill(&mut entropy).is_ok() {
        pool.update(entropy);
    }
    ChaCha20Rng::from_seed(pool.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_their_ranges_and_survive_the_wire() {
        let mut generator = generator(Rank(0));
        for kind in [AddressKind::V4, AddressKind::V6, AddressKind::Mgid] {
            for _ in 0..100 {
                let address = GroupAddress::draw(&mut generator, kind);
                assert_eq!(GroupAddress::parse(&address.emit()), Some(address));
                match address {
                    GroupAddress::V4(v4) => {
                        let [first, second, ..] = v4.octets();
                        assert!(first == 239 && (1..255).contains(&second));
                    }
                    GroupAddress::V6(v6) => assert_eq!(v6.segments()[0], 0xff15),
                    GroupAddress::Mgid(mgid) => assert_eq!(mgid[..2], [0xff, 0x12]),
                }
            }
        }
    }

    #[test]
    fn two_generators_differ() {
        let draw = || GroupAddress::draw(&mut generator(Rank(0)), AddressKind::Mgid);
        assert_ne!(draw(), draw());
    }
}
