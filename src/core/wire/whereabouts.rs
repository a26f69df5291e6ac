//! What a rank says of its place before a communicator is made: its host, the switches above that, and the fabrics that it
//! can use.

use super::error::WireError;
use super::fields::{Reader, Writer};
use super::format::Format;
use super::host_name::HostName;
use crate::topology::{MAX_SWITCHES, SwitchPath};
use std::fmt;
use std::net::Ipv6Addr;

/// Fabrics that a rank tells of at most: those that it likes best.
pub const MAX_FABRICS: usize = 16;

/// An IP network.
///
/// On the wire: 16 bytes, of IPv4 those of the mapped IPv6 address, then the number of leading bits that count (8
/// bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its address, whose other bits are zero.
    address: u128,
    /// How many leading bits count.
    len: u8,
}

impl Network {
    /// The network of an address, of which the first `len` bits count; of an IPv4 address, those of the mapped one.
    pub fn of(address: Ipv6Addr, len: u8) -> Self {
        let len = len.min(128);
        let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
        Network { address: u128::from(address) & mask, len }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.address);
        match address.to_ipv4_mapped().filter(|_| self.len >= 96) {
            Some(v4) => write!(f, "{v4}/{}", self.len - 96),
            None => write!(f, "{address}/{}", self.len),
        }
    }
}

/// What ports must have in common to reach each other.
///
/// On the wire: its kind (8 bits: 1 for InfiniBand, 2 for Ethernet, 3 for an Ethernet with a network), then the
/// prefix (64 bits), nothing, or the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// An InfiniBand subnet.
    InfiniBand {
        /// The first half of its ports' GIDs.
        subnet_prefix: u64,
    },
    /// Ethernet, with the port's IP network if that is known.
    Ethernet(Option<Network>),
}

impl Fabric {
    /// Whether a port on this fabric is on `other`, of which less may be known.
    pub fn is_on(&self, other: &Fabric) -> bool {
        self == other || matches!((self, other), (Fabric::Ethernet(_), Fabric::Ethernet(None)))
    }

    fn write(&self, to: &mut Writer) {
        match self {
            Fabric::InfiniBand { subnet_prefix } => to.u8(1).u64(*subnet_prefix),
            Fabric::Ethernet(None) => to.u8(2),
            Fabric::Ethernet(Some(Network { address, len })) => {
                to.u8(3).bytes(&address.to_be_bytes()).u8(*len)
            }
        };
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        match from.u8()? {
            1 => Ok(Fabric::InfiniBand { subnet_prefix: from.u64()? }),
            2 => Ok(Fabric::Ethernet(None)),
            3 => {
                let (address, len) = (from.array::<16>()?, from.u8()?);
                let network = Network::of(address.into(), len);
                let is_one = network == Network { address: u128::from_be_bytes(address), len };
                is_one.then_some(Fabric::Ethernet(Some(network))).ok_or(from.invalid("IP network"))
            }
            _ => Err(from.invalid("fabric")),
        }
    }
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fabric::InfiniBand { subnet_prefix } => {
                let prefix = Ipv6Addr::from(u128::from(*subnet_prefix) << 64);
                write!(f, "InfiniBand subnet {prefix}/64")
            }
            Fabric::Ethernet(None) => f.write_str("Ethernet (RoCE)"),
            Fabric::Ethernet(Some(network)) => write!(f, "Ethernet (RoCE) network {network}"),
        }
    }
}

/// Where a rank is.
///
/// On the wire: 16 bytes of the host, its [name](HostName), the number of switches (32 bits), each as the length of its name (8 bits) and the name in
/// ASCII, the number of fabrics (32 bits), the fabrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// The same for all processes of a host, and only for them.
    pub host: [u8; 16],
    /// What people call the host.
    pub name: HostName,
    /// The switches above the host; none where the rank knows none.
    pub switches: SwitchPath,
    /// The fabrics that it can use, the best first.
    pub fabrics: Vec<Fabric>,
}

impl Whereabouts {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's whereabouts", tag: *b"vbW", version: 3 };

    /// Its bytes. Of the fabrics, the first [16](MAX_FABRICS) are told.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        let told = &self.fabrics[..self.fabrics.len().min(MAX_FABRICS)];
        self.name.write(to.bytes(&self.host));
        to.count(self.switches.names().len());
        for name in self.switches.names() {
            // At most 64 bytes.
            to.u8(name.len() as u8).bytes(name.as_bytes());
        }
        to.count(told.len());
        told.iter().for_each(|fabric| fabric.write(&mut to));
        to.finish()
    }

    /// Reads it.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Whereabouts, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let (host, name) = (from.array()?, HostName::read(&mut from)?);
        let switches = read_switches(&mut from)?;
        let count = from.count("number of fabrics", MAX_FABRICS, 1)?;
        let fabrics = (0..count).map(|_| Fabric::read(&mut from)).collect::<Result<_, _>>()?;
        from.end().map(|()| Whereabouts { host, name, switches, fabrics })
    }
}

fn read_switches(from: &mut Reader<'_>) -> Result<SwitchPath, WireError> {
    let count = from.count("number of switches", MAX_SWITCHES, 1)?;
    let name = |_| {
        let len = from.u8()?;
        let name = from.bytes(len.into())?;
        String::from_utf8(name.to_vec()).map_err(|_| from.invalid("name of a switch"))
    };
    let names = (0..count).map(name).collect::<Result<Vec<_>, _>>()?;
    SwitchPath::new(names).map_err(|_| from.invalid("name of a switch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_fabrics_are_shown_as_people_write_them() {
        let network = |address: &str, len| Network::of(address.parse().unwrap(), len);
        let v4 = network("::ffff:10.8.3.7", 96 + 16);
        assert_eq!(v4.to_string(), "10.8.0.0/16");
        assert_eq!(v4, network("::ffff:10.8.200.1", 96 + 16));
        assert_eq!(network("2001:db8::7", 64).to_string(), "2001:db8::/64");
        assert_eq!(network("2001:db8::7", 0).to_string(), "::/0");
        let subnet = Fabric::InfiniBand { subnet_prefix: 0xfe80 << 48 };
        assert_eq!(subnet.to_string(), "InfiniBand subnet fe80::/64");
        let ethernet = Fabric::Ethernet(Some(v4));
        assert!(
            ethernet.is_on(&Fabric::Ethernet(None)) && !Fabric::Ethernet(None).is_on(&ethernet)
        );
        assert!(!subnet.is_on(&Fabric::Ethernet(None)));
    }
}
