//! A port that joins groups.

use super::address::AddressKind;
use super::ipoib;
use super::join_error::JoinError;
use super::membership::{DEFAULT_QKEY, Held, Joined};
use super::order::PortSpeed;
use super::partition::Partition;
use super::subnet::{self, Request};
use crate::rdma::settings::Family;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::Duration;
use verbcast_core::wire::GroupAddress;
use verbcast_verbs::{
    Error, GroupPath, LinkLayer, Membership, MulticastGroup, PathTo, Service, ipoib_interfaces,
};

/// The own port, as joining needs it.
#[derive(Clone, Debug)]
pub struct Joiner {
    pub link_layer: LinkLayer,
    pub gid: [u8; 16],
    /// The device's name.
    pub device: String,
    /// The port's number.
    pub port: u8,
    /// The place of its GID in the port's table.
    pub gid_index: u8,
    /// Its rate is 0 where it is not known.
    pub speed: PortSpeed,
    pub partition: Partition,
    /// The place of a GID of this interface that is an IPv6 address, and it, for groups of that family.
    pub ipv6: Option<(u8, [u8; 16])>,
    /// Index of the port's network interface.
    pub interface: u32,
    /// The service level of all that is sent; none: as the fabric gives it for the group.
    pub service_level: Option<u8>,
    /// The traffic class, likewise.
    pub traffic_class: Option<u8>,
}

impl Joiner {
    /// The kind of address that the port's groups have.
    pub fn address_kind(&self, family: Family) -> AddressKind {
        match (self.link_layer, family) {
            (LinkLayer::InfiniBand | LinkLayer::Unspecified, _) => AddressKind::Mgid,
            (LinkLayer::Ethernet, Family::Ipv4) => AddressKind::V4,
            (LinkLayer::Ethernet, Family::Ipv6) => AddressKind::V6,
            (LinkLayer::Ethernet, Family::Auto) => {
                let mapped = Ipv6Addr::from(self.gid).to_ipv4_mapped().is_some();
                if mapped { AddressKind::V4 } else { AddressKind::V6 }
            }
        }
    }

    /// The service of all that is sent, where the fabric gives `given` for the group.
    pub fn service(&self, given: Service) -> Service {
        Service {
            sl: self.service_level.unwrap_or(given.sl),
            traffic_class: self.traffic_class.unwrap_or(given.traffic_class),
        }
    }

    /// Joins the group, all of whose ports can what is `common` to them, or joins it again; tries once, at most for
    /// `patience`.
    pub fn join(
        &self,
        (address, common): (GroupAddress, PortSpeed),
        patience: Duration,
    ) -> Result<Joined, JoinError> {
        let (held, path) = match address {
            GroupAddress::V4(group) => self.join_ipv4(group.into(), patience),
            GroupAddress::V6(group) => self.join_ipv6(group, patience),
            GroupAddress::Mgid(mgid) => self.join_mgid((mgid, common), patience),
        }?;
        let service = self.service(path.service());
        tracing::debug!("joined: {path:?}");
        Ok(Joined { address, common, held, path: path.with_service(service) })
    }

    fn join_ipv4(&self, group: IpAddr, patience: Duration) -> Result<(Held, GroupPath), JoinError> {
        let own = Ipv6Addr::from(self.gid);
        let Some(v4) = own.to_ipv4_mapped() else {
            return Err(never(format!("the GID {own} is not an IPv4 address, but the group's is")));
        };
        let source = SocketAddr::new(IpAddr::V4(v4), 0);
        let joined = Membership::join(source, MulticastGroup::Ip(group), patience);
        joined.map(|(membership, path)| (Held::Cm(membership), path)).map_err(never)
    }

    fn join_ipv6(
        &self,
        group: Ipv6Addr,
        patience: Duration,
    ) -> Result<(Held, GroupPath), JoinError> {
        let Some((source_index, gid)) = self.ipv6 else {
            let (device, port, own) = (&self.device, self.port, Ipv6Addr::from(self.gid));
            return Err(never(format!(
                "{device} port {port}: the group's address is an IPv6 one, and the network interface of GID {own} has no RoCE v2 \
                 GID that is"
            )));
        };
        let ip = Ipv6Addr::from(gid);
        let scope = if ip.is_unicast_link_local() { self.interface } else { 0 };
        let source = SocketAddr::V6(SocketAddrV6::new(ip, 0, 0, scope));
        match Membership::join(source, MulticastGroup::Ip(group.into()), patience) {
            Ok((membership, path)) => Ok((Held::Cm(membership), path)),
            // Linux does not join IPv6 groups on RoCE v2 through rdma_cm; a socket's membership lets
            // the datagrams in as well.
            Err(error) if error.is_unsupported() => {
                let socket = self.join_by_socket(group).map_err(never)?;
                let service = Service::default();
                let (gid, port) = (group.octets(), self.port);
                let path = PathTo { gid, lid: 0, port, source_index, service };
                Ok((Held::Socket(socket), GroupPath::direct(&path, DEFAULT_QKEY)))
            }
            Err(error) => Err(never(error)),
        }
    }

    fn join_by_socket(&self, group: Ipv6Addr) -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
        socket.join_multicast_v6(&group, self.interface)?;
        Ok(socket)
    }

    fn join_mgid(
        &self,
        (mgid, common): ([u8; 16], PortSpeed),
        patience: Duration,
    ) -> Result<(Held, GroupPath), JoinError> {
        match self.join_by_ipoib(mgid, patience) {
            Err(JoinError::Never(what)) => self.join_by_request((mgid, common), patience, &what),
            other => other,
        }
    }

    /// Joins where it was not possible through IPoIB, for this reason.
    fn join_by_request(
        &self,
        (mgid, common): ([u8; 16], PortSpeed),
        patience: Duration,
        why: &str,
    ) -> Result<(Held, GroupPath), JoinError> {
        let request = Request {
            device: &self.device,
            port: self.port,
            gid_index: self.gid_index,
            pkey: self.partition.pkey,
            service: self.service(Service::default()),
            common,
        };
        subnet::join(&request, mgid, patience, why)
    }

    fn join_by_ipoib(
        &self,
        mgid: [u8; 16],
        patience: Duration,
    ) -> Result<(Held, GroupPath), JoinError> {
        let interfaces = ipoib_interfaces(self.gid).map_err(never)?;
        let source = ipoib::source(&interfaces, self.partition.pkey).map_err(never)?;
        match Membership::join(source, MulticastGroup::Mgid(mgid), patience) {
            Ok((membership, path)) => Ok((Held::Cm(membership), path)),
            // The kernel does not find the interface's own group.
            Err(error) if error.errno() == ADDRESS_NOT_AVAILABLE => {
                let of_source = interfaces.iter().find(|one| one.addresses.contains(&source));
                let what = of_source.map(|one| ipoib::is_down(&one.name)).unwrap_or_default();
                Err(never(format!("{error}; {what}")))
            }
            Err(error) => Err(by_errno(&error)),
        }
    }
}

/// EADDRNOTAVAIL.
const ADDRESS_NOT_AVAILABLE: i32 = rustix::io::Errno::ADDRNOTAVAIL.raw_os_error();

fn never(what: impl ToString) -> JoinError {
    JoinError::Never(what.to_string())
}

/// Whether a join that failed may go right later. The kernel tells every refusal by the subnet administrator as
/// EINVAL, that of a busy one too.
fn by_errno(error: &Error) -> JoinError {
    use rustix::io::Errno;
    let lasting = [Errno::ACCESS, Errno::PERM, Errno::NOENT, Errno::NODEV, Errno::NOSYS];
    let is_lasting = lasting.iter().any(|errno| errno.raw_os_error() == error.errno());
    match is_lasting || error.is_unsupported() {
        true => never(error),
        false => JoinError::NotYet(error.to_string()),
    }
}
