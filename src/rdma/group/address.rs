//! Addresses of groups, drawn at random (Hoefler 2007, section 3.1).
//!
//! The paper seeds a cryptographic generator from a time stamp, the host, a temporary file's name
//! and `/dev/urandom`, so that jobs which know nothing of each other draw different groups. Here the
//! generator is ChaCha20, and SHA-256 mixes the sources.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::SystemTime;
use verbcast_core::rank::Rank;
use verbcast_core::wire::GroupAddress;

/// The kinds of [`GroupAddress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    V4,
    V6,
    Mgid,
}

impl AddressKind {
    /// That of an address.
    pub fn of(address: GroupAddress) -> Self {
        match address {
            GroupAddress::V4(_) => AddressKind::V4,
            GroupAddress::V6(_) => AddressKind::V6,
            GroupAddress::Mgid(_) => AddressKind::Mgid,
        }
    }
}

/// Third and fourth byte of MGIDs that subnet managers refuse from others: IPoIB's for IPv4 and IPv6 (RFC 4391,
/// section 4), and those that the manager assigns itself (IBA 1.4, section 15.2.5.17).
const RESERVED_SIGNATURES: [[u8; 2]; 3] = [[0x40, 0x1b], [0x60, 0x1b], [0xa0, 0x1b]];

/// Draws an address.
pub fn draw(generator: &mut impl Rng, kind: AddressKind) -> GroupAddress {
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
            while RESERVED_SIGNATURES.contains(&[bytes[2], bytes[3]]) {
                generator.fill_bytes(&mut bytes[2..4]);
            }
            GroupAddress::Mgid(bytes)
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
    fn addresses_are_in_their_ranges() {
        let mut generator = generator(Rank(0));
        for kind in [AddressKind::V4, AddressKind::V6, AddressKind::Mgid] {
            for _ in 0..100 {
                match draw(&mut generator, kind) {
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

    /// Gives out these bytes first, and then others.
    struct Prepared(Vec<u8>);

    impl rand_chacha::rand_core::TryRng for Prepared {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            unreachable!("addresses are drawn as bytes")
        }

        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            unreachable!("addresses are drawn as bytes")
        }

        fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Self::Error> {
            to.fill_with(|| if self.0.is_empty() { 0x33 } else { self.0.remove(0) });
            Ok(())
        }
    }

    #[test]
    fn mgids_that_subnet_managers_refuse_are_not_drawn() {
        for [third, fourth] in RESERVED_SIGNATURES {
            let mut first = [0x77; 16];
            first[2..4].copy_from_slice(&[third, fourth]);
            // The second try is refused too.
            let bytes = [&first[..], &RESERVED_SIGNATURES[0]].concat();
            let GroupAddress::Mgid(mgid) = draw(&mut Prepared(bytes), AddressKind::Mgid) else {
                panic!("another kind was asked for")
            };
            assert_eq!(mgid[..5], [0xff, 0x12, 0x33, 0x33, 0x77]);
        }
    }

    #[test]
    fn two_generators_differ() {
        let draw = || draw(&mut generator(Rank(0)), AddressKind::Mgid);
        assert_ne!(draw(), draw());
    }
}
