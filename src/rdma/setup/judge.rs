//! Whether a device and a port can be used, and with which GID.

use super::report::{GidReport, Home, Limits};
use crate::rdma::settings::{Multicast, Settings};
use std::net::Ipv6Addr;
use verbcast_verbs::{GidKind, LinkLayer, Port, Protocol};

/// Why a device cannot be used, whatever its ports.
pub fn refuse_device(
    protocol: Protocol,
    limits: &Limits,
    multicast: Multicast,
) -> Result<(), String> {
    let missing = |what: &str| Err(format!("the device has no {what}, which verbcast needs"));
    match protocol {
        Protocol::InfiniBand => {}
        Protocol::Iwarp => return missing("datagrams (UD): it speaks iWARP"),
        Protocol::Usnic => return missing("reliable connections (RC): it speaks usNIC"),
        Protocol::Unspecified => {
            return missing(
                "reliable connections (RC): it speaks a protocol of its vendor, as EFA",
            );
        }
    }
    if limits.shared_queues == 0 || limits.shared_receives == 0 {
        return missing("shared receive queues (max_srq or max_srq_wr is 0)");
    }
    if limits.reads == 0 {
        return missing("RDMA reads (max_qp_rd_atom or max_qp_init_rd_atom is 0)");
    }
    let multicasts = limits.multicast_groups > 0 && limits.multicast_qps > 0;
    if !multicasts && multicast == Multicast::Require {
        return Err(
            "the device has no multicast (max_mcast_grp or max_mcast_qp_attach is 0); with \
                    VERBCAST_MULTICAST=prefer it is used without"
                .to_owned(),
        );
    }
    Ok(())
}

/// The index of the GID to use at a port of a device that can be used, or why the port cannot be.
pub fn judge_port(port: &Port, gids: &[GidReport], settings: &Settings) -> Result<u8, String> {
    if let Some(wanted) = settings.port.filter(|wanted| *wanted != port.number) {
        return Err(format!("VERBCAST_PORT asks for port {wanted}"));
    }
    if !port.is_active {
        return Err("the port is not active".to_owned());
    }
    if let Some(wanted) = settings.gid_index {
        let found = gids.iter().find(|gid| gid.index == wanted);
        let found = found.ok_or_else(|| {
            format!("there is no GID of index {wanted}, which VERBCAST_GID_INDEX asks for")
        })?;
        return if is_here(found) { Ok(wanted) } else { Err(elsewhere(found)) };
    }
    let chosen = match port.link_layer {
        LinkLayer::InfiniBand | LinkLayer::Unspecified => gids.first(),
        LinkLayer::Ethernet => {
            let routable = |gid: &&GidReport| gid.kind == GidKind::RoceV2;
            let here = || gids.iter().filter(routable).filter(|gid| is_here(gid));
            let any = |suits: fn(&GidReport) -> bool| here().find(|gid| suits(gid));
            let chosen = any(|gid| gid.ipv4().is_some())
                .or_else(|| any(|gid| gid.gid[0] != 0xfe))
                .or_else(|| any(|_| true));
            if let (None, Some(gid)) = (chosen, gids.iter().find(routable)) {
                return Err(elsewhere(gid));
            }
            chosen
        }
    };
    chosen.map(|gid| gid.index).ok_or_else(|| match port.link_layer {
        LinkLayer::Ethernet => {
            "the port has no GID for RoCE v2: has its network interface an IP address?".to_owned()
        }
        _ => "the port has no GID".to_owned(),
    })
}

/// The GID by which a port joins IPv6 groups and sends to them, beside the one that was chosen: that one, if it can be; else one
/// of its network interface, link-local ones last.
pub fn ipv6_beside<'a>(chosen: &GidReport, gids: &'a [GidReport]) -> Option<&'a GidReport> {
    let suits = |gid: &&GidReport| {
        let is_ipv6 = gid.kind == GidKind::RoceV2 && gid.ipv4().is_none();
        is_ipv6 && is_here(gid) && gid.interface == chosen.interface
    };
    let all = gids.iter().filter(suits);
    all.min_by_key(|gid| (gid.index != chosen.index, gid.gid[0] == 0xfe))
}

fn is_here(gid: &GidReport) -> bool {
    gid.home != Home::Elsewhere
}

fn elsewhere(gid: &GidReport) -> String {
    let address = Ipv6Addr::from(gid.gid);
    let address = gid.ipv4().map_or(address.to_string(), |v4| v4.to_string());
    format!(
        "GID {} ({address}) is the address of no interface here, but of another network namespace: \
         run where the interface is (a container: with the host's network), or move the device here \
         (`rdma dev set NAME netns NAME`)",
        gid.index
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(link_layer: LinkLayer) -> Port {
        Port {
            number: 1,
            is_active: true,
            link_layer,
            mtu: 4096,
            rate: Some(100_000),
            lid: 0,
            gid_table_len: 8,
        }
    }

    fn gids(addresses: &[(&str, GidKind, bool)]) -> Vec<GidReport> {
        let report = |(index, (gid, kind, is_here)): (u8, &(&str, GidKind, bool))| GidReport {
            index,
            gid: gid.parse::<Ipv6Addr>().unwrap().octets(),
            kind: *kind,
            interface: 2,
            home: if *is_here { Home::Port } else { Home::Elsewhere },
        };
        (0..).zip(addresses).map(report).collect()
    }

    #[test]
    fn roce_takes_a_version_2_gid_of_this_network_namespace_ipv4_first() {
        const V2: GidKind = GidKind::RoceV2;
        let choose =
            |gids: &[GidReport]| judge_port(&port(LinkLayer::Ethernet), gids, &Settings::default());
        let all = gids(&[
            ("fe80::1", GidKind::RoceV1, true),
            ("fe80::1", V2, true),
            ("2001:db8::1", V2, true),
            ("::ffff:10.0.0.1", V2, false),
            ("::ffff:10.9.0.1", V2, true),
        ]);
        assert_eq!(choose(&all), Ok(4));
        assert_eq!(choose(&all[..4]), Ok(2));
        assert_eq!(choose(&all[..2]), Ok(1));
        let none = choose(&all[..1]).unwrap_err();
        assert!(none.contains("no GID for RoCE v2"), "{none}");
        let others = choose(&all[3..4]).unwrap_err();
        assert!(
            others.contains("GID 3 (10.0.0.1)") && others.contains("network namespace"),
            "{others}"
        );
        let asked = Settings { gid_index: Some(3), ..Settings::default() };
        let asked = judge_port(&port(LinkLayer::Ethernet), &all, &asked).unwrap_err();
        assert!(asked.contains("network namespace"), "{asked}");
    }

    #[test]
    fn ipv6_groups_are_joined_by_the_chosen_gid_or_one_of_its_interface() {
        const V2: GidKind = GidKind::RoceV2;
        let mut all = gids(&[
            ("2001:db8:1::1", V2, true),
            ("::ffff:10.9.0.1", V2, true),
            ("2001:db8:5::2", V2, false),
            ("fe80::1", V2, true),
            ("2001:db8:5::1", GidKind::RoceV1, true),
            ("2001:db8:5::1", V2, true),
            ("::ffff:10.9.5.1", V2, true),
            ("::ffff:10.9.6.1", V2, true),
        ]);
        // The first two are of the untagged network, the last one of a further VLAN, and the others of one.
        for (gid, interface) in all.iter_mut().zip([2, 2, 3, 3, 3, 3, 3, 4]) {
            gid.interface = interface;
        }
        let beside = |chosen: usize| ipv6_beside(&all[chosen], &all).map(|gid| gid.index);
        let expected =
            [(0, Some(0)), (1, Some(0)), (3, Some(3)), (5, Some(5)), (6, Some(5)), (7, None)];
        for (chosen, index) in expected {
            assert_eq!(beside(chosen), index, "beside {chosen}");
        }
    }

    #[test]
    fn what_a_device_lacks_is_named() {
        let whole = Limits {
            multicast_groups: 8,
            multicast_qps: 16,
            queue_pairs: 100,
            requests: 100,
            completions: 100,
            shared_queues: 1,
            shared_receives: 100,
            reads: 1,
        };
        let refuse = |protocol, limits: Limits, multicast| {
            refuse_device(protocol, &limits, multicast).err().unwrap_or_default()
        };
        let ib = Protocol::InfiniBand;
        assert_eq!(refuse(ib, whole, Multicast::Require), "");
        for (protocol, limits, multicast, expected) in [
            (Protocol::Iwarp, whole, Multicast::Off, "iWARP"),
            (Protocol::Usnic, whole, Multicast::Off, "usNIC"),
            (Protocol::Unspecified, whole, Multicast::Prefer, "(RC)"),
            (ib, Limits { shared_queues: 0, ..whole }, Multicast::Off, "max_srq"),
            (ib, Limits { reads: 0, ..whole }, Multicast::Off, "RDMA reads"),
            (ib, Limits { multicast_qps: 0, ..whole }, Multicast::Require, "max_mcast_qp_attach"),
        ] {
            let why = refuse(protocol, limits, multicast);
            assert!(why.contains(expected), "{why}");
        }
        let without = Limits { multicast_qps: 0, ..whole };
        assert_eq!(refuse(ib, without, Multicast::Prefer), "");
    }
}
