//! The address of a multicast group: a part of an [introduction](super::Introduction).

use super::error::WireError;
use super::fields::{Reader, Writer};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The address of a group.
///
/// On the wire: its kind (8 bits: 4, 6, or 1 for an MGID), then 16 bytes, of IPv4 those of the mapped IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAddress {
    /// On RoCE: an address of 239.0.0.0/8 (administratively scoped, RFC 2365).
    V4(Ipv4Addr),
    /// On RoCE: an address of `ff15::/16` (transient, site scope, RFC 4291).
    V6(Ipv6Addr),
    /// On InfiniBand: an MGID of 14 random bytes behind 0xff12 (transient, link-local scope).
    Mgid([u8; 16]),
}

impl GroupAddress {
    /// Length on the wire, in bytes.
    pub(super) const LEN: usize = 17;

    pub(super) fn write(&self, to: &mut Writer) {
        let (kind, bytes) = match self {
            GroupAddress::V4(address) => (4, address.to_ipv6_mapped().octets()),
            GroupAddress::V6(address) => (6, address.octets()),
            GroupAddress::Mgid(mgid) => (1, *mgid),
        };
        to.u8(kind).bytes(&bytes);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let (kind, bytes) = (from.u8()?, from.array()?);
        let address = match kind {
            4 => Ipv6Addr::from(bytes).to_ipv4_mapped().map(GroupAddress::V4),
            6 => Some(GroupAddress::V6(Ipv6Addr::from(bytes))),
            1 => Some(GroupAddress::Mgid(bytes)),
            _ => None,
        };
        address.ok_or(from.invalid("group address"))
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
