//! Groups that the fabric manager creates itself (section 4.5.2.3).

use super::mlids::Mgid;

/// What is fixed when a group is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The partition.
    pub pkey: u16,
    /// In bytes.
    pub mtu: u16,
    /// In Mbit/s.
    pub rate_mbps: u32,
}

impl Terms {
    /// Whether they are the same but for the P_Key's membership bit.
    pub fn is_like(&self, other: Terms) -> bool {
        Terms { pkey: self.pkey | 0x8000, ..*self } == Terms { pkey: other.pkey | 0x8000, ..other }
    }
}

/// A group that is there before anyone joins, and stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precreated {
    /// Its address.
    pub mgid: Mgid,
    /// Its terms, whoever joins.
    pub terms: Terms,
}

/// The groups of IPoIB by the first half of their MGID, without the P_Key, and the second. IPv4: broadcast, all hosts,
/// IGMP and multicast DNS; IPv6: all nodes, all routers, MLDv2 and multicast DNS. (The fabric manager's sources,
/// `createMCastGroups`.)
const IPOIB: [(u64, [u64; 4]); 2] = [
    (0xff12_401b_0000_0000, [0xffff_ffff, 0x1, 0x16, 0xfb]),
    (0xff12_601b_0000_0000, [0x1, 0x2, 0x16, 0xfb]),
];

impl Precreated {
    /// The groups that a `MulticastGroup` without MGIDs stands for: those of IPoIB in the partition of the terms.
    pub fn ipoib(terms: Terms) -> Vec<Precreated> {
        let pkey = u64::from(terms.pkey | 0x8000) << 16;
        let of = |(high, lows): (u64, [u64; 4])| {
            lows.map(|low| Precreated {
                mgid: Mgid::from(high | pkey) << 64 | Mgid::from(low),
                terms,
            })
        };
        IPOIB.into_iter().flat_map(of).collect()
    }
}
