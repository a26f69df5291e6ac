//! Finds a fabric that one has in mind in the one that is there.

use super::multicast::Entries;
use super::topology::{Invalid, Port, Topology};
use std::collections::HashMap;

/// For each node of `wanted` that of `there`: the one with its GUID if all switches of `wanted` can be
/// found so, else the one with its name. What `there` has besides does not matter.
///
/// # Errors
/// The first node or link of `wanted` that is not there, or not the same kind of node.
pub fn locate(wanted: &Topology, there: &Topology) -> Result<Vec<u32>, Invalid> {
    let by_guid: HashMap<u64, u32> =
        (0..).zip(there.nodes()).map(|(index, node)| (node.guid, index)).collect();
    let by_name: HashMap<&str, u32> =
        (0..).zip(there.nodes()).map(|(index, node)| (node.name.as_str(), index)).collect();
    let goes_by_guid =
        wanted.switch_nodes().all(|node| by_guid.contains_key(&wanted.node(node).guid));
    let mut found = Vec::with_capacity(wanted.nodes().len());
    for node in wanted.nodes() {
        let index = match goes_by_guid {
            true => by_guid.get(&node.guid),
            false => by_name.get(node.name.as_str()),
        };
        let by = if goes_by_guid { format!(" (GUID 0x{:x})", node.guid) } else { String::new() };
        let index = index.ok_or_else(|| Invalid(format!("there is no {}{by}", node.name)))?;
        if there.node(*index).kind != node.kind {
            return Err(Invalid(format!("{} is no {:?} there", node.name, node.kind)));
        }
        found.push(*index);
    }
    for link in wanted.links() {
        let [a, b] = link.ends.map(|end| Port { node: found[end.node as usize], port: end.port });
        let is_there = a.port <= there.node(a.node).ports && there.peer(a) == Some(b);
        if !is_there {
            let name = |end: Port| format!("port {} of {}", end.port, wanted.node(end.node).name);
            let [a, b] = link.ends.map(name);
            return Err(Invalid(format!("there is no link from {a} to {b}")));
        }
    }
    Ok(found)
}

/// The same entries on the switches of `there`, whose nodes for those of `wanted` were [located](locate).
pub fn relocate(entries: &Entries, wanted: &Topology, there: &Topology, nodes: &[u32]) -> Entries {
    let mut relocated = Entries::none(there);
    for node in wanted.switch_nodes() {
        let at = there.switch_index(nodes[node as usize]);
        *relocated.ports_mut(at) = entries.ports(wanted.switch_index(node));
    }
    relocated
}
