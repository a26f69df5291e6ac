//! Packets byte by byte, and a walk through switches that are made up.

use super::*;
use crate::{
    Entries, FIRST_MLID, FatTree, Kind, Mesh, MulticastTables, Port, Quality, Topology, locate,
};
use std::collections::HashMap;

fn path(ports: &[u8]) -> Path {
    ports.iter().fold(Path::here(), |path, port| path.then(*port).unwrap())
}

#[test]
fn a_directed_packet_is_laid_out_as_the_specification_has_it() {
    let attribute = Attribute::MulticastForwardingTable { block: 0x1f, position: 2 };
    let data = std::array::from_fn(|at| at as u8);
    let route = Route::Directed(path(&[1, 3, 36]));
    let mut smp = Smp::new(Method::Set, &route, attribute, 0x0102_0304_0506_0708, &data);
    smp.set_transaction(0xa1b2_c3d4);
    let bytes = smp.bytes();
    assert_eq!(bytes[..8], [1, 0x81, 1, 2, 0, 0, 0, 3]);
    assert_eq!(bytes[8..16], [0, 0, 0, 0, 0xa1, 0xb2, 0xc3, 0xd4]);
    assert_eq!(bytes[16..24], [0, 0x1b, 0, 0, 0x20, 0, 0, 0x1f]);
    assert_eq!(bytes[24..36], [1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(bytes[36..64], [0; 28]);
    assert_eq!(bytes[64..128], data);
    assert_eq!(bytes[128..133], [0, 1, 3, 36, 0]);
    assert_eq!(bytes[133..], [0; 123]);
    assert_eq!((smp.transaction(), smp.is_directed()), (0xa1b2_c3d4, true));
}

#[test]
fn a_packet_to_a_lid_has_no_path() {
    let attribute = Attribute::PortInfo { port: 7 };
    let smp = Smp::new(Method::Get, &Route::Lid(12), attribute, 0, &[0; 64]);
    let bytes = smp.bytes();
    assert_eq!(bytes[..8], [1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(bytes[16..24], [0, 0x15, 0, 0, 0, 0, 0, 7]);
    assert_eq!(bytes[32..], [0; 224]);
}

#[test]
fn a_path_has_at_most_63_links() {
    assert_eq!(path(&[1; MAX_HOPS]).ports().len(), 63);
    assert_eq!(path(&[1; MAX_HOPS]).then(1), None);
}

#[test]
fn refusals_are_told_apart_from_the_direction() {
    let route = Route::Directed(Path::here());
    let request = *Smp::new(Method::Get, &route, Attribute::NodeInfo, 0, &[0; 64]).bytes();
    let answer = |class, status: u16| {
        let mut bytes = request;
        bytes[1] = class;
        bytes[4..6].copy_from_slice(&status.to_be_bytes());
        Smp::from_bytes(bytes)
    };
    assert_eq!(answer(0x81, 0x8000).refusal(), None);
    assert_eq!(answer(0x81, 0x801c).refusal().unwrap(), "invalid value (status 0x001c)");
    assert_eq!(answer(0x01, 0x0008).refusal().unwrap(), "unknown method (status 0x0008)");
    assert!(answer(0x81, 0x8001).is_busy() && !answer(0x81, 0x8000).is_busy());
    assert_eq!(answer(0x81, 0x8001).refusal().unwrap(), "busy (status 0x0001)");
}

#[test]
fn attributes_are_read() {
    let mut data = [0; 64];
    data[..4].copy_from_slice(&[1, 1, 2, 36]);
    data[12..20].copy_from_slice(&0x2_0001_u64.to_be_bytes());
    data[20..28].copy_from_slice(&0x2_0002_u64.to_be_bytes());
    data[36] = 5;
    let info = NodeInfo::from(&data);
    let expected = NodeInfo {
        kind: Kind::Switch,
        ports: 36,
        guid: 0x2_0001,
        port_guid: 0x2_0002,
        local_port: 5,
    };
    assert_eq!(info, expected);

    let mut data = [0; 64];
    data[4..6].copy_from_slice(&[4, 0]);
    data[18..20].copy_from_slice(&[0xc0, 0x3f]);
    let expected = SwitchInfo { multicast_entries: 1024, multicast_top: 0xc03f };
    assert_eq!(SwitchInfo::from(&data), expected);

    let mut data = [0; 64];
    data[16..18].copy_from_slice(&[0, 9]);
    data[20] = 0x40;
    (data[31], data[32], data[35], data[36], data[62]) = (2, 0x74, 0x44, 0x50, 0x22);
    let quality = Quality { mtu: 4096, lane_mbps: 25_000, lanes: 4 };
    let expected = PortInfo { lid: 9, is_up: true, quality, has_multicast_top: true };
    assert_eq!(PortInfo::from(&data), expected);
    (data[20], data[31], data[32], data[35], data[36], data[62]) = (0, 1, 0x71, 0x21, 0x10, 0);
    let quality = Quality { mtu: 256, lane_mbps: 5_000, lanes: 1 };
    let expected = PortInfo { lid: 9, is_up: false, quality, has_multicast_top: false };
    assert_eq!(PortInfo::from(&data), expected);

    let mut data = [0; 64];
    data[..8].copy_from_slice(b" SW\x071-0 ");
    assert_eq!(description(&data), "SW1-0");
    assert_eq!(description(&[b'x'; 64]).len(), 64);
}

#[test]
fn tables_are_cut_into_blocks() {
    let topology = Mesh::new(2, 1).unwrap().topology(Quality::default());
    let mut entries = Entries::none(&topology);
    for (switch, port) in [(0, 1), (0, 5), (1, 16), (1, 35)] {
        entries.ports_mut(switch).insert(port);
    }
    let mut tables = MulticastTables::new();
    tables.set(FIRST_MLID + 33, entries);
    let blocks: Vec<(Place, MftBlock)> = places(&topology, &tables).into_iter().collect();
    let place = |switch, position| Place { switch, block: 1, position };
    let block = |bits| {
        let mut block = MftBlock::default();
        block.0[1] = bits;
        block
    };
    let expected =
        [(place(0, 0), block(0b10_0010)), (place(1, 1), block(1)), (place(1, 2), block(0b1000))];
    assert_eq!(blocks, expected);
    assert_eq!(blocks[2].1.ports(1, 2).collect::<Vec<u8>>(), [35]);
    let data = blocks[0].1.to_data();
    assert_eq!(data[..6], [0, 0, 0, 0x22, 0, 0]);
    assert_eq!(MftBlock::from(&data), blocks[0].1);
    assert_eq!((positions(15).count(), positions(16).count(), positions(36).count()), (1, 2, 3));
}

/// Nodes that answer as those of a topology would, as seen from its first host.
struct Nodes<'a> {
    topology: &'a Topology,
    /// A node that says nothing.
    silent: Option<u32>,
}

impl Agent for Nodes<'_> {
    fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String> {
        let Route::Directed(path) = route else { return Err("no LIDs here".to_owned()) };
        let mut at = Port { node: 0, port: 1 };
        for port in path.ports() {
            at = self.topology.peer(Port { node: at.node, port: *port }).ok_or("no such port")?;
        }
        if self.silent == Some(at.node) {
            return Err("no answer".to_owned());
        }
        let node = self.topology.node(at.node);
        let bytes = request.bytes();
        let modifier = bytes[23];
        let mut data = [0; 64];
        match bytes[17] {
            0x10 => data[..node.name.len()].copy_from_slice(node.name.as_bytes()),
            0x11 => {
                data[2] = if node.kind == Kind::Switch { 2 } else { 1 };
                data[3] = node.ports;
                data[12..20].copy_from_slice(&node.guid.to_be_bytes());
                data[20..28].copy_from_slice(&(node.guid + u64::from(at.port)).to_be_bytes());
                data[36] = at.port;
            }
            0x12 => data[4..6].copy_from_slice(&1024_u16.to_be_bytes()),
            0x15 => {
                data[16..18].copy_from_slice(&(at.node as u16 + 1).to_be_bytes());
                let port = Port { node: at.node, port: modifier };
                let is_up = modifier == 0 || self.topology.peer(port).is_some();
                (data[31], data[35], data[36], data[62]) = (2, 0x44, 0x50, 0x22);
                data[32] = if is_up { 4 } else { 1 };
            }
            id => return Err(format!("attribute 0x{id:x}")),
        }
        let mut answer = *bytes;
        answer[64..128].copy_from_slice(&data);
        Ok(Smp::from_bytes(answer))
    }
}

#[test]
fn a_fabric_is_found_as_it_is() {
    for topology in [
        FatTree::new(4, 3).unwrap().topology(Quality::default()),
        Mesh::new(3, 4).unwrap().topology(Quality::default()),
    ] {
        let mut nodes = Nodes { topology: &topology, silent: None };
        let found = discover(&mut nodes).unwrap();
        assert_eq!(found.topology.nodes(), topology.nodes());
        assert_eq!(found.topology.endpoints(), topology.endpoints());
        assert_eq!(found.topology.links().len(), topology.links().len());
        for link in topology.links() {
            assert_eq!(found.topology.peer(link.ends[0]), Some(link.ends[1]));
            assert_eq!(found.topology.link(link.ends[0]).unwrap().quality, link.quality);
        }
        for (node, path) in (0..).zip(&found.paths) {
            let at = path
                .ports()
                .iter()
                .fold(0, |at, port| topology.peer(Port { node: at, port: *port }).unwrap().node);
            assert_eq!(at, node);
        }
        assert_eq!(found.switches.len(), topology.switches() as usize);
        let lid = topology.hosts() as u16 + 1;
        let first = Switch { lid, multicast_entries: 1024, multicast_top: None };
        assert_eq!(found.switches[0], first);
    }
}

#[test]
fn a_node_that_says_nothing_is_named() {
    let topology = Mesh::new(2, 1).unwrap().topology(Quality::default());
    let mut nodes = Nodes { topology: &topology, silent: Some(1) };
    let error = discover(&mut nodes).unwrap_err();
    assert_eq!(error.to_string(), "Get of NodeInfo by way of ports 1,1,5: no answer");
}

#[test]
fn a_fabric_is_located_by_guids_or_names() {
    let tree = FatTree::new(4, 2).unwrap();
    let wanted = tree.topology(Quality::default());
    let identity: Vec<u32> = (0..wanted.nodes().len() as u32).collect();
    assert_eq!(locate(&wanted, &wanted).unwrap(), identity);
    let guids: Vec<u64> = (1..=u64::from(wanted.switches())).map(|at| at << 40).collect();
    let other = wanted.clone().with_switch_guids(&guids).unwrap();
    assert_eq!(locate(&wanted, &other).unwrap(), identity);
    // Other nodes, other links, and more of both.
    let mesh = Mesh::new(2, 2).unwrap().topology(Quality::default());
    assert!(locate(&wanted, &mesh).unwrap_err().to_string().starts_with("there is no "));
    let rewired = |from: usize, to: usize| {
        let mut links = wanted.links().to_vec();
        let end = links[from].ends[1];
        links[from].ends[1] = links[to].ends[1];
        links[to].ends[1] = end;
        Topology::new(wanted.nodes().to_vec(), links, &HashMap::new()).unwrap()
    };
    let error = locate(&wanted, &rewired(0, 1)).unwrap_err().to_string();
    assert!(error.starts_with("there is no link from port "), "{error}");
    let links = wanted.links()[1..].to_vec();
    let part = Topology::new(wanted.nodes().to_vec(), links, &HashMap::new()).unwrap();
    assert_eq!(locate(&part, &wanted).unwrap(), identity);
    assert!(locate(&wanted, &part).is_err());
}
