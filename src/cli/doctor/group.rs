//! The address of a group to try things with.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{SystemTime, UNIX_EPOCH};
use verbcast_verbs::LinkLayer;

/// A group's address: an MGID on InfiniBand, an IP address elsewhere (IPv4 ones as IPv6 maps them).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group(pub [u8; 16]);

impl Group {
    /// Draws one.
    pub fn draw(link_layer: LinkLayer, is_ipv4: bool) -> Group {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(&now.as_nanos().to_be_bytes());
        seed[16..20].copy_from_slice(&std::process::id().to_be_bytes());
        let mut bytes = [0; 16];
        ChaCha20Rng::from_seed(seed).fill_bytes(&mut bytes);
        match (link_layer, is_ipv4) {
            (LinkLayer::InfiniBand, _) => {
                // No signature that a subnet manager gives a meaning to.
                bytes[..4].copy_from_slice(&[0xff, 0x12, 0x56, 0x42]);
                Group(bytes)
            }
            (_, true) => {
                let address = Ipv4Addr::new(239, 1 + bytes[0] % 254, bytes[1], bytes[2]);
                Group(address.to_ipv6_mapped().octets())
            }
            (_, false) => {
                bytes[..2].copy_from_slice(&[0xff, 0x15]);
                Group(bytes)
            }
        }
    }
}

impl std::fmt::Display for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let address = Ipv6Addr::from(self.0);
        match address.to_ipv4_mapped() {
            Some(v4) => v4.fmt(f),
            None => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_suits_its_link() {
        assert_eq!(Group::draw(LinkLayer::InfiniBand, false).0[..2], [0xff, 0x12]);
        assert_eq!(Group::draw(LinkLayer::Ethernet, false).0[..2], [0xff, 0x15]);
        assert!(Group::draw(LinkLayer::Ethernet, true).to_string().starts_with("239."));
    }
}
