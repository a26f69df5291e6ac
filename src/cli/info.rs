//! `verbcast info`: this host's RDMA devices, and which one would be used.

use crate::cli::InfoArgs;
use crate::conformance::Kind;
use crate::copy::host;
use crate::failure::Failure;
use serde_json::{Value, json};
use std::env;
use std::fmt::{self, Write};
use std::net::Ipv6Addr;
use verbcast::broadcast::Config;
use verbcast::rdma::{Candidate, DeviceReport, GidReport, Home, PortReport, Survey, survey};
use verbcast_core::rank::Rank;
use verbcast_core::topology::SwitchPath;
use verbcast_verbs::{GidKind, LinkLayer, Protocol};

const HINT: &str = "\
Is there an adapter, and is its driver loaded? `ls /sys/class/infiniband` lists what the kernel has.
With an Ethernet interface, SoftRoCE can stand in for an adapter:
  modprobe rdma_rxe
  rdma link add rxe0 type rxe netdev IFACE
";

pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let Config { device: mut settings, switches, .. } =
        Config::from_env().map_err(Failure::usage)?;
    let place = env::var_os("VERBCAST_TOPOLOGY").map(|file| Place {
        file: file.to_string_lossy().into_owned(),
        host: host::name(),
        switches,
    });
    if !args.device.is_empty() {
        settings.devices.clone_from(&args.device);
    }
    // A kernel without RDMA has no list of devices, which is the same to the user as an empty one.
    let survey = survey(&settings, Rank(0)).unwrap_or_else(|error| Survey {
        devices: Vec::new(),
        reasons: Vec::new(),
        local_rank: 0,
        choice: Err(format!("the kernel's list of RDMA devices cannot be read: {error}")),
        rails: Vec::new(),
    });
    if args.json {
        let text = serde_json::to_string_pretty(&to_json(&survey, place.as_ref()))
            .map_err(Failure::new)?;
        crate::print(&(text + "\n"))
    } else {
        crate::print(&to_text(&survey, place.as_ref()))
    }
}

/// Where this host is in the network.
struct Place {
    /// The topology file.
    file: String,
    host: String,
    switches: SwitchPath,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, host, switches } = self;
        match switches.names() {
            [] => write!(f, "{host} is not in {file}"),
            _ => write!(f, "{host} is below these switches, from the top down: {switches}"),
        }
    }
}

fn to_text(survey: &Survey, place: Option<&Place>) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    for device in &survey.devices {
        let _ = describe_device(&mut text, device);
    }
    if !survey.reasons.is_empty() {
        let _ = writeln!(text, "choice, the best first");
        survey.reasons.iter().for_each(|line| _ = writeln!(text, "  {line}"));
        text.push('\n');
    }
    let _ = match &survey.choice {
        _ if survey.devices.is_empty() => {
            let why = survey.choice.as_ref().err().filter(|why| why.contains("cannot be read"));
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            write!(text, "no RDMA devices{why}\n\n{HINT}")
        }
        Ok(choice) => {
            writeln!(text, "local rank {} would use {}", survey.local_rank, named(survey, choice))
        }
        Err(why) => writeln!(text, "no device would be used: {why}"),
    };
    for (choice, rail) in survey.rails.iter().zip(2..) {
        let _ = match choice {
            Ok(choice) => writeln!(text, "and for rail {rail} {}", named(survey, choice)),
            Err(why) => writeln!(text, "and nothing for rail {rail}: {why}"),
        };
    }
    if let Some(place) = place {
        let _ = writeln!(text, "{place}");
    }
    text
}

/// A port, and why it is the one.
fn named(survey: &Survey, Candidate { device, port, gid_index, why }: &Candidate) -> String {
    let device = &survey.devices[*device].name;
    format!("{device} port {port}, GID {gid_index}: {why}")
}

fn describe_device(text: &mut String, device: &DeviceReport) -> std::fmt::Result {
    writeln!(text, "{}", device.name)?;
    writeln!(text, "  node GUID         {:016x}", device.guid)?;
    writeln!(text, "  protocol          {}", protocol(device.protocol))?;
    if let Some(node) = device.numa_node {
        let distance = device.numa_distance.map(|far| format!(", at distance {far}"));
        writeln!(text, "  NUMA node         {node}{}", distance.unwrap_or_default())?;
    }
    let ports = match &device.ports {
        Ok(ports) => ports,
        Err(why) => return writeln!(text, "  {why}\n"),
    };
    let limits = &device.limits;
    let (groups, qps) = (limits.multicast_groups, limits.multicast_qps);
    writeln!(text, "  multicast groups  at most {groups}, with {qps} queue pairs each")?;
    writeln!(
        text,
        "  queues            at most {} requests, {} completions",
        limits.requests, limits.completions
    )?;
    writeln!(text, "  shared receives   at most {}", limits.shared_receives)?;
    writeln!(text, "  RDMA reads        at most {} at a time", limits.reads)?;
    writeln!(text, "  verified          {}", verified(device))?;
    for PortReport { port, gids, verdict } in ports {
        writeln!(text, "  port {}", port.number)?;
        writeln!(text, "    state           {}", state(port.is_active))?;
        writeln!(text, "    link layer      {}", link_layer(port.link_layer, device.protocol))?;
        if let Some(rate) = port.rate {
            writeln!(text, "    rate            {} Gb/s", f64::from(rate) / 1000.0)?;
        }
        writeln!(text, "    MTU             {} bytes", port.mtu)?;
        if port.link_layer == LinkLayer::InfiniBand {
            writeln!(text, "    LID             {}", port.lid)?;
        }
        for gid in gids {
            let elsewhere =
                if gid.home == Home::Elsewhere { ", not of this network namespace" } else { "" };
            let (index, address, kind) = (gid.index, address(gid), kind(gid.kind));
            writeln!(text, "    GID {index:<11} {address} ({kind}{elsewhere})")?;
        }
        match verdict {
            Ok(index) => writeln!(text, "    usable          yes, with GID {index}")?,
            Err(why) => writeln!(text, "    usable          no: {why}")?,
        }
    }
    writeln!(text)
}

/// Whether anybody has seen verbcast run on such an adapter.
fn verified(device: &DeviceReport) -> String {
    match kind_of(device) {
        Some(kind) if kind.is_verified() => format!("on {} adapters", kind.name()),
        _ => "never verified on this adapter; `verbcast doctor` tries it".to_owned(),
    }
}

/// The adapter's column of the matrix, if it has one.
fn kind_of(device: &DeviceReport) -> Option<Kind> {
    let port = device.ports.as_ref().ok()?.first()?;
    Kind::of_device(&device.name, port.port.link_layer)
}

fn to_json(survey: &Survey, place: Option<&Place>) -> Value {
    let devices: Vec<Value> = survey.devices.iter().map(device_json).collect();
    let choice = |choice: &Result<Candidate, String>| match choice {
        Ok(Candidate { device, port, gid_index, why }) => {
            let device = &survey.devices[*device].name;
            (json!({ "device": device, "port": port, "gid_index": gid_index }), why.clone())
        }
        Err(why) => (Value::Null, why.clone()),
    };
    let (chosen, reason) = choice(&survey.choice);
    let rails = survey.rails.iter().map(choice);
    let rails: Vec<_> =
        rails.map(|(chosen, reason)| json!({ "chosen": chosen, "reason": reason })).collect();
    json!({
        "devices": devices,
        "local_rank": survey.local_rank,
        "reasons": survey.reasons,
        "chosen": chosen,
        "reason": reason,
        "rails": rails,
        "switches": place.map(|place| place.switches.names()),
    })
}

fn device_json(device: &DeviceReport) -> Value {
    let (ports, error) = match &device.ports {
        Ok(ports) => {
            (ports.iter().map(|port| port_json(port, device.protocol)).collect(), Value::Null)
        }
        Err(why) => (Vec::new(), json!(why)),
    };
    let limits = &device.limits;
    json!({
        "name": device.name,
        "node_guid": format!("{:016x}", device.guid),
        "protocol": protocol(device.protocol),
        "numa_node": device.numa_node,
        "numa_distance": device.numa_distance,
        "max_multicast_groups": limits.multicast_groups,
        "max_multicast_queue_pairs": limits.multicast_qps,
        "max_queue_pairs": limits.queue_pairs,
        "max_requests": limits.requests,
        "max_completions": limits.completions,
        "max_shared_receives": limits.shared_receives,
        "max_reads": limits.reads,
        "verified": kind_of(device).is_some_and(Kind::is_verified),
        "ports": ports,
        "error": error,
    })
}

fn port_json(report: &PortReport, protocol: Protocol) -> Value {
    let gid_json = |gid: &GidReport| {
        json!({
            "index": gid.index,
            "address": address(gid),
            "kind": kind(gid.kind),
            "is_elsewhere": gid.home == Home::Elsewhere,
        })
    };
    let gids: Vec<Value> = report.gids.iter().map(gid_json).collect();
    let port = &report.port;
    json!({
        "number": port.number,
        "state": state(port.is_active),
        "link_layer": link_layer(port.link_layer, protocol),
        "rate_mbps": port.rate,
        "mtu": port.mtu,
        "lid": port.lid,
        "gids": gids,
        "usable_gid": report.verdict.as_ref().ok(),
        "problem": report.verdict.as_ref().err(),
    })
}

fn address(gid: &GidReport) -> String {
    match gid.ipv4() {
        Some(ipv4) => ipv4.to_string(),
        None => Ipv6Addr::from(gid.gid).to_string(),
    }
}

fn state(is_active: bool) -> &'static str {
    if is_active { "active" } else { "not active" }
}

fn link_layer(layer: LinkLayer, protocol: Protocol) -> &'static str {
    match (layer, protocol) {
        (LinkLayer::InfiniBand, _) => "InfiniBand",
        (LinkLayer::Ethernet, Protocol::InfiniBand) => "Ethernet (RoCE)",
        (LinkLayer::Ethernet, Protocol::Iwarp) => "Ethernet (iWARP)",
        (LinkLayer::Ethernet, _) => "Ethernet",
        (LinkLayer::Unspecified, _) => "unspecified",
    }
}

fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::InfiniBand => "InfiniBand or RoCE",
        Protocol::Iwarp => "iWARP",
        Protocol::Usnic => "usNIC",
        Protocol::Unspecified => "the vendor's own (such as EFA's)",
    }
}

fn kind(kind: GidKind) -> &'static str {
    match kind {
        GidKind::InfiniBand => "InfiniBand",
        GidKind::RoceV1 => "RoCE v1",
        GidKind::RoceV2 => "RoCE v2",
    }
}
