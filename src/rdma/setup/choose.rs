//! The choice among a host's ports: a function of what its devices are, the settings, the local rank and the fabric
//! that the ranks agreed on.

use super::report::{Candidate, DeviceReport, Home, PortReport};
use crate::rdma::settings::Settings;
use std::cmp::Reverse;
use std::fmt;
use verbcast_core::wire::Fabric;
use verbcast_verbs::{LinkLayer, Port};

/// A port that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usable {
    device: usize,
    port: u8,
    gid_index: u8,
    fabric: Fabric,
    merits: Merits,
}

/// What is compared, in this order: InfiniBand before Ethernet, the faster, the larger packets, the nearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Merits {
    is_ethernet: bool,
    rate: Reverse<u32>,
    mtu: Reverse<usize>,
    distance: u32,
}

/// The distance of a NUMA node from itself, which also stands for what is not known.
const NEAREST: u32 = 10;

impl fmt::Display for Merits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_ethernet { "Ethernet, " } else { "InfiniBand, " })?;
        match self.rate.0 {
            0 => f.write_str("rate not known"),
            rate => write!(f, "{} Gb/s", f64::from(rate) / 1000.0),
        }?;
        write!(f, ", MTU {}, NUMA distance {}", self.mtu.0, self.distance)
    }
}

impl Merits {
    fn of(device: &DeviceReport, port: &Port) -> Self {
        Merits {
            is_ethernet: port.link_layer == LinkLayer::Ethernet,
            rate: Reverse(port.rate.unwrap_or(0)),
            mtu: Reverse(port.mtu),
            distance: device.numa_distance.unwrap_or(NEAREST),
        }
    }

    fn differ_in_distance_only(&self, other: &Merits) -> bool {
        Merits { distance: other.distance, ..*self } == *other
    }

    /// Why a port with these merits comes after one with better ones.
    fn against(&self, best: &Merits) -> &'static str {
        if self.is_ethernet != best.is_ethernet {
            "InfiniBand goes first"
        } else if self.rate != best.rate {
            "slower"
        } else if self.mtu != best.mtu {
            "smaller packets"
        } else {
            "farther"
        }
    }
}

/// The ports of some devices, the best first; among those as good, in the order of the devices. And why others cannot
/// be used.
pub fn rank(devices: &[DeviceReport], names: &[String]) -> (Vec<Usable>, Vec<String>) {
    let (mut usable, mut refusals) = (Vec::new(), Vec::new());
    for (index, device) in devices.iter().enumerate() {
        if !names.is_empty() && !names.contains(&device.name) {
            continue;
        }
        let ports = match &device.ports {
            Ok(ports) => ports,
            Err(why) => {
                refusals.push(format!("{}: {why}", device.name));
                continue;
            }
        };
        for report @ PortReport { port, verdict, .. } in ports {
            match verdict {
                Ok(gid_index) => usable.push(Usable {
                    device: index,
                    port: port.number,
                    gid_index: *gid_index,
                    fabric: fabric_of(report, *gid_index),
                    merits: Merits::of(device, port),
                }),
                Err(why) => refusals.push(format!("{} port {}: {why}", device.name, port.number)),
            }
        }
    }
    usable.sort_by_key(|one| one.merits);
    (usable, refusals)
}

/// The fabrics of ports, each once, in the order of the ports.
pub fn fabrics(usable: &[Usable]) -> Vec<Fabric> {
    let mut fabrics = Vec::new();
    for Usable { fabric, .. } in usable {
        if !fabrics.contains(fabric) {
            fabrics.push(*fabric);
        }
    }
    fabrics
}

/// The fabric of a port that uses this GID.
pub fn fabric_of(report: &PortReport, gid_index: u8) -> Fabric {
    let gid = report.gids.iter().find(|gid| gid.index == gid_index);
    match report.port.link_layer {
        LinkLayer::InfiniBand | LinkLayer::Unspecified => {
            let half = gid.and_then(|gid| gid.gid.first_chunk()).copied().unwrap_or_default();
            Fabric::InfiniBand { subnet_prefix: u64::from_be_bytes(half) }
        }
        LinkLayer::Ethernet => Fabric::Ethernet(match gid.map(|gid| gid.home) {
            Some(Home::Here(network)) => Some(network),
            _ => None,
        }),
    }
}

/// The port that a rank uses, and how the choice came about, line by line. Without a fabric that the ranks agreed on,
/// it is that of the best port.
pub fn choose(
    devices: &[DeviceReport],
    settings: &Settings,
    local_rank: u32,
    fabric: Option<Fabric>,
) -> (Vec<String>, Result<Candidate, String>) {
    let local_rail = settings.local_rail(local_rank);
    let named = match settings.devices.len() {
        0 => &[][..],
        count => std::slice::from_ref(&settings.devices[local_rail as usize % count]),
    };
    let (usable, refusals) = rank(devices, named);
    let fabric = fabric.or(usable.first().map(|best| best.fabric));
    let reachable = |one: &&Usable| fabric.is_some_and(|fabric| one.fabric.is_on(&fabric));
    // Where the fabric leaves the network open, the best port's is taken.
    let best = usable.iter().find(reachable);
    let Some(best) = best else {
        let why = refuse(devices, named, &usable, &refusals, fabric);
        return (refusals, Err(why));
    };
    let alike = alike(&usable, best, settings.rails.into());
    if named.is_empty() && alike.len() < usize::from(settings.rails) {
        let (rails, best) = (settings.rails, &best.merits);
        let why = format!(
            "{rails} rails need as many ports as fast as the best ({best}) on its fabric; there are {}; name devices to \
             take others",
            alike.len()
        );
        return (refusals, Err(why));
    }
    let at = local_rail as usize % alike.len();
    let chosen = alike[at];
    let mut reasons = Vec::new();
    for one in &usable {
        let why = if one == chosen {
            "chosen".to_owned()
        } else if alike.contains(&one) {
            let how = if one.merits == best.merits { "good" } else { "fast" };
            let of_rails = if settings.rails > 1 { "other rails and " } else { "" };
            format!("as {how}, for {of_rails}other local ranks")
        } else if one.merits == best.merits {
            format!("on {}, not {}", one.fabric, best.fabric)
        } else if one.merits < best.merits {
            format!("better, but on {}, which not all ranks have", one.fabric)
        } else {
            one.merits.against(&best.merits).to_owned()
        };
        let name = &devices[one.device].name;
        reasons.push(format!("{name} port {}: {}: {why}", one.port, one.merits));
    }
    reasons.extend(refusals);
    let mut why = match named {
        [] => format!("{}", chosen.merits),
        _ => format!("asked for by name; {}", chosen.merits),
    };
    if alike.len() > 1 {
        let rail = match settings.rails {
            1 => String::new(),
            rails => format!(" for rail {} of {rails}", settings.rail + 1),
        };
        why +=
            &format!("; local rank {local_rank} takes number {} of {}{rail}", at + 1, alike.len());
    }
    let Usable { device, port, gid_index, .. } = *chosen;
    (reasons, Ok(Candidate { device, port, gid_index, why }))
}

/// The ports that local ranks take turns at: those as good as the best. Where these are fewer than the rails, also those
/// that are farther, as no two rails share a port.
fn alike<'a>(usable: &'a [Usable], best: &Usable, rails: usize) -> Vec<&'a Usable> {
    let on_fabric = || usable.iter().filter(|one| one.fabric == best.fabric);
    let as_good: Vec<_> = on_fabric().filter(|one| one.merits == best.merits).collect();
    if as_good.len() >= rails {
        return as_good;
    }
    on_fabric().filter(|one| one.merits.differ_in_distance_only(&best.merits)).collect()
}

fn refuse(
    devices: &[DeviceReport],
    named: &[String],
    usable: &[Usable],
    refusals: &[String],
    fabric: Option<Fabric>,
) -> String {
    let names: Vec<_> = devices.iter().map(|device| device.name.as_str()).collect();
    match (named, fabric) {
        _ if devices.is_empty() => {
            "there is no RDMA device on this host; with an Ethernet interface, SoftRoCE can stand \
             in: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IFACE"
                .to_owned()
        }
        ([wanted], _) if !names.contains(&wanted.as_str()) => {
            format!("there is no RDMA device {wanted:?}; there are: {}", names.join(", "))
        }
        (_, Some(fabric)) if !usable.is_empty() => {
            let own = fabrics(usable).iter().map(Fabric::to_string).collect::<Vec<_>>().join(", ");
            let what = named.first().map_or("its ports are", |_| "the device named for it is");
            format!("{what} on {own}, but the ranks have in common only {fabric}")
        }
        _ => format!("no RDMA port can be used ({})", refusals.join("; ")),
    }
}

#[cfg(test)]
mod tests;
