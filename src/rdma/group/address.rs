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

    #[test]
    fn two_generators_differ() {
        let draw = || draw(&mut generator(Rank(0)), AddressKind::Mgid);
        assert_ne!(draw(), draw());
    }
}
