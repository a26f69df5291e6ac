//! Ranks that share memory: one takes a message off the wire, the others get it from the memory of their node.

use crate::needs;
use crate::ranks;
use crate::variants;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Config, Endpoint, Further};
use verbcast::clock::Clock;
use verbcast::rdma::{self, NodeSharing, RdmaTransport, Waiting};
use verbcast_core::driver::Statistics;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Payload, Transport};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, Malformed};

const ALL: NodeSharing = NodeSharing::Shared { most: u16::MAX };
const PAIRS: NodeSharing = NodeSharing::Shared { most: 2 };
const LENS: [usize; 10] = [0, 1, 4048, 4049, 300_000, 8, 8, 8, 1 << 20, 0];
const LONGEST: Duration = Duration::from_secs(60);

fn config(devices: &[String], nodes: NodeSharing) -> Config {
    let mut config = Config::default();
    config.device.devices = devices.to_vec();
    config.device.nodes = nodes;
    config
}

fn total(all: &[Statistics], counter: fn(&Statistics) -> u64) -> u64 {
    all.iter().map(counter).sum()
}

#[test]
fn ranks_of_one_host_need_no_group() {
    let Some(devices) = needs::devices() else { return };
    for size in [3, 8] {
        let config = config(&devices, ALL);
        let all = ranks::exchange(size, |_| config.clone(), &LENS);
        assert!(all.iter().all(|one| one.node_received > 0), "{all:?}");
        assert_eq!(total(&all, |one| one.node_roles), 0, "there is nothing to receive");
        let groups = ranks::run(size, |bootstrap| {
            let broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            let description = broadcaster.description().clone();
            broadcaster.close().unwrap();
            (description.group, description.node_ranks)
        });
        assert!(groups.iter().all(|one| *one == (None, size)), "{groups:?}");
    }
}

#[test]
fn ranks_of_one_host_share_memory_by_default() {
    let Some(devices) = needs::devices() else { return };
    for size in [2, 4] {
        let default = |_| config(&devices, Config::default().device.nodes);
        let all = ranks::exchange(size, default, &LENS);
        assert!(all.iter().all(|one| one.node_received > 0), "{all:?}");
        assert_eq!(total(&all, |one| one.multicast_received - one.node_received), 0, "{all:?}");
        assert_eq!(total(&all, |one| one.reports_written - one.node_reported), 0, "{all:?}");
    }
}

#[test]
fn of_each_node_one_rank_receives() {
    let Some(devices) = needs::devices() else { return };
    for (size, most) in [(6, 3), (5, 2)] {
        let config = config(&devices, NodeSharing::Shared { most });
        let all = ranks::exchange(size, |_| config.clone(), &LENS);
        for (node, ranks) in all.chunks(usize::from(most)).enumerate() {
            let roles = total(ranks, |one| one.node_roles);
            let has_receiver = if ranks.len() > 1 { roles > 0 } else { roles == 0 };
            assert!(has_receiver, "node {node}: {ranks:?}");
            let is_shared = ranks.iter().all(|one| (one.node_received > 0) == (ranks.len() > 1));
            assert!(is_shared, "node {node}: {ranks:?}");
        }
        let by_adapter = total(&all, |one| one.reports_written - one.node_reported);
        assert!(by_adapter > 0 && total(&all, |one| one.node_reported) > 0, "{all:?}");
    }
}

/// Each has memory of its own, whose descriptors are closed when it was found.
#[test]
fn further_broadcasters_share_memory_too() {
    let Some(devices) = needs::devices() else { return };
    for nodes in [ALL, PAIRS] {
        let config = config(&devices, nodes);
        let all = ranks::run(4, |world| {
            let endpoint = Endpoint::new(&config.device);
            let mut first = Broadcaster::new_on(&endpoint, world, &config).unwrap();
            let mut further = Further::complete(first.further(), world).unwrap();
            let me = world.rank();
            for (op, len) in LENS.into_iter().enumerate() {
                for (broadcaster, seed) in [(&mut further, op), (&mut first, LENS.len() + op)] {
                    let (root, sent) = (Rank(op as u32 % 4), ranks::message(seed, len));
                    let mut buffer = if me == root { sent.clone() } else { vec![0xee; len] };
                    broadcaster.broadcast_into(root, &mut buffer).unwrap();
                    assert!(buffer == sent, "{me}, broadcast {op}");
                }
            }
            world.all_gather(&[]).unwrap();
            let open = open_memories();
            let statistics = further.statistics();
            further.close().unwrap();
            first.close().unwrap();
            (statistics, open)
        });
        let (statistics, open): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        assert!(statistics.iter().all(|one| one.node_received > 0), "{nodes:?}: {statistics:?}");
        assert_eq!(open, [0; 4], "descriptors of shared memory");
    }
}

/// Descriptors of this process that are memory of nodes.
fn open_memories() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().contains("verbcast-node")).count()
}

#[test]
fn a_rank_that_shares_nothing_receives_for_itself() {
    let Some(devices) = needs::devices() else { return };
    let nodes = |rank| if rank == Rank(1) { NodeSharing::Flat } else { ALL };
    let all = ranks::exchange(4, |rank| config(&devices, nodes(rank)), &LENS);
    let shared: Vec<_> = all.iter().map(|one| one.node_received > 0).collect();
    assert_eq!(shared, [true, false, true, true]);
}

#[test]
fn what_ranks_of_a_node_lose_is_repaired() {
    let Some(devices) = needs::devices() else { return };
    for nodes in [ALL, PAIRS] {
        let mut config = config(&devices, nodes);
        config.faults = Some("loss=0.1,dup=0.05,reorder=0.05,seed=7".parse().unwrap());
        let all = ranks::exchange(6, |_| config.clone(), &LENS);
        assert!(total(&all, |one| one.lost) > 0 && total(&all, |one| one.repaired) > 0, "{all:?}");
    }
}

/// All protocols, with rings so small that mates are overrun.
#[test]
fn every_protocol_works_in_nodes() {
    let Some(devices) = needs::devices() else { return };
    for variant in variants::ALL.iter().flat_map(|variants| variants.iter()) {
        for nodes in [ALL, PAIRS] {
            println!("{variant:?} {nodes:?}");
            let mut config = variants::config(&devices, variant, Some("loss=0.02,seed=3"));
            config.device.nodes = nodes;
            ranks::exchange(4, |_| config.clone(), &[1, 5 * 4048, 8, 20 * 4048, 0]);
        }
    }
}

/// Of the second node first one rank is away, then the other: one of them was the receiver. The one that is left gets
/// everything meanwhile.
#[test]
fn a_mate_takes_the_place_of_a_receiver_that_is_away() {
    let Some(devices) = needs::devices() else { return };
    const ROUND: usize = 8;
    let config = config(&devices, PAIRS);
    let have = [AtomicU32::new(0), AtomicU32::new(0)];
    let all = ranks::run(4, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let me = broadcaster.rank();
        let broadcast = |broadcaster: &mut Broadcaster, op: usize| {
            let sent = ranks::message(op, 5000);
            let mut buffer = if me == Rank(0) { sent.clone() } else { vec![0xee; 5000] };
            broadcaster.broadcast_into(Rank(0), &mut buffer).unwrap();
            assert!(buffer == sent, "{me}, broadcast {op}");
        };
        broadcast(&mut broadcaster, 0);
        broadcaster.flush().unwrap();
        let before = broadcaster.statistics().node_roles;
        for (round, (away, have)) in [Rank(2), Rank(3)].into_iter().zip(&have).enumerate() {
            let began = Instant::now();
            while me == away && have.load(Ordering::SeqCst) == 0 && began.elapsed() < LONGEST {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(began.elapsed() < LONGEST, "its mate does not get on without it");
            (0..ROUND).for_each(|op| broadcast(&mut broadcaster, 1 + round * ROUND + op));
            if me.0 >= 2 && me != away {
                have.store(1, Ordering::SeqCst);
            }
            broadcaster.flush().unwrap();
        }
        let roles = broadcaster.statistics().node_roles - before;
        broadcaster.close().unwrap();
        roles
    });
    assert!(all[2] + all[3] > 0, "nobody took the place: {all:?}");
}

/// What is published wakes mates that sleep, and costs nothing where none does.
#[test]
fn only_mates_that_sleep_are_woken() {
    let Some(devices) = needs::devices() else { return };
    for nodes in [ALL, PAIRS] {
        let woken = |waiting| {
            let mut config = config(&devices, nodes);
            config.device.waiting = waiting;
            total(&ranks::exchange(4, |_| config.clone(), &LENS), |one| one.node_woken)
        };
        assert_eq!(woken(Waiting::Yield), 0);
        assert!(woken(Waiting::Block) > 0, "they slept, and nobody woke them");
    }
}

#[test]
fn what_mates_publish_has_codes_too() {
    let Some(devices) = needs::devices() else { return };
    for nodes in [ALL, PAIRS] {
        let mut config = config(&devices, nodes);
        config.device.mac = true;
        config.faults = Some("loss=0.05,corrupt=0.05,seed=5".parse().unwrap());
        let all = ranks::exchange(4, |_| config.clone(), &LENS);
        assert!(total(&all, |one| one.node_received) > 0 && total(&all, |one| one.forged) > 0);
    }
}

/// Of each second payload a byte is another than the CRC in its header says, as by a switch. Who receives it finds that, and no
/// mate is given it.
#[test]
fn a_receiver_hands_on_nothing_that_is_damaged() {
    let Some(devices) = needs::devices() else { return };
    const PACKETS: u32 = 20;
    let mut settings = config(&devices, PAIRS).device;
    settings.payload_crc = true;
    let all = ranks::run(4, |bootstrap| {
        let (mut transport, agreed, _) = rdma::establish(bootstrap, &settings, &[], None).unwrap();
        let me = bootstrap.rank();
        drain(&mut transport);
        bootstrap.all_gather(&[]).unwrap();
        let before = transport.counters().node.taken;
        if me == Rank(0) {
            for op in 0..PACKETS {
                let packet = from_root(agreed.key, op, op % 2 == 0);
                let (header, payload) = packet.split_first_chunk::<HEADER_LEN>().unwrap();
                transport.multicast(header, Payload::Bytes(payload)).unwrap();
            }
            transport.submit().unwrap();
        }
        let damaged = match me.0 >= 2 {
            true => receive_until(&mut transport, agreed.key, PACKETS - 1),
            false => 0,
        };
        bootstrap.all_gather(&[]).unwrap();
        (damaged, transport.counters().node.taken - before)
    });
    let receivers = &all[2..];
    assert!(receivers.iter().any(|(damaged, _)| *damaged > 0), "{receivers:?}");
    assert!(receivers.iter().any(|(_, taken)| *taken > 0), "{receivers:?}");
    // A mate publishes each that it has received once, and half of them are whole.
    assert!(receivers.iter().all(|(_, taken)| *taken <= u64::from(PACKETS / 2)), "{receivers:?}");
}

/// A fragment of rank 0.
fn from_root(key: Key, op: u32, is_damaged: bool) -> Vec<u8> {
    let mut payload = ranks::message(op as usize, 900);
    let (op, message_len) = (OpId(op), payload.len() as u64);
    let (kind, source, fragment) = (Kind::Fragment, Rank(0), Fragment(0));
    let header = Header { kind, source, key, op, fragment, message_len, report: 0, asks: false };
    let header = header.emit(&payload, true);
    payload[700] ^= u8::from(is_damaged);
    [&header, payload.as_slice()].concat()
}

/// Takes what is left of the set-up.
fn drain(transport: &mut RdmaTransport) {
    let clock = Clock::of_process();
    let began = clock.now();
    let mut quiet = began;
    while clock.now() - quiet < Duration::from_millis(100) {
        assert!(quiet - began < LONGEST, "more and more comes");
        if let Some(Arrival::Packet { buffer, .. }) = transport.poll(clock.now()).unwrap() {
            transport.recycle(buffer).unwrap();
            quiet = clock.now();
        }
        std::thread::yield_now();
    }
}

/// Receives until an operation's fragment came; how many came damaged.
fn receive_until(transport: &mut RdmaTransport, key: Key, last: u32) -> u64 {
    let clock = Clock::of_process();
    let began = clock.now();
    let mut damaged = 0;
    loop {
        let now = clock.now();
        assert!(now - began < LONGEST, "the last does not come, {damaged} came damaged");
        let Some(arrival) = transport.poll(now).unwrap() else {
            std::thread::yield_now();
            continue;
        };
        let Arrival::Packet { buffer, .. } = arrival else { panic!("{arrival:?}") };
        let found = transport.packet(&buffer, key).map(|packet| packet.header().op);
        transport.recycle(buffer).unwrap();
        match found {
            Ok(op) if op == OpId(last) => return damaged,
            Ok(_) => {}
            Err(malformed) => {
                assert_eq!(malformed, Malformed::Damaged);
                damaged += 1;
            }
        }
    }
}
