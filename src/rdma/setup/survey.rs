//! The devices of this host, and which of them a communicator would use.

use crate::rdma::settings::{Multicast, Settings};
use std::net::{Ipv4Addr, Ipv6Addr};
use verbcast_core::rank::Rank;
use verbcast_verbs::{Device, GidKind, LinkLayer, Port};

/// A GID, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GidReport {
    /// Its place in the port's table.
    pub index: u8,
    /// The GID, in network order.
    pub gid: [u8; 16],
    /// Which packets it stands for.
    pub kind: GidKind,
    /// Index of the network interface it belongs to; 0 for none.
    pub interface: u32,
}

impl GidReport {
    /// The IPv4 address that the GID maps, if it does.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        Ipv6Addr::from(self.gid).to_ipv4_mapped()
    }
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortReport {
    /// Its state.
    pub port: Port,
    /// Its filled GIDs.
    pub gids: Vec<GidReport>,
    /// The index of the GID that would be used, or why the port cannot be.
    pub verdict: Result<u8, String>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its node GUID.
    pub guid: u64,
    /// Multicast groups that it takes part in at most.
    pub max_multicast_groups: u32,
    /// QPs that it attaches to one group at most.
    pub max_multicast_qps: u32,
    /// Completions that one queue holds at most.
    pub max_completions: u32,
    /// Its ports, or why it cannot be opened.
    pub ports: Result<Vec<PortReport>, String>,
}

/// The port that a rank would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Index into [`Survey::devices`].
    pub device: usize,
    /// Its port number.
    pub port: u8,
    /// Its GID's index.
    pub gid_index: u8,
    /// Why this one.
    pub why: String,
}

/// All devices, and the choice among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// All devices, by name.
    pub devices: Vec<DeviceReport>,
    /// The port that would be used, or why there is none.
    pub choice: Result<Candidate, String>,
}

/// Looks at every device of this host, and chooses one for `rank`.
///
/// # Errors
/// If the kernel's list of devices cannot be read.
pub fn survey(settings: &Settings, rank: Rank) -> verbcast_verbs::Result<Survey> {
    let devices: Vec<_> =
        verbcast_verbs::devices()?.iter().map(|device| look_at(device, settings)).collect();
    let choice = choose(&devices, settings, rank);
    Ok(Survey { devices, choice })
}

fn look_at(device: &Device, settings: &Settings) -> DeviceReport {
    let mut report = DeviceReport {
        name: device.name(),
        guid: device.guid(),
        max_multicast_groups: 0,
        max_multicast_qps: 0,
        max_completions: 0,
        ports: Ok(Vec::new()),
    };
    report.ports = look_inside(device, settings, &mut report).map_err(|error| error.to_string());
    report
}

fn look_inside(
    device: &Device,
    settings: &Settings,
    report: &mut DeviceReport,
) -> verbcast_verbs::Result<Vec<PortReport>> {
    let context = device.open()?;
    let limits = context.limits()?;
    report.max_multicast_groups = limits.max_mcast_grp.try_into().unwrap_or(0);
    report.max_multicast_qps = limits.max_mcast_qp_attach.try_into().unwrap_or(0);
    report.max_completions = limits.max_cqe.try_into().unwrap_or(0);
    let multicasts = report.max_multicast_groups > 0 && report.max_multicast_qps > 0;
    let mut ports = Vec::new();
    for number in 1..=limits.phys_port_cnt {
        let port = context.port(number)?;
        let gids: Vec<_> = context
            .gids(&port)?
            .into_iter()
            .map(|entry| GidReport {
                index: entry.index,
                gid: entry.gid,
                kind: entry.kind,
                interface: entry.interface,
            })
            .collect();
        let verdict = judge(&port, &gids, multicasts, settings);
        ports.push(PortReport { port, gids, verdict });
    }
    Ok(ports)
}

/// The index of the GID to use at a port, or why it cannot be used.
fn judge(
    port: &Port,
    gids: &[GidReport],
    multicasts: bool,
    settings: &Settings,
) -> Result<u8, String> {
    if settings.port.is_some_and(|wanted| wanted != port.number) {
        return Err(format!("port {} is not the one asked for", port.number));
    }
    if !port.is_active {
        return Err("the port is not active".to_owned());
    }
    if !multicasts && settings.multicast == Multicast::Require {
        return Err(
            "the device has no multicast (max_mcast_grp or max_mcast_qp_attach is 0)".into()
        );
    }
    if let Some(wanted) = settings.gid_index {
        let there = gids.iter().any(|gid| gid.index == wanted);
        return there.then_some(wanted).ok_or_else(|| format!("there is no GID of index {wanted}"));
    }
    let routable = |gid: &&GidReport| gid.kind == GidKind::RoceV2;
    let chosen = match port.link_layer {
        LinkLayer::InfiniBand => gids.first(),
        LinkLayer::Ethernet => gids
            .iter()
            .filter(routable)
            .find(|gid| gid.ipv4().is_some())
            .or_else(|| gids.iter().filter(routable).find(|gid| gid.gid[0] != 0xfe))
            .or_else(|| gids.iter().find(routable)),
    };
    chosen.map(|gid| gid.index).ok_or_else(|| {
        "the port has no GID for RoCE v2: has its network interface an IP address?".to_owned()
    })
}

fn choose(devices: &[DeviceReport], settings: &Settings, rank: Rank) -> Result<Candidate, String> {
    if devices.is_empty() {
        return Err("there is no RDMA device on this host; with an Ethernet interface, SoftRoCE \
                    can stand in: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IFACE"
            .to_owned());
    }
    let wanted = match settings.devices.len() {
        0 => None,
        count => Some(&settings.devices[rank.index() % count]),
    };
    let mut refusals = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        if wanted.is_some_and(|wanted| *wanted != device.name) {
            continue;
        }
        let ports = match &device.ports {
            Ok(ports) => ports,
            Err(error) => {
                refusals.push(format!("{}: {error}", device.name));
                continue;
            }
        };
        for PortReport { port, verdict, .. } in ports {
            match verdict {
                Ok(gid_index) => {
                    let why = match wanted {
                        Some(_) => "asked for by name",
                        None => "the first with an active port, multicast and a usable GID",
                    };
                    return Ok(Candidate {
                        device: index,
                        port: port.number,
                        gid_index: *gid_index,
                        why: why.to_owned(),
                    });
                }
                Err(why) => refusals.push(format!("{} port {}: {why}", device.name, port.number)),
            }
        }
    }
    let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
    Err(match (wanted, refusals.is_empty()) {
        (Some(wanted), true) => {
            format!("there is no RDMA device {wanted:?}; there are: {}", names.join(", "))
        }
        _ => format!("no RDMA port can be used ({})", refusals.join("; ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, is_active: bool) -> DeviceReport {
        let port = Port {
            number: 1,
            is_active,
            link_layer: LinkLayer::Ethernet,
            mtu: 4096,
            lid: 0,
            gid_table_len: 2,
        };
        let gids: Vec<_> = ["fe80::1", "::ffff:10.9.0.1"]
            .iter()
            .zip(0..)
            .map(|(gid, index)| GidReport {
                index,
                gid: gid.parse::<Ipv6Addr>().unwrap().octets(),
                kind: GidKind::RoceV2,
                interface: 2,
            })
            .collect();
        let verdict = judge(&port, &gids, true, &Settings::default());
        DeviceReport {
            name: name.to_owned(),
            guid: 1,
            max_multicast_groups: 8,
            max_multicast_qps: 56,
            max_completions: 100,
            ports: Ok(vec![PortReport { port, gids, verdict }]),
        }
    }

    #[test]
    fn an_ipv4_gid_on_an_active_port_is_preferred() {
        let devices = [device("a", false), device("b", true)];
        let choice = choose(&devices, &Settings::default(), Rank(0)).unwrap();
        assert_eq!((choice.device, choice.gid_index), (1, 1));
    }

    #[test]
    fn ranks_take_turns_among_named_devices() {
        let devices = [device("a", true), device("b", true)];
        let settings = Settings { devices: vec!["b".into(), "a".into()], ..Settings::default() };
        for (rank, index) in [(0, 1), (1, 0), (2, 1)] {
            assert_eq!(choose(&devices, &settings, Rank(rank)).unwrap().device, index);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let none = choose(&[], &Settings::default(), Rank(0)).unwrap_err();
        assert!(none.contains("no RDMA device on this host"), "{none}");
        let settings = Settings { devices: vec!["mlx9".into()], ..Settings::default() };
        let wrong = choose(&[device("a", true)], &settings, Rank(0)).unwrap_err();
        assert!(wrong.contains("\"mlx9\"") && wrong.contains("there are: a"), "{wrong}");
        let down = choose(&[device("a", false)], &Settings::default(), Rank(0)).unwrap_err();
        assert!(down.contains("a port 1: the port is not active"), "{down}");
    }
}
