//! A communicator's multicast group: joined, attached, ready to be sent to.

use super::address::AddressKind;
use crate::rdma::settings::Family;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::Duration;
use verbcast_core::wire::GroupAddress;
use verbcast_verbs::{
    AddressHandle, Attachment, Error, GroupPath, LinkLayer, Membership, MulticastGroup, PathTo,
    ProtectionDomain, QueuePair, Source,
};

/// The Q_Key of datagrams where no group has its own.
pub const DEFAULT_QKEY: u32 = 0x0123_4567;

/// A joined group. Fields are dropped in order: detach, then leave.
#[derive(Debug)]
pub struct Group {
    pub handle: AddressHandle,
    pub address: GroupAddress,
    _attachment: Attachment,
    /// None where a socket's membership must do.
    _membership: Option<Membership>,
    _socket: Option<UdpSocket>,
}

/// A group that the port has joined, and no QP is attached to.
#[derive(Debug)]
pub struct Joined {
    address: GroupAddress,
    membership: Option<Membership>,
    socket: Option<UdpSocket>,
    path: GroupPath,
}

impl Joined {
    /// The Q_Key of the group's datagrams.
    pub fn qkey(&self) -> u32 {
        self.path.qkey
    }

    /// Attaches `qp` to the group.
    pub fn attach(self, domain: &ProtectionDomain, qp: &QueuePair) -> Result<Group, String> {
        let Joined { address, membership, socket, path } = self;
        let named = |error: Error| format!("group {address}: {error}");
        let attachment = Attachment::new(qp, path.mgid(), path.mlid()).map_err(named)?;
        Ok(Group {
            handle: path.handle(domain).map_err(named)?,
            address,
            _attachment: attachment,
            _membership: membership,
            _socket: socket,
        })
    }
}

/// The own port, as joining needs it.
#[derive(Clone, Debug)]
pub struct Joiner {
    pub link_layer: LinkLayer,
    pub gid: [u8; 16],
    /// The port's number.
    pub port: u8,
    /// GIDs of the port that are IPv6 addresses, with their indices, for groups of that family.
    pub ipv6: Vec<(u8, [u8; 16])>,
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
                let (_, gid) = self.ipv6()?;
                let ip = Ipv6Addr::from(gid);
                let scope = if ip.is_unicast_link_local() { self.interface } else { 0 };
                Ok(Source::Ip(SocketAddr::V6(SocketAddrV6::new(ip, 0, 0, scope))))
            }
        }
    }

    fn ipv6(&self) -> Result<(u8, [u8; 16]), String> {
        let first = self.ipv6.first().copied();
        first.ok_or_else(|| "the port has no GID that is an IPv6 address".to_owned())
    }

    /// Joins the group; at most for `patience`.
    pub fn join(&self, address: GroupAddress, patience: Duration) -> Result<Joined, String> {
        let named = |error: Error| format!("group {address}: {error}");
        let source = self.source(&address)?;
        let group = match address {
            GroupAddress::V4(v4) => MulticastGroup::Ip(SocketAddr::new(IpAddr::V4(v4), 0)),
            GroupAddress::V6(v6) => MulticastGroup::Ip(SocketAddr::new(IpAddr::V6(v6), 0)),
            GroupAddress::Mgid(mgid) => MulticastGroup::Mgid(mgid),
        };
        let (membership, socket, path) = match (Membership::join(source, group, patience), address)
        {
            (Ok((membership, path)), _) => (Some(membership), None, path),
            // Linux does not join IPv6 groups on RoCE v2 through rdma_cm; a socket's membership lets
            // the datagrams in as well.
            (Err(error), GroupAddress::V6(v6)) if error.is_unsupported() => {
                let socket = self.join_by_socket(v6);
                let socket = socket.map_err(|error| format!("group {address}: {error}"))?;
                let (source_index, _) = self.ipv6()?;
                let path = PathTo { gid: v6.octets(), lid: 0, port: self.port, source_index };
                (None, Some(socket), GroupPath::direct(&path, DEFAULT_QKEY))
            }
            (Err(error), _) => return Err(named(error)),
        };
        Ok(Joined { address, membership, socket, path })
    }

    fn join_by_socket(&self, group: Ipv6Addr) -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
        socket.join_multicast_v6(&group, self.interface)?;
        Ok(socket)
    }
}
