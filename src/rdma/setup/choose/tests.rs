use super::*;
use crate::rdma::setup::report::{GidReport, Limits};
use std::net::Ipv6Addr;
use verbcast_core::wire::Network;
use verbcast_verbs::{GidKind, Protocol};

/// A port of an imaginary host.
#[derive(Clone, Copy)]
struct Imagined {
    name: &'static str,
    /// The GID, whose first half is the subnet prefix on InfiniBand; on Ethernet, an address in a /24.
    gid: &'static str,
    rate: u32,
    mtu: usize,
    distance: u32,
}

const IB: &str = "fe80::1";
const OTHER_IB: &str = "fec0::1";
const ROCE: &str = "::ffff:10.1.0.1";
const OTHER_ROCE: &str = "::ffff:10.2.0.1";

fn port(name: &'static str, gid: &'static str, rate: u32) -> Imagined {
    Imagined { name, gid, rate: rate * 1000, mtu: 4096, distance: 10 }
}

fn host(ports: &[Imagined]) -> Vec<DeviceReport> {
    ports.iter().map(device).collect()
}

fn device(imagined: &Imagined) -> DeviceReport {
    let gid: Ipv6Addr = imagined.gid.parse().unwrap();
    let is_ethernet = gid.to_ipv4_mapped().is_some();
    let port = Port {
        number: 1,
        is_active: true,
        link_layer: if is_ethernet { LinkLayer::Ethernet } else { LinkLayer::InfiniBand },
        mtu: imagined.mtu,
        rate: Some(imagined.rate),
        lid: 0,
        gid_table_len: 1,
    };
    let home = if is_ethernet { Home::Here(Network::of(gid, 96 + 24)) } else { Home::Port };
    let gid = GidReport { index: 0, gid: gid.octets(), kind: GidKind::RoceV2, interface: 2, home };
    DeviceReport {
        name: imagined.name.to_owned(),
        guid: 1,
        protocol: Protocol::InfiniBand,
        numa_node: None,
        numa_distance: Some(imagined.distance),
        limits: Limits::default(),
        ports: Ok(vec![PortReport { port, gids: vec![gid], verdict: Ok(0) }]),
    }
}

fn named(names: &[&str]) -> Settings {
    let devices = names.iter().map(|name| (*name).to_owned()).collect();
    Settings { devices, ..Settings::default() }
}

/// The device that a local rank takes, if the ranks agreed on nothing.
fn taken(host: &[DeviceReport], local_rank: u32) -> &str {
    let (_, choice) = choose(host, &Settings::default(), local_rank, None);
    &host[choice.unwrap().device].name
}

fn subnet(gid: &'static str) -> Fabric {
    let (usable, _) = rank(&host(&[port("x", gid, 1)]), &[]);
    fabrics(&usable)[0]
}

#[test]
fn each_rail_of_each_local_rank_has_a_port_of_its_own() {
    let host = host(&[
        port("a", IB, 100),
        port("b", IB, 100),
        port("slow", IB, 10),
        port("c", IB, 100),
        port("d", IB, 100),
    ]);
    let taken = |settings: &Settings, local_rank: u32| {
        let rails = (0..settings.rails).map(|rail| settings.of_rail(rail));
        let chosen = rails.map(|settings| choose(&host, &settings, local_rank, None).1.unwrap());
        chosen.map(|chosen| host[chosen.device].name.clone()).collect::<Vec<_>>()
    };
    let two = Settings { rails: 2, ..Settings::default() };
    let all: Vec<_> = (0..3).map(|local_rank| taken(&two, local_rank)).collect();
    assert_eq!(all, [["a", "b"], ["c", "d"], ["a", "b"]]);
    let named = Settings { rails: 2, ..named(&["d", "slow", "a"]) };
    let all: Vec<_> = (0..3).map(|local_rank| taken(&named, local_rank)).collect();
    assert_eq!(all, [["d", "slow"], ["a", "d"], ["slow", "a"]]);
    let four = Settings { rails: 4, ..Settings::default() };
    assert_eq!(taken(&four, 7).len(), 4);
    let few = choose(&host[..3], &four, 0, None).1.unwrap_err();
    assert!(few.starts_with("4 rails need as many ports as fast as the best ("), "{few}");
    assert!(few.ends_with("there are 2; name devices to take others"), "{few}");
}

#[test]
fn an_adapter_that_is_named_twice_gives_two_rails_a_port_each() {
    let mut host = host(&[port("a", IB, 100)]);
    let ports = host[0].ports.as_mut().unwrap();
    let mut second = ports[0].clone();
    second.port.number = 2;
    ports.push(second);
    let two = Settings { rails: 2, ..named(&["a", "a"]) };
    let chosen = [0, 1].map(|rail| choose(&host, &two.of_rail(rail), 3, None).1.unwrap().port);
    assert_eq!(chosen, [1, 2]);
}

#[test]
fn rails_leave_a_numa_node_before_they_share_a_port() {
    let far = |name| Imagined { distance: 21, ..port(name, IB, 200) };
    let host =
        host(&[far("a"), port("b", IB, 200), port("slow", IB, 100), port("s", OTHER_IB, 200)]);
    let two = Settings { rails: 2, ..Settings::default() };
    let chosen = |rail| {
        let (reasons, chosen) = choose(&host, &two.of_rail(rail), 1, None);
        (host[chosen.unwrap().device].name.clone(), reasons)
    };
    let (first, reasons) = chosen(0);
    assert_eq!((first.as_str(), chosen(1).0.as_str()), ("b", "a"));
    assert!(reasons[2].ends_with("as fast, for other rails and other local ranks"), "{reasons:?}");
    let three = Settings { rails: 3, ..Settings::default() };
    choose(&host, &three, 0, None).1.unwrap_err();
    assert_eq!(taken(&host, 1), "b");
}

#[test]
fn the_best_port_is_taken_whatever_its_name() {
    for (ports, best) in [
        // A management port that is named first.
        (&[port("a_roce", ROCE, 25), port("mlx5_0", IB, 200)][..], "mlx5_0"),
        (&[port("mlx5_0", IB, 100), port("mlx5_1", ROCE, 400)], "mlx5_0"),
        (&[port("mlx5_0", IB, 100), port("mlx5_1", IB, 200)], "mlx5_1"),
        (&[Imagined { mtu: 2048, ..port("m0", IB, 100) }, port("m1", IB, 100)], "m1"),
        (&[Imagined { distance: 21, ..port("m0", IB, 100) }, port("m1", IB, 100)], "m1"),
        // What is not known is not preferred.
        (&[port("m0", IB, 0), port("m1", IB, 10)], "m1"),
        (&[port("mlx5_2", IB, 100), port("mlx5_10", IB, 100)], "mlx5_2"),
    ] {
        assert_eq!(taken(&host(ports), 0), best);
    }
}

#[test]
fn local_ranks_take_turns_among_ports_as_good() {
    let near = [port("mlx5_0", IB, 200), port("mlx5_1", IB, 200)];
    let far = Imagined { distance: 21, ..port("mlx5_2", IB, 200) };
    let host = host(&[near[0], near[1], far, port("eth", ROCE, 25)]);
    let taken: Vec<_> = (0..4).map(|local_rank| taken(&host, local_rank)).collect();
    assert_eq!(taken, ["mlx5_0", "mlx5_1", "mlx5_0", "mlx5_1"]);
}

#[test]
fn ports_that_do_not_reach_each_other_are_not_alike() {
    for (first, second) in [(IB, OTHER_IB), (ROCE, OTHER_ROCE)] {
        let host = host(&[port("m0", first, 100), port("m1", second, 100)]);
        assert_eq!([0, 1].map(|local_rank| taken(&host, local_rank)), ["m0", "m0"]);
    }
}

#[test]
fn the_fabric_that_the_ranks_have_in_common_decides() {
    let host = host(&[port("ib", IB, 200), port("r0", ROCE, 25), port("r1", OTHER_ROCE, 25)]);
    let take = |fabric| {
        let (reasons, choice) = choose(&host, &Settings::default(), 0, Some(fabric));
        (reasons, choice.map(|choice| host[choice.device].name.clone()))
    };
    assert_eq!(take(subnet(OTHER_ROCE)).1, Ok("r1".to_owned()));
    assert_eq!(take(Fabric::Ethernet(None)).1, Ok("r0".to_owned()));
    let (reasons, _) = take(subnet(OTHER_ROCE));
    assert!(reasons[0].contains("which not all ranks have"), "{reasons:?}");
    let why = take(subnet(OTHER_IB)).1.unwrap_err();
    assert!(why.contains("InfiniBand subnet fe80::/64") && why.contains("fec0::/64"), "{why}");
}

#[test]
fn ranks_take_turns_among_named_devices_and_no_others() {
    let host = host(&[port("a", IB, 400), port("b", IB, 100), port("c", IB, 100)]);
    let settings = named(&["c", "b"]);
    for (local_rank, index) in [(0, 2), (1, 1), (2, 2)] {
        let (_, choice) = choose(&host, &settings, local_rank, None);
        assert_eq!(choice.unwrap().device, index);
    }
    let (usable, _) = rank(&host, &settings.devices);
    assert_eq!(usable.len(), 2);
}

#[test]
fn each_port_has_its_line() {
    let mut host = host(&[
        port("m0", IB, 200),
        port("m1", IB, 200),
        Imagined { distance: 21, ..port("m2", IB, 200) },
        port("m3", IB, 100),
        port("r0", ROCE, 400),
        port("s0", OTHER_IB, 200),
    ]);
    host.push(DeviceReport {
        name: "efa".to_owned(),
        ports: Err("no RC".to_owned()),
        ..host[0].clone()
    });
    let (reasons, choice) = choose(&host, &Settings::default(), 1, None);
    assert_eq!(
        reasons,
        [
            "m0 port 1: InfiniBand, 200 Gb/s, MTU 4096, NUMA distance 10: as good, for other local ranks",
            "m1 port 1: InfiniBand, 200 Gb/s, MTU 4096, NUMA distance 10: chosen",
            "s0 port 1: InfiniBand, 200 Gb/s, MTU 4096, NUMA distance 10: on InfiniBand subnet fec0::/64, not \
             InfiniBand subnet fe80::/64",
            "m2 port 1: InfiniBand, 200 Gb/s, MTU 4096, NUMA distance 21: farther",
            "m3 port 1: InfiniBand, 100 Gb/s, MTU 4096, NUMA distance 10: slower",
            "r0 port 1: Ethernet, 400 Gb/s, MTU 4096, NUMA distance 10: InfiniBand goes first",
            "efa: no RC",
        ]
    );
    let why = choice.unwrap().why;
    assert!(why.ends_with("local rank 1 takes number 2 of 2"), "{why}");
}

#[test]
fn what_is_missing_is_named() {
    let refuse =
        |host: &[DeviceReport], settings: &Settings| choose(host, settings, 0, None).1.unwrap_err();
    let none = refuse(&[], &Settings::default());
    assert!(none.contains("no RDMA device on this host"), "{none}");
    let wrong = refuse(&host(&[port("a", IB, 1)]), &named(&["mlx9"]));
    assert!(wrong.contains("\"mlx9\"") && wrong.contains("there are: a"), "{wrong}");
    let mut down = host(&[port("a", IB, 1)]);
    down[0].ports.as_mut().unwrap()[0].verdict = Err("the port is not active".to_owned());
    let down = refuse(&down, &Settings::default());
    assert!(down.contains("a port 1: the port is not active"), "{down}");
}
