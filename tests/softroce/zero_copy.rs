//! Messages sent out of and received into their own memory, over real verbs.

use crate::needs;
use crate::ranks;
use crate::stranger;
use std::time::{Duration, Instant};
use verbcast::broadcast::{Broadcaster, Config, Error};
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

const THRESHOLD: usize = 64 << 10;
const RECEIVES: u32 = 64;
/// Long enough for receives into place, whatever the devices' MTU.
const LONG: usize = (2 << 20) + 12_345;

fn config(devices: &[String], algorithm: &str) -> Config {
    let mut config = ranks::flat();
    config.device.devices = devices.to_vec();
    config.device.zero_copy = Some(THRESHOLD);
    // Receives that are posted ahead take no part.
    config.device.depths.receive = RECEIVES;
    config.protocol.set("algorithm", algorithm).unwrap();
    config
}

fn exchange(size: u32, config: impl Fn(Rank) -> Config + Sync, lens: &[usize]) -> Vec<Statistics> {
    let all = ranks::exchange(size, config, lens);
    report(&all);
    all
}

fn report(all: &[Statistics]) {
    for (rank, one) in all.iter().enumerate() {
        println!(
            "rank {rank}: in place {} sent, {} of {} received, {} moved, {} repaired, {} flushes, \
             {} registrations, {} hits",
            one.sent_in_place,
            one.received_in_place,
            one.multicast_received,
            one.moved,
            one.repaired,
            one.receive_flushes,
            one.registrations,
            one.registration_hits
        );
    }
}

/// On a wire between several devices datagrams may be lost, so that little comes where it is expected.
fn is_lossy(devices: &[String]) -> bool {
    devices.len() > 1
}

fn total(all: &[Statistics], of: impl Fn(&Statistics) -> u64) -> u64 {
    all.iter().map(of).sum()
}

#[test]
fn messages_of_all_lengths_arrive_unchanged() {
    let Some(devices) = needs::devices() else { return };
    let lens = [THRESHOLD - 1, THRESHOLD, THRESHOLD + 1, LONG, 0, 1_000_000, LONG, 1];
    for size in [2, 3, 8] {
        for algorithm in ["two-stage", "chain"] {
            println!("{size} ranks, {algorithm}");
            let all = exchange(size, |_| config(&devices, algorithm), &lens);
            assert!(all.iter().all(|one| one.sent_in_place > 0));
            let received = total(&all, |one| one.received_in_place);
            let registered = total(&all, |one| one.registrations);
            match algorithm {
                "chain" => {
                    assert!(received > 0);
                    // What others write into has a registration of its own.
                    let receivers = u64::from(size) - 1;
                    assert_eq!(registered, 5 * u64::from(size) + 5 * receivers);
                }
                _ => {
                    assert!(received > 0 || is_lossy(&devices));
                    assert_eq!(registered, 5 * u64::from(size));
                }
            }
            assert_eq!(total(&all, |one| one.registration_hits), 0);
        }
    }
}

#[test]
fn short_messages_and_the_switch_leave_memory_alone() {
    let Some(devices) = needs::devices() else { return };
    let off = |_: Rank| {
        let mut config = config(&devices, "two-stage");
        config.device.zero_copy = None;
        config
    };
    for all in [
        exchange(3, off, &[THRESHOLD, LONG]),
        exchange(3, |_| config(&devices, "two-stage"), &[1, THRESHOLD - 1, 5000]),
        // The receives that are posted ahead are for fragments behind its last.
        exchange(3, |_| config(&devices, "window"), &[THRESHOLD; 3]),
    ] {
        for one in all {
            assert_eq!((one.sent_in_place, one.received_in_place), (0, 0));
            assert_eq!((one.registrations, one.moved, one.receive_flushes), (0, 0, 0));
        }
    }
}

#[test]
fn every_rank_decides_for_itself() {
    let Some(devices) = needs::devices() else { return };
    let config = |rank: Rank| {
        let mut config = config(&devices, "two-stage");
        config.device.zero_copy = [None, Some(1), Some(1 << 20)][rank.index()];
        config
    };
    let all = exchange(3, config, &[LONG, 500_000, LONG, 100, LONG, 8, 70_000]);
    assert_eq!(all[0].sent_in_place, 0);
    assert!(all[1].sent_in_place > all[2].sent_in_place);
    assert_eq!((all[1].registrations, all[2].registrations), (7, 3));
}

#[test]
fn faults_are_repaired() {
    let Some(devices) = needs::devices() else { return };
    for algorithm in ["two-stage", "window"] {
        let mut config = config(&devices, algorithm);
        config.faults =
            Some("loss=0.1,dup=0.05,reorder=0.05,corrupt=0.05,seed=11".parse().unwrap());
        let all = exchange(3, |_| config.clone(), &[LONG, THRESHOLD, LONG, 1_000_000]);
        assert!(total(&all, |one| one.repaired) > 0);
        assert!(total(&all, |one| one.received_in_place) > 0 || is_lossy(&devices));
    }
}

#[test]
fn a_total_outage_is_repaired_too() {
    let Some(devices) = needs::devices() else { return };
    let mut config = config(&devices, "two-stage");
    config.faults = Some("loss=1".parse().unwrap());
    let all = exchange(3, |_| config.clone(), &[LONG, LONG]);
    assert_eq!(total(&all, |one| one.received_in_place), 0, "what is lost was not received");
    assert!(total(&all, |one| one.repaired) > 0);
}

#[test]
fn messages_that_cross_each_other_are_moved_apart() {
    messages_cross_each_other(true);
}

/// A payload in the wrong place is known by its header, whose CRC is always there.
#[test]
fn messages_that_cross_each_other_are_moved_apart_without_a_crc_of_payloads() {
    messages_cross_each_other(false);
}

fn messages_cross_each_other(payload_crc: bool) {
    let Some(devices) = needs::devices() else { return };
    let all = ranks::run(3, |bootstrap| {
        let mut config = config(&devices, "two-stage");
        config.device.payload_crc = payload_crc;
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let me = broadcaster.rank();
        for round in 0..3 {
            let pending: Vec<_> = (0..6)
                .map(|op| {
                    let (root, len) = (Rank(op as u32 % 3), 1_000_000 + 10_000 * op);
                    let sent = ranks::message(op + round, len);
                    let message = if me == root { sent } else { vec![0; len] };
                    broadcaster.start(root, message).unwrap()
                })
                .collect();
            for (op, pending) in pending.into_iter().enumerate() {
                let sent = ranks::message(op + round, 1_000_000 + 10_000 * op);
                assert!(broadcaster.wait(pending).unwrap() == sent, "{me}, {op} in {round}");
            }
        }
        broadcaster.flush().unwrap();
        broadcaster.statistics()
    });
    report(&all);
    assert!(total(&all, |one| one.moved) > 0 || is_lossy(&devices));
}

#[test]
fn strangers_on_the_group_never_reach_a_message() {
    let Some(devices) = needs::devices() else { return };
    let all = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices, "two-stage")).unwrap();
        stranger::beside(&mut broadcaster, LONG, |group| stranger::flood(group, 3000));
        broadcaster.flush().unwrap();
        broadcaster.statistics()
    });
    report(&all);
    assert!(total(&all, |one| one.foreign) > 0);
    assert_eq!(total(&all, |one| one.damaged), 0);
}

#[test]
fn after_a_failure_nothing_writes_the_message_any_more() {
    let Some(devices) = needs::devices() else { return };
    const LEN: usize = 16 << 20;
    let flushes = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices, "two-stage")).unwrap();
        let group = broadcaster.description().group.clone().unwrap();
        if broadcaster.rank() == Rank(0) {
            let _pending = broadcaster.start(Rank(0), vec![7; LEN]).unwrap();
            let begun = Instant::now();
            while broadcaster.statistics().multicast_sent < 1000 {
                broadcaster.progress().unwrap();
                std::thread::yield_now();
                assert!(begun.elapsed() < Duration::from_secs(60));
            }
            broadcaster.abort("the power went out");
            drop(broadcaster);
            verbcast::bootstrap::Bootstrap::barrier(bootstrap).unwrap();
            stranger::flood(&group, 500);
            verbcast::bootstrap::Bootstrap::barrier(bootstrap).unwrap();
            return 0;
        }
        let mut buffer = vec![0_u8; LEN];
        let error = broadcaster.broadcast_into(Rank(0), &mut buffer).unwrap_err();
        assert!(matches!(&error, Error::Failed(failure) if failure.rank == Rank(0)), "{error}");
        let statistics = broadcaster.statistics();
        report(&[statistics]);
        buffer.fill(0x5a);
        verbcast::bootstrap::Bootstrap::barrier(bootstrap).unwrap();
        verbcast::bootstrap::Bootstrap::barrier(bootstrap).unwrap();
        assert!(buffer.iter().all(|byte| *byte == 0x5a), "the message was written to");
        statistics.receive_flushes
    });
    assert!(flushes.iter().sum::<u64>() > 0, "receives were left over: {flushes:?}");
}

#[test]
fn a_buffer_is_registered_once() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices, "two-stage")).unwrap();
        let me = broadcaster.rank();
        for _ in 0..2 {
            let mut buffer = broadcaster.buffer(300_000);
            assert!(buffer.is_registered() && buffer.len() == 300_000);
            for (op, len) in [300_000, 200_000, 65_536].into_iter().enumerate() {
                let sent = ranks::message(op, len);
                let part = &mut buffer[..len];
                part.fill(0);
                if me == Rank(0) {
                    part.copy_from_slice(&sent);
                }
                broadcaster.broadcast_into(Rank(0), part).unwrap();
                assert!(*part == sent);
            }
        }
        let statistics = broadcaster.statistics();
        // The second buffer is the first one's memory.
        assert_eq!((statistics.registrations, statistics.registration_hits), (1, 7));
        assert!(statistics.sent_in_place > 0 || me == Rank(1));
        broadcaster.close().unwrap();
    });
}

#[test]
fn a_buffer_is_started_and_comes_back() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices, "two-stage")).unwrap();
        let me = broadcaster.rank();
        // Lent to the device, and copied as it is short.
        for len in [300_000, 1000] {
            let sent = ranks::message(len, len);
            let mut buffer = broadcaster.buffer(len);
            let address = buffer.as_ptr();
            if me == Rank(0) {
                buffer.copy_from_slice(&sent);
            }
            let pending = broadcaster.start(Rank(0), buffer).unwrap();
            let buffer = broadcaster.wait(pending).unwrap();
            assert!(*buffer == sent && buffer.is_registered(), "{me}, {len} bytes");
            assert_eq!(buffer.as_ptr(), address);
        }
        let statistics = broadcaster.statistics();
        // Each buffer was registered when it was made, and the long one was found so.
        assert_eq!((statistics.registrations, statistics.registration_hits), (2, 1));
        broadcaster.close().unwrap();
    });
}

#[test]
fn without_a_cache_buffers_are_memory_as_any_other() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut config = config(&devices, "two-stage");
        config.device.registration_cache = 0;
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let mut buffer = broadcaster.buffer(100_000);
        assert!(!buffer.is_registered());
        buffer.fill(broadcaster.rank().0 as u8);
        for _ in 0..3 {
            broadcaster.broadcast_into(Rank(1), &mut buffer).unwrap();
        }
        assert!(buffer.iter().all(|byte| *byte == 1));
        let statistics = broadcaster.statistics();
        assert_eq!((statistics.registrations, statistics.registration_hits), (3, 0));
    });
}

#[test]
fn many_messages_whose_memory_comes_and_goes() {
    let Some(devices) = needs::devices() else { return };
    // Memory of this length is mapped for each message, and unmapped after it.
    let lens: Vec<_> = (0..40).map(|n| 400_000 + 4096 * (n % 3) + n).collect();
    let all = exchange(3, |_| config(&devices, "two-stage"), &lens);
    assert!(all.iter().all(|one| one.registrations == 40));
}
