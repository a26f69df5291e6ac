//! The format that ibsim reads, which is close to what `ibnetdiscover` prints.

use crate::topology::{Kind, Node, Port, Quality, Topology};
use std::fmt::Write;

/// The longest name that ibsim takes.
const MAX_NAME: usize = 63;

/// The topology as an ibsim netlist, with the GUIDs, widths and speeds of `topology`. Hosts come
/// first, so that ibsim attaches programs to the first host unless they say otherwise.
pub fn netlist(topology: &Topology) -> String {
    let mut text = String::new();
    for (index, node) in topology.nodes().iter().enumerate() {
        // Writing to a String does not fail.
        let _ = match node.kind {
            Kind::Host => write!(text, "caguid=0x{:x}\nHca", node.guid),
            Kind::Switch => write!(text, "switchguid=0x{:x}\nSwitch", node.guid),
        };
        let _ = writeln!(text, " {} \"{}\"", node.ports, identifier(node));
        for (port, peer) in topology.neighbours(index as u32) {
            let remote = identifier(topology.node(peer.node));
            let link = topology.link(Port { node: index as u32, port });
            let options = link.map_or(String::new(), |link| options(&link.quality));
            let _ = writeln!(text, "[{port}] \"{remote}\"[{}]{options}", peer.port);
        }
        text.push('\n');
    }
    text
}

/// The name that a node has in a netlist: its own, if ibsim takes it, else one made from its GUID.
pub fn identifier(node: &Node) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !node.name.is_empty() && node.name.len() <= MAX_NAME && node.name.chars().all(is_plain) {
        return node.name.clone();
    }
    match node.kind {
        Kind::Host => format!("H-{:016x}", node.guid),
        Kind::Switch => format!("S-{:016x}", node.guid),
    }
}

/// Enabled width, speed and extended speed, as PortInfo has them.
fn options(quality: &Quality) -> String {
    let width = match quality.lanes {
        1 => 1,
        2 => 16,
        8 => 4,
        12 => 8,
        _ => 2,
    };
    let (speed, extended) = match quality.lane_mbps {
        ..=2_500 => (1, 0),
        2_501..=5_000 => (2, 0),
        5_001..=10_000 => (4, 0),
        10_001..=14_000 => (4, 1),
        14_001..=25_000 => (4, 2),
        25_001..=50_000 => (4, 4),
        _ => (4, 8),
    };
    let extended = if extended == 0 { String::new() } else { format!(" e={extended}") };
    format!(" w={width} s={speed}{extended}")
}
