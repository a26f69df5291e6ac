//! The port at which everything is tried.

use super::group::Group;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use verbcast::rdma::{Partition, Settings, Survey, choose_partition, ipoib_address};
use verbcast_verbs::{Context, LinkLayer, PortPartition, ipoib_interfaces};

/// A port of this host, as the survey of its devices chose it.
#[derive(Clone, Debug)]
pub struct Site {
    pub device: String,
    pub port: u8,
    pub gid_index: u8,
    pub gid: [u8; 16],
    pub lid: u16,
    pub link_layer: LinkLayer,
    /// Bytes of the largest packet.
    pub mtu: usize,
    /// The network interface of the GID; 0 for none.
    pub interface: u32,
    pub settings: Settings,
}

impl Site {
    /// The port that the survey chose, or why there is none.
    pub fn of(survey: &Survey, settings: &Settings) -> Result<Site, String> {
        let choice = survey.choice.as_ref().map_err(Clone::clone)?;
        let device = &survey.devices[choice.device];
        let ports = device.ports.as_ref().map_err(Clone::clone)?;
        let report = ports.iter().find(|report| report.port.number == choice.port);
        let gid = report.and_then(|report| {
            report.gids.iter().find(|gid| gid.index == choice.gid_index).map(|gid| (report, gid))
        });
        let (report, gid) = gid.ok_or_else(|| format!("{} has changed meanwhile", device.name))?;
        Ok(Site {
            device: device.name.clone(),
            port: choice.port,
            gid_index: choice.gid_index,
            gid: gid.gid,
            lid: report.port.lid,
            link_layer: report.port.link_layer,
            mtu: report.port.mtu,
            interface: gid.interface,
            settings: settings.clone(),
        })
    }

    pub fn name(&self) -> String {
        let name = format!("{} port {}", self.device, self.port);
        match self.settings.rails {
            1 => name,
            rails => format!("{name}, rail 1 of {rails}"),
        }
    }

    /// The IP address that a join is bound to.
    pub fn address(&self, context: &Context) -> Result<SocketAddr, String> {
        let own = Ipv6Addr::from(self.gid);
        match (self.link_layer, own.to_ipv4_mapped()) {
            (LinkLayer::InfiniBand, _) => {
                let interfaces = ipoib_interfaces(self.gid).map_err(|error| error.to_string())?;
                ipoib_address(&interfaces, self.partition(context)?.pkey)
            }
            (_, Some(v4)) => Ok(SocketAddr::new(IpAddr::V4(v4), 0)),
            (_, None) => {
                let scope = if own.is_unicast_link_local() { self.interface } else { 0 };
                Ok(SocketAddrV6::new(own, 0, 0, scope).into())
            }
        }
    }

    /// The partition that is used.
    pub fn partition(&self, context: &Context) -> Result<Partition, String> {
        let pkeys = context.pkeys(self.port).map_err(|error| error.to_string())?;
        let interfaces = ipoib_interfaces(self.gid).unwrap_or_default();
        choose_partition(&pkeys, self.settings.pkey, &interfaces)
    }

    /// The port with its partition.
    pub fn at(&self, context: &Context) -> Result<PortPartition, String> {
        Ok(PortPartition { port: self.port, pkey_index: self.partition(context)?.index })
    }

    /// A group of the kind that the port can join, which nobody else uses.
    pub fn draw_group(&self) -> Group {
        Group::draw(self.link_layer, Ipv6Addr::from(self.gid).to_ipv4_mapped().is_some())
    }

    #[cfg(test)]
    pub fn example() -> Site {
        Site {
            device: "test0".to_owned(),
            port: 1,
            gid_index: 0,
            gid: Ipv6Addr::from_bits(0xffff_0a09_0001).octets(),
            lid: 0,
            link_layer: LinkLayer::Ethernet,
            mtu: 4096,
            interface: 1,
            settings: Settings::default(),
        }
    }
}
