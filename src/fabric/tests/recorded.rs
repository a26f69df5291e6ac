//! Tables of the real OpenSM, which were recorded, beside those that are computed.

use super::*;
use crate::opensm::{Engine, Hops, Options, Ranking, spanning_tree, unicast_tables};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A fabric of the recordings: a shape, or a netlist that is beside them.
fn topology(folder: &Path, spec: &str) -> Topology {
    let (kind, numbers) = spec.split_once(':').unwrap();
    if kind == "file" {
        let text = fs::read_to_string(folder.join(numbers)).unwrap();
        return read::ibnetdiscover(&text, Quality::default()).unwrap();
    }
    let numbers: Vec<u16> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
    match kind {
        "mesh" => Mesh::new(numbers[0], numbers[1]).unwrap().topology(Quality::default()),
        _ => FatTree::new(numbers[0] as u8, numbers[1] as u8).unwrap().topology(Quality::default()),
    }
}

/// The numbers of an array.
fn numbers<T: TryFrom<u64>>(value: &Value) -> Vec<T> {
    let number = |value: &Value| value.as_u64().and_then(|number| T::try_from(number).ok());
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|value| number(value).expect("a number that fits"))
        .collect()
}

/// Recordings of OpenSM 3.3.23 on ibsim 0.10, made with `verbcast fabric check --shuffle --record`.
#[test]
fn the_tables_are_those_that_opensm_was_recorded_with() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/fabric");
    let mut engines = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let recorded: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let topology = topology(&folder, recorded["fabric"].as_str().unwrap());
        let guids: Vec<u64> = numbers(&recorded["switch_guids"]);
        let topology = topology.with_switch_guids(&guids).unwrap();
        let [endpoints, switches]: [Vec<u16>; 2] =
            ["endpoint_lids", "switch_lids"].map(|name| numbers(&recorded[name]));
        let lids = Lids::given(&topology, &endpoints, &switches, 0).unwrap();
        let engine = recorded["engine"].as_str().unwrap();
        let port_order: Vec<u8> = numbers(&recorded["port_order"]);
        let options = Options { port_order: &port_order, ..Options::default() };
        let computed = match engine {
            "minhop" => Engine::MinHop,
            "updn" => Engine::UpDown,
            "ftree" => Engine::FatTree,
            "dor" => Engine::Dor,
            _ => panic!("{engine}"),
        };
        let tables = unicast_tables(&topology, &lids, computed, options).unwrap();
        for (switch, row) in recorded["lfts"].as_array().unwrap().iter().enumerate() {
            let port = |lid| tables.port(switch, lid).unwrap_or(255);
            let ours: String = (0..=lids.last()).map(|lid| format!("{:02x}", port(lid))).collect();
            assert_eq!(ours, row.as_str().unwrap(), "{}: switch {switch}", path.display());
        }
        let ranking = (engine == "updn").then(|| Ranking::new(&topology)).flatten();
        let groups = recorded["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 12);
        for group in groups {
            let members: Vec<u32> = numbers(&group["members"]);
            let entries = spanning_tree(&topology, &members, |target| match &ranking {
                Some(ranking) => Hops::up_down(&topology, ranking, target),
                None => Hops::shortest(&topology, target),
            });
            let recorded = group["ports"].as_array().unwrap().iter().map(numbers::<u8>);
            let recorded: Vec<PortSet> =
                recorded.map(|ports| ports.into_iter().collect()).collect();
            let ours: Vec<PortSet> = entries.iter().collect();
            assert_eq!(ours, recorded, "{}: to {members:?}", path.display());
        }
        engines.push(engine.to_owned());
    }
    engines.sort();
    engines.dedup();
    assert_eq!(engines, ["dor", "ftree", "minhop", "updn"]);
}
