//! Fragments that fill their datagrams, with compact headers, on a device.

use crate::{again, needs, ranks, stranger};
use verbcast::rdma::NodeSharing;
use verbcast::{Algorithm, Broadcaster, Config, Statistics};
use verbcast_core::rank::{OpId, Rank};

/// What a datagram carries, and what it carries besides a header.
const WHOLE: usize = 4096;
const FRAGMENT: usize = WHOLE - 48;
/// Around the edges of both cuts, and some that are received into the program's memory.
const LENS: [usize; 13] = [
    0,
    1,
    FRAGMENT,
    FRAGMENT + 1,
    WHOLE - 1,
    WHOLE,
    WHOLE + 1,
    2 * WHOLE,
    16 * WHOLE,
    16 * WHOLE + FRAGMENT + 1,
    300_000,
    1_000_000,
    8,
];

fn config() -> Option<Config> {
    let devices = needs::devices()?;
    let mut config = ranks::flat();
    config.device.devices = devices;
    config.device.whole_datagrams = true;
    config.protocol.table = verbcast::Table::uniform(Algorithm::Window);
    Some(config)
}

fn sent(all: &[Statistics]) -> u64 {
    all.iter().map(|statistics| statistics.multicast_sent).sum()
}

fn datagrams(fragment_len: usize) -> u64 {
    LENS.iter().map(|len| len.div_ceil(fragment_len).max(1) as u64).sum()
}

#[test]
fn a_message_of_the_mtu_is_one_datagram() {
    let Some(config) = config() else { return };
    for size in [3, 8] {
        let all = ranks::exchange(size, |_| config.clone(), &LENS);
        assert_eq!(sent(&all), datagrams(WHOLE), "among {size} ranks");
    }
}

/// Who receives for a node publishes what came with a compact header with a whole one.
#[test]
fn mates_get_whole_datagrams_from_their_receiver() {
    let Some(mut config) = config() else { return };
    for most in [2, u16::MAX] {
        config.device.nodes = NodeSharing::Shared { most };
        let all = ranks::exchange(4, |_| config.clone(), &LENS);
        assert_eq!(sent(&all), datagrams(WHOLE), "nodes of {most} ranks at most");
        let (taken, fetched) = all.iter().fold((0, 0), |(taken, fetched), one| {
            (taken + one.node_received, fetched + one.repaired)
        });
        assert!(taken > datagrams(WHOLE) && fetched < datagrams(WHOLE) / 2, "{all:?}");
    }
}

#[test]
fn whole_datagrams_that_are_lost_are_read() {
    let Some(mut config) = config() else { return };
    config.faults = Some("loss=0.1,dup=0.05,reorder=0.05,corrupt=0.01,seed=7".parse().unwrap());
    let all = ranks::exchange(8, |_| config.clone(), &LENS);
    assert!(all.iter().map(|statistics| statistics.repaired).sum::<u64>() > 0);
}

/// A compact header tells only the low bits of an operation's id.
#[test]
fn operations_far_from_the_first_are_understood() {
    let Some(mut config) = config() else { return };
    for first in [40_000, u32::MAX - 3] {
        config.first_op = OpId(first);
        let all = ranks::exchange(3, |_| config.clone(), &LENS);
        assert_eq!(sent(&all), datagrams(WHOLE), "from {first} on");
        // What is not understood is repaired, and a little may be on a device that is late.
        let repaired: u64 = all.iter().map(|statistics| statistics.repaired).sum();
        assert!(repaired < datagrams(WHOLE) / 2, "from {first} on: {repaired} were repaired");
    }
}

#[test]
fn one_rank_that_wants_no_compact_headers_is_enough() {
    let Some(config) = config() else { return };
    let of = |rank: Rank| {
        let mut config = config.clone();
        config.device.whole_datagrams = rank.0 != 1;
        config
    };
    assert_eq!(sent(&ranks::exchange(3, of, &LENS)), datagrams(FRAGMENT));
}

/// What an adapter leaves in front of an IPv4 header may look like a GRH.
#[test]
fn senders_are_known_whatever_is_in_front_of_an_ipv4_header() {
    let test = "whole_datagrams::senders_are_known_whatever_is_in_front_of_an_ipv4_header";
    again::under("mlx5-roce,ipv4_front=garbage", test, || {
        let Some(config) = config() else { return };
        let all = ranks::exchange(3, |_| config.clone(), &LENS);
        assert_eq!(sent(&all), datagrams(WHOLE));
        assert!(all.iter().all(|one| one.foreign == 0), "{all:?}");
    });
}

/// A GRH tells who has sent a datagram on InfiniBand.
#[test]
fn senders_are_known_on_infiniband() {
    again::under("mlx5-ib", "whole_datagrams::senders_are_known_on_infiniband", || {
        let Some(config) = config() else { return };
        let all = ranks::exchange(3, |_| config.clone(), &LENS);
        assert_eq!(sent(&all), datagrams(WHOLE));
        assert!(all.iter().all(|one| one.foreign == 0), "{all:?}");
    });
}

/// Without a key in the header, a sender is known by its address alone.
#[test]
fn compact_headers_of_strangers_are_for_nobody() {
    let Some(config) = config() else { return };
    let foreign = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        stranger::beside(&mut broadcaster, 3 * WHOLE, |group| {
            stranger::forge_compact(group, 2000);
        });
        broadcaster.flush().unwrap();
        broadcaster.statistics().foreign
    });
    assert!(foreign.iter().sum::<u64>() > 0, "{foreign:?}");
}
