mod delivery;
mod fat_tree;
mod mesh;
mod omnipath;
mod opensm;
mod properties;
mod recorded;
mod text;

use super::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A generator; prints its seed, which a failing test shows.
fn draw(seed: u64) -> ChaCha8Rng {
    println!("seed {seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// A number below `bound`.
fn below(draw: &mut ChaCha8Rng, bound: u32) -> u32 {
    draw.next_u32() % bound
}

/// Each endpoint is a member with a probability that is drawn too; at least one is.
fn random_group(draw: &mut ChaCha8Rng, endpoints: u32) -> Vec<u32> {
    let share = 1 + below(draw, 100);
    let mut group: Vec<u32> = (0..endpoints).filter(|_| below(draw, 100) < share).collect();
    if group.is_empty() {
        group.push(below(draw, endpoints));
    }
    group
}

/// The fat tree of the paper's figures 2 and 4 to 7.
fn figure_2() -> (FatTree, Topology) {
    fat_tree_of(4, 3)
}

fn fat_tree_of(ports: u8, levels: u8) -> (FatTree, Topology) {
    let tree = FatTree::new(ports, levels).unwrap();
    (tree, tree.topology(Quality::default()))
}

fn mesh_of(columns: u16, rows: u16) -> (Mesh, Topology) {
    let mesh = Mesh::new(columns, rows).unwrap();
    (mesh, mesh.topology(Quality::default()))
}

/// A host by its label, one character a digit.
fn host(tree: &FatTree, label: &str) -> u32 {
    let digits: Vec<u8> = label.bytes().map(|digit| digit - b'0').collect();
    tree.pid(&digits).unwrap()
}

/// SW⟨label, level⟩, one character a digit.
fn switch(tree: &FatTree, label: &str, level: u8) -> u32 {
    let digits: Vec<u8> = label.bytes().map(|digit| digit - b'0').collect();
    tree.switch(&digits, level).unwrap()
}

/// The ports of some switches.
fn ports(topology: &Topology, entries: &Entries, node: u32) -> Vec<u8> {
    entries.ports(topology.switch_index(node)).iter().collect()
}
