//! A look at the devices of this host.

use super::choose::choose;
use super::judge::{judge_port, refuse_device};
use super::local_rank::local_rank_of_process;
use super::locality::{Locality, node_of};
use super::report::{DeviceReport, GidReport, Home, Limits, PortReport, Survey};
use crate::rdma::settings::Settings;
use std::net::{IpAddr, Ipv6Addr};
use verbcast_core::rank::Rank;
use verbcast_core::wire::Network;
use verbcast_verbs::{
    Context, GidEntry, GidKind, InterfaceAddress, LinkLayer, Port, Protocol, Result,
    interface_addresses,
};

/// Looks at every device of this host, or at those that the settings name, and chooses one for `rank`. The rank among
/// those of this host is told by the environment; where it does not, `rank` stands for it.
///
/// # Errors
/// If the kernel's list of devices cannot be read.
pub fn survey(settings: &Settings, rank: Rank) -> Result<Survey> {
    let (devices, _): (Vec<_>, Vec<_>) = look(settings)?.into_iter().unzip();
    let local_rank = local_rank_of_process().unwrap_or(rank.0);
    let choose = |rail| choose(&devices, &settings.of_rail(rail), local_rank, None);
    let (reasons, choice) = choose(0);
    let others = if choice.is_ok() { 1..settings.rails } else { 0..0 };
    let rails = others.map(|rail| choose(rail).1).collect();
    Ok(Survey { devices, local_rank, reasons, choice, rails })
}

/// What there is, and what of it can be used; with the devices that could be opened. Only devices that the settings name are
/// opened, if they name any.
///
/// # Errors
/// If the kernel's list of devices cannot be read.
pub fn look(settings: &Settings) -> Result<Vec<(DeviceReport, Option<Context>)>> {
    let locality = Locality::of_process();
    // Without them every GID of an Ethernet port counts as another namespace's, and the refusal names that.
    let addresses =
        interface_addresses().inspect_err(|error| tracing::warn!("{error}")).unwrap_or_default();
    let devices = verbcast_verbs::devices()?;
    let reports = devices.iter().map(|device| {
        let name = device.name();
        let numa_node = node_of(&name);
        let mut report = DeviceReport {
            guid: device.guid(),
            protocol: device.protocol(),
            numa_node,
            numa_distance: numa_node.and_then(|node| locality.distance_to(node)),
            limits: Limits::default(),
            ports: Err("not opened, as VERBCAST_DEVICE names others".to_owned()),
            name,
        };
        let mut context = None;
        if settings.devices.is_empty() || settings.devices.contains(&report.name) {
            let opened = device.open().map_err(|error| format!("cannot be opened: {error}"));
            report.ports = opened.and_then(|opened| {
                let protocol = device.protocol();
                let context = context.insert(opened);
                look_inside(context, protocol, settings, &addresses, &mut report.limits)
            });
        }
        (report, context)
    });
    Ok(reports.collect())
}

fn look_inside(
    context: &Context,
    protocol: Protocol,
    settings: &Settings,
    addresses: &[InterfaceAddress],
    limits: &mut Limits,
) -> std::result::Result<Vec<PortReport>, String> {
    let failed = |error: verbcast_verbs::Error| error.to_string();
    let count = context.limits().map(|attributes| {
        *limits = limits_of(&attributes);
        attributes.phys_port_cnt
    });
    let usable = refuse_device(protocol, limits, settings.multicast);
    let ports = (1..=count.map_err(failed)?).map(|number| {
        let port = context.port(number).map_err(failed)?;
        let gids = gids(context, &port, addresses);
        let verdict = usable.clone().and_then(|()| judge_port(&port, &gids, settings));
        Ok(PortReport { port, gids, verdict })
    });
    ports.collect()
}

fn limits_of(attributes: &verbcast_verbs::DeviceAttributes) -> Limits {
    let count = |number: i32| u32::try_from(number).unwrap_or(0);
    Limits {
        multicast_groups: count(attributes.max_mcast_grp),
        multicast_qps: count(attributes.max_mcast_qp_attach),
        queue_pairs: count(attributes.max_qp),
        requests: count(attributes.max_qp_wr),
        completions: count(attributes.max_cqe),
        shared_queues: count(attributes.max_srq),
        shared_receives: count(attributes.max_srq_wr),
        reads: count(attributes.max_qp_rd_atom.min(attributes.max_qp_init_rd_atom)),
    }
}

fn gids(context: &Context, port: &Port, addresses: &[InterfaceAddress]) -> Vec<GidReport> {
    let report = |entry: GidEntry| GidReport {
        index: entry.index,
        gid: entry.gid,
        kind: entry.kind,
        interface: entry.interface,
        home: home(&entry, port.link_layer, addresses),
    };
    context.gids(port).into_iter().map(report).collect()
}

fn home(entry: &GidEntry, link_layer: LinkLayer, addresses: &[InterfaceAddress]) -> Home {
    if link_layer != LinkLayer::Ethernet || entry.kind == GidKind::InfiniBand {
        return Home::Port;
    }
    let gid = Ipv6Addr::from(entry.gid);
    let (address, offset) =
        gid.to_ipv4_mapped().map_or((IpAddr::V6(gid), 0), |v4| (IpAddr::V4(v4), 96));
    // Every interface has its own link-local network.
    let suits = |one: &&InterfaceAddress| {
        one.address == address && (!gid.is_unicast_link_local() || one.interface == entry.interface)
    };
    match addresses.iter().find(suits) {
        Some(one) => Home::Here(Network::of(gid, offset + one.prefix_len)),
        None => Home::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gid_is_at_home_where_its_address_is() {
        let addresses = [("10.9.0.1", 2, 24), ("2001:db8::7", 2, 64), ("fe80::1", 2, 64)].map(
            |(address, interface, prefix_len)| InterfaceAddress {
                interface,
                address: address.parse().unwrap(),
                prefix_len,
            },
        );
        for (gid, interface, network) in [
            ("::ffff:10.9.0.1", 2, Some("10.9.0.0/24")),
            ("::ffff:10.9.0.2", 2, None),
            ("2001:db8::7", 2, Some("2001:db8::/64")),
            ("fe80::1", 2, Some("fe80::/64")),
            // That of another namespace, whose interfaces have numbers of their own.
            ("fe80::1", 3, None),
        ] {
            let gid = gid.parse::<Ipv6Addr>().unwrap().octets();
            let entry = GidEntry { index: 0, gid, kind: GidKind::RoceV2, interface };
            let found = match home(&entry, LinkLayer::Ethernet, &addresses) {
                Home::Here(network) => Some(network.to_string()),
                _ => None,
            };
            assert_eq!(found.as_deref(), network);
            assert_eq!(home(&entry, LinkLayer::InfiniBand, &addresses), Home::Port);
        }
    }
}
