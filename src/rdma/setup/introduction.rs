//! What a rank tells all others of itself when a communicator is made.

use crate::rdma::group::{GroupAddress, Offer};
use crate::rdma::memory::Exposed;
use crate::rdma::process::Station;

/// Groups that are tried while other jobs are heard on them.
pub const DRAWS: usize = 3;

/// What rank 0 draws for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    pub key: u64,
    pub seed: u64,
    pub groups: [GroupAddress; DRAWS],
}

/// A rank's introduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduction {
    pub station: Station,
    pub exposed: Exposed,
    pub draw: Draw,
    pub offer: Offer,
}

impl Introduction {
    pub fn emit(&self) -> Vec<u8> {
        let Introduction { station, exposed, draw, offer } = self;
        let mut bytes = station.emit();
        bytes.extend(exposed.emit());
        bytes.extend(draw.key.to_be_bytes());
        bytes.extend(draw.seed.to_be_bytes());
        bytes.extend(draw.groups.iter().flat_map(GroupAddress::emit));
        bytes.extend(offer.emit());
        bytes
    }

    pub fn parse(bytes: &[u8]) -> Option<Introduction> {
        let (station, rest) = bytes.split_first_chunk()?;
        let (exposed, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (seed, mut rest) = rest.split_first_chunk()?;
        let mut groups = [None; DRAWS];
        for group in &mut groups {
            let (wire, after) = rest.split_first_chunk()?;
            *group = Some(GroupAddress::parse(wire)?);
            rest = after;
        }
        let [Some(first), Some(second), Some(third)] = groups else { return None };
        let (key, seed) = (u64::from_be_bytes(*key), u64::from_be_bytes(*seed));
        Some(Introduction {
            station: Station::parse(station)?,
            exposed: Exposed::parse(exposed)?,
            draw: Draw { key, seed, groups: [first, second, third] },
            offer: Offer::parse(rest)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_verbs::Remote;

    #[test]
    fn an_introduction_survives_the_wire() {
        let introduction = Introduction {
            station: Station {
                life: 0x2122_2324_2526_2728,
                qpn: 17,
                gid: [9; 16],
                lid: 3,
                packet_len: 4096,
                reads: 4,
            },
            exposed: Exposed {
                ring: Remote { address: 0x0102_0304_0506_0708, key: 0x1112_1314 },
                cells: Remote { address: u64::MAX - 1, key: 77 },
            },
            draw: Draw {
                key: 5,
                seed: 6,
                groups: [GroupAddress::V4("239.1.2.3".parse().unwrap()); DRAWS],
            },
            offer: Offer { groups: vec![GroupAddress::Mgid([7; 16])], is_full: true },
        };
        let bytes = introduction.emit();
        assert_eq!(Introduction::parse(&bytes), Some(introduction));
        for len in [0, 40, bytes.len() - 1] {
            assert_eq!(Introduction::parse(&bytes[..len]), None, "{len}");
        }
    }
}
