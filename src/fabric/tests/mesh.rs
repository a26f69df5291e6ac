//! The worked examples of Zhou, Liu and Chung.

use super::*;
use crate::mesh::{EAST, LOCAL, NORTH, SOUTH, WEST};

/// Figure 3 and section 3.1: N(3, 2) of a 4×4 mesh has LID 15.
#[test]
fn lids_are_those_of_figure_3() {
    let (mesh, topology) = mesh_of(4, 4);
    let lids = Lids::consecutive(&topology).unwrap();
    assert_eq!(lids.base(mesh.host(3, 2)), 15);
    assert_eq!(lids.base(mesh.host(0, 0)), 1);
    assert_eq!(lids.base(mesh.host(3, 3)), 16);
}

/// x·n + y + 1 is different everywhere also where the mesh is not square.
#[test]
fn lids_of_a_mesh_that_is_not_square_are_distinct() {
    for (columns, rows) in [(3, 5), (5, 3), (1, 7), (7, 1)] {
        let (mesh, topology) = mesh_of(columns, rows);
        let lids = Lids::consecutive(&topology).unwrap();
        for (x, y) in (0..columns).flat_map(|x| (0..rows).map(move |y| (x, y))) {
            assert_eq!(lids.base(mesh.host(x, y)), x * rows + y + 1);
            assert_eq!(mesh.place(mesh.switch(x, y)), (x, y));
        }
    }
}

/// Figure 4: which port leads where.
#[test]
fn ports_lead_where_figure_4_says() {
    let (mesh, topology) = mesh_of(3, 4);
    let peer = |port| topology.peer(Port { node: mesh.switch(1, 1), port }).unwrap();
    let at = |x, y, port| Port { node: mesh.switch(x, y), port };
    assert_eq!(peer(EAST), at(2, 1, WEST));
    assert_eq!(peer(NORTH), at(1, 2, SOUTH));
    assert_eq!(peer(WEST), at(0, 1, EAST));
    assert_eq!(peer(SOUTH), at(1, 0, NORTH));
    assert_eq!(peer(LOCAL), Port { node: mesh.host(1, 1), port: 1 });
}

/// Figure 5: the paths P, Q, R, S and T from N(2, 2), as places and ports out. For P see the text
/// of section 3.3.1, for all of them that of section 3.3.2.
#[test]
fn packets_take_the_paths_of_figure_5() {
    let (mesh, topology) = mesh_of(5, 5);
    let tables = mesh.unicast_tables(&topology, &Lids::consecutive(&topology).unwrap());
    let to_west = [((2, 2), WEST), ((1, 2), WEST), ((0, 2), NORTH)];
    let paths = [
        (4, [&to_west[..], &[((0, 3), LOCAL)]].concat()),
        (5, [&to_west[..], &[((0, 3), NORTH), ((0, 4), LOCAL)]].concat()),
        (19, vec![((2, 2), EAST), ((3, 2), NORTH), ((3, 3), LOCAL)]),
        (23, vec![((2, 2), EAST), ((3, 2), EAST), ((4, 2), LOCAL)]),
        (
            21,
            vec![((2, 2), EAST), ((3, 2), EAST), ((4, 2), SOUTH), ((4, 1), SOUTH), ((4, 0), LOCAL)],
        ),
    ];
    for (lid, expected) in paths {
        let path = walk(&topology, &tables, mesh.host(2, 2), lid).unwrap();
        let path: Vec<_> = path.iter().map(|hop| (mesh.place(hop.switch), hop.left)).collect();
        assert_eq!(path, expected, "LID {lid}");
    }
}

/// Section 3.2: h = |dx| + |dy| + 1 switches on every path.
#[test]
fn every_lid_is_reached_by_a_shortest_path() {
    for (columns, rows) in [(4, 4), (3, 5), (6, 2), (1, 5)] {
        let (mesh, topology) = mesh_of(columns, rows);
        let lids = Lids::consecutive(&topology).unwrap();
        let tables = mesh.unicast_tables(&topology, &lids);
        for (from, to) in (0..mesh.hosts()).flat_map(|a| (0..mesh.hosts()).map(move |b| (a, b))) {
            let path = walk(&topology, &tables, from, lids.base(to)).unwrap();
            let ((x, y), (to_x, to_y)) = (mesh.place(from), mesh.place(to));
            assert_eq!(path.len() as u16, x.abs_diff(to_x) + y.abs_diff(to_y) + 1);
            let index = topology.switch_index(mesh.hosts() + to);
            walk(&topology, &tables, from, lids.switch(index)).unwrap();
        }
    }
}

/// Figure 7: the entries on the paths of N(2, 2) to LIDs 4, 5, 19, 21 and 23.
#[test]
fn multicast_entries_are_those_of_figure_7() {
    let (mesh, topology) = mesh_of(5, 5);
    let (group, source) = figure_7(&mesh);
    let entries = mesh.xy_union(&topology, &group, mesh.way(source));
    for ((x, y), arrived, expected) in [
        ((2, 2), LOCAL, vec![EAST, WEST]),
        ((1, 2), EAST, vec![WEST]),
        ((0, 2), EAST, vec![NORTH]),
        ((0, 3), SOUTH, vec![NORTH]),
        ((3, 2), WEST, vec![EAST, NORTH]),
        ((4, 2), WEST, vec![SOUTH]),
        ((4, 1), NORTH, vec![SOUTH]),
    ] {
        let mut ports = ports(&topology, &entries, mesh.switch(x, y));
        // The paper lists no local ports.
        ports.retain(|port| *port != arrived && *port != LOCAL);
        assert_eq!(ports, expected, "N({x}, {y})");
    }
    let delivery = Checker::new(&topology).check(&entries, &group, source).unwrap();
    assert_eq!(delivery.copies, 5);
}

fn figure_7(mesh: &Mesh) -> (Vec<u32>, u32) {
    let group = [(0, 3), (0, 4), (3, 3), (4, 0), (4, 2)].map(|(x, y)| mesh.host(x, y));
    (group.to_vec(), mesh.host(2, 2))
}

/// The union as printed, applied to that very example.
#[test]
fn the_literal_union_loops_in_the_papers_own_figure_7() {
    let (mesh, topology) = mesh_of(5, 5);
    let (group, source) = figure_7(&mesh);
    let lids = Lids::consecutive(&topology).unwrap();
    let chosen: Vec<u16> = group.iter().map(|member| lids.base(*member)).collect();
    assert_eq!(chosen, [4, 5, 19, 21, 23]);
    let tables = mesh.unicast_tables(&topology, &lids);
    let entries = union::literal(&topology, &tables, &chosen);
    let error = Checker::new(&topology).check(&entries, &group, source).unwrap_err();
    assert!(matches!(error, Violation::Loop { .. }), "{error}");
}

#[test]
fn shapes_that_do_not_exist_are_refused() {
    for (columns, rows) in [(0, 4), (4, 0), (60_000, 60_000)] {
        assert!(Mesh::new(columns, rows).unwrap_err().to_string().contains("places"));
    }
}
