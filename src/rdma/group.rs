//! A communicator's multicast group: joined, attached, ready to be sent to.

use super::address::{AddressKind, GroupAddress};
use super::settings::Family;
use crate::verbs::{
    AddressHandle, Attachment, Error, LinkLayer, Membership, MulticastGroup, ProtectionDomain,
    QueuePair, Source,
};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::Duration;

/// A joined group. Fields are dropped in order: detach, then leave.
#[derive(Debug)]
pub(super) struct Group {
    pub handle: AddressHandle,
    pub qkey: u32,
    pub address: GroupAddress,
    _attachment: Attachment,
    _membership: Membership,
    /// Holds the host's own IPv6 membership, which librdmacm does not take on RoCE.
    _socket: Option<UdpSocket>,
}

/// The own port, as joining needs it.
#[derive(Clone, Debug)]
pub(super) struct Joiner {
    pub link_layer: LinkLayer,
    pub gid: [u8; 16],
    /// GIDs of the port that are IPv6 addresses, for groups of that family.
    pub ipv6: Vec<[u8; 16]>,
    /// Index of the port's network interface.
    pub interface: u32,
}

impl Joiner {
    /// The kind of address that the port's groups have.
    pub fn address_kind(&self, family: Family) -> AddressKind {
        match (self.link_layer, family) {
            (LinkLayer::InfiniBand, _) => AddressKind::Mgid,
            (LinkLayer::Ethernet, Family::Ipv4) => AddressKind::V4,
            (LinkLayer::Ethernet, Family::Ipv6) => AddressKind::V6,
            (LinkLayer::Ethernet, Family::Auto) => {
                let mapped = Ipv6Addr::from(self.gid).to_ipv4_mapped().is_some();
                if mapped { AddressKind::V4 } else { AddressKind::V6 }
            }
        }
    }

    fn source(&self, address: &GroupAddress) -> Result<Source, String> {
        let own = Ipv6Addr::from(self.gid);
        match address {
            GroupAddress::Mgid(_) => Ok(Source::Gid(self.gid)),
            GroupAddress::V4(_) => match own.to_ipv4_mapped() {
                Some(v4) => Ok(Source::Ip(SocketAddr::new(IpAddr::V4(v4), 0))),
                None => Err(format!("the GID {own} is no IPv4 address, but the group's is")),
            },
            GroupAddress::V6(_) => {
                let ip = self.ipv6.first().map(|gid| Ipv6Addr::from(*gid));
                let ip = ip.ok_or("the port has no GID that is an IPv6 address")?;
                let scope = if ip.is_unicast_link_local() { self.interface } else { 0 };
                Ok(Source::Ip(SocketAddr::V6(SocketAddrV6::new(ip, 0, 0, scope))))
            }
        }
    }

    /// Joins the group and attaches `qp` to it; at most for `patience`.
    pub fn join(
        &self,
        domain: &ProtectionDomain,
        qp: &QueuePair,
        address: GroupAddress,
        patience: Duration,
    ) -> Result<Group, String> {
        let named = |error: Error| format!("group {address}: {error}");
        let source = self.source(&address)?;
        let (group, socket) = match address {
            GroupAddress::V4(v4) => (MulticastGroup::Ip(SocketAddr::new(IpAddr::V4(v4), 0)), None),
            GroupAddress::V6(v6) => {
                let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).and_then(|socket| {
                    socket.join_multicast_v6(&v6, self.interface)?;
                    Ok(socket)
                });
                let socket = socket.map_err(|error| format!("group {address}: {error}"))?;
                (MulticastGroup::Ip(SocketAddr::new(IpAddr::V6(v6), 0)), Some(socket))
            }
            GroupAddress::Mgid(mgid) => (MulticastGroup::Mgid(mgid), None),
        };
        let (membership, path) = Membership::join(source, group, patience).map_err(named)?;
        let attachment = Attachment::new(qp, path.mgid(), path.mlid()).map_err(named)?;
        Ok(Group {
            handle: path.handle(domain).map_err(named)?,
            qkey: path.qkey,
            address,
            _attachment: attachment,
            _membership: membership,
            _socket: socket,
        })
    }
}
