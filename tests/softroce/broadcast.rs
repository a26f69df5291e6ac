//! Broadcasts over real verbs and real multicast.

use crate::needs;
use crate::ranks;
use crate::stranger;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Config, Error};
use verbcast::rdma::{Family, Multicast, Waiting};
use verbcast_core::driver::{FailureKind, Statistics};
use verbcast_core::protocol::options::Synchronisation;
use verbcast_core::rank::Rank;

fn config(devices: &[String]) -> Config {
    let mut config = ranks::flat();
    config.device.devices = devices.to_vec();
    config
}

fn exchange(size: u32, config: &Config, lens: &[usize]) -> Vec<Statistics> {
    ranks::exchange(size, |_| config.clone(), lens)
}

/// Nothing, a byte, as much as a fragment has behind a header and without one, and a byte either side of that, and more.
fn lens() -> Vec<usize> {
    let around = [FRAGMENT - 48, FRAGMENT].into_iter().flat_map(|len| [len - 1, len, len + 1]);
    [0, 1].into_iter().chain(around).chain([3 * FRAGMENT, 300_000, 8, 8, 8, 1, 0]).collect()
}

/// Bytes of a fragment that fills its datagram.
const FRAGMENT: usize = 4096;

#[test]
fn every_rank_gets_every_message_whatever_the_root() {
    let Some(devices) = needs::devices() else { return };
    for size in [1, 2, 3, 8] {
        let lens = lens();
        let all = exchange(size, &config(&devices), &lens);
        let fragments: usize = lens.iter().map(|len| len.div_ceil(FRAGMENT).max(1)).sum();
        let sent: u64 = all.iter().map(|statistics| statistics.multicast_sent).sum();
        // Two ranks have no use for a multicast, as the table of protocols says by default.
        let expected = if size <= 2 { 0 } else { fragments as u64 };
        assert_eq!(sent, expected, "each fragment is multicast once");
    }
}

#[test]
fn losses_are_repaired() {
    let Some(devices) = needs::devices() else { return };
    let mut config = config(&devices);
    config.faults = Some("loss=0.1,dup=0.05,reorder=0.05,seed=7".parse().unwrap());
    let all = exchange(8, &config, &lens());
    assert!(all.iter().map(|statistics| statistics.repaired).sum::<u64>() > 0);
    assert!(all.iter().map(|statistics| statistics.lost).sum::<u64>() > 0);
    assert!(all.iter().map(|statistics| statistics.duplicates).sum::<u64>() > 0);
}

/// Whatever bit is another: with a CRC of payloads any, without one any of the header.
#[test]
fn damaged_datagrams_are_noticed_and_repaired() {
    let Some(devices) = needs::devices() else { return };
    for payload_crc in [true, false] {
        let mut config = config(&devices);
        config.device.payload_crc = payload_crc;
        config.faults = Some("corrupt=0.2,dup=0.05,seed=7".parse().unwrap());
        let all = exchange(4, &config, &lens());
        assert!(all.iter().map(|statistics| statistics.damaged).sum::<u64>() > 0);
        assert!(all.iter().map(|statistics| statistics.repaired).sum::<u64>() > 0);
    }
}

/// With authentication codes: by every algorithm, with messages in place and copied, repairs by reads and by sends, and
/// damage, which a code gives away as a CRC does.
#[test]
fn messages_with_codes_arrive_and_damaged_ones_are_repaired() {
    let Some(devices) = needs::devices() else { return };
    for (algorithm, repair) in
        [("window", "pull"), ("window", "push"), ("two-stage", "pull"), ("chain", "pull")]
    {
        let mut config = config(&devices);
        config.device.mac = true;
        config.protocol.set("algorithm", algorithm).unwrap();
        config.protocol.set("repair", repair).unwrap();
        config.faults = Some("loss=0.02,corrupt=0.1,dup=0.05,seed=7".parse().unwrap());
        let all = exchange(4, &config, &lens());
        let sum = |counter: fn(&Statistics) -> u64| all.iter().map(counter).sum::<u64>();
        assert_eq!((sum(|one| one.damaged), sum(|one| one.foreign)), (0, 0), "{algorithm}");
        if algorithm != "chain" {
            assert!(sum(|one| one.forged) > 0 && sum(|one| one.repaired) > 0, "{algorithm}");
        }
    }
}

#[test]
fn every_root_synchronisation_and_waiting_policy_works() {
    let Some(devices) = needs::devices() else { return };
    let delay = Synchronisation::Delay(Duration::from_micros(500));
    for (synchronisation, waiting) in [
        (Synchronisation::None, Waiting::Yield),
        (delay, Waiting::Block),
        (Synchronisation::RandomRank, Waiting::Adaptive),
        (Synchronisation::RandomRank, Waiting::Spin),
    ] {
        let mut config = config(&devices);
        config.protocol.synchronisation = synchronisation;
        config.device.waiting = waiting;
        exchange(4, &config, &lens());
    }
}

#[test]
fn without_multicast_the_chain_carries_everything() {
    let Some(devices) = needs::devices() else { return };
    let mut config = config(&devices);
    config.device.multicast = Multicast::Off;
    let all = exchange(4, &config, &lens());
    assert!(all.iter().all(|statistics| statistics.multicast_sent == 0));
    assert!(all.iter().any(|statistics| statistics.repaired > 0));
}

#[test]
fn all_are_connected_at_once_with_few_slots() {
    let Some(devices) = needs::devices() else { return };
    let mut config = config(&devices);
    // Among sixteen, each has more handshakes to confirm than sends that may be under way.
    config.device.depths.reliable_send = 8;
    config.protocol.set("algorithm", "binomial").unwrap();
    exchange(16, &config, &[8; 16]);
}

#[test]
fn an_ipv6_group_works_or_is_refused_by_name() {
    let Some(devices) = needs::devices() else { return };
    let mut config = config(&devices);
    config.device.group_family = Family::Ipv6;
    config.device.timeout = Duration::from_secs(10);
    let outcomes = ranks::run(2, |bootstrap| {
        Broadcaster::new(bootstrap, &config).map(|mut broadcaster| {
            let mut value = [u64::from(broadcaster.rank().0) + 40];
            broadcaster.broadcast_into(Rank(1), &mut value).unwrap();
            value[0]
        })
    });
    for outcome in outcomes {
        match outcome {
            Ok(value) => assert_eq!(value, 41),
            Err(error) => {
                println!("IPv6 groups do not work here: {error}");
                assert!(error.to_string().contains("group ff15:"), "{error}");
            }
        }
    }
}

#[test]
fn broadcasts_can_be_in_flight_together() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(4, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        let me = broadcaster.rank();
        let pending: Vec<_> = (0..20)
            .map(|op| {
                let (root, sent) = (Rank(op as u32 % 4), ranks::message(op, op * 2000));
                let message = if me == root { sent } else { vec![0; sent.len()] };
                broadcaster.start(root, message).unwrap()
            })
            .collect();
        for (op, pending) in pending.into_iter().enumerate() {
            assert!(broadcaster.wait(pending).unwrap() == ranks::message(op, op * 2000));
        }
        broadcaster.close().unwrap();
    });
}

#[test]
fn a_blocking_broadcast_waits_until_another_may_begin() {
    let Some(devices) = needs::devices() else { return };
    for algorithm in ["two-stage", "window"] {
        let mut config = config(&devices);
        config.protocol.set("algorithm", algorithm).unwrap();
        config.protocol.set("acknowledge", "every:32").unwrap();
        config.protocol.in_flight = 1;
        exchange(3, &config, &[8; 200]);
    }
}

#[test]
fn a_broadcast_can_be_asked_for_while_something_else_goes_on() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        let me = broadcaster.rank();
        for (op, len) in [0, 100, 300_000].into_iter().enumerate() {
            let sent = ranks::message(op, len);
            let message = if me == Rank(1) { sent.clone() } else { vec![0; len] };
            let mut pending = broadcaster.start(Rank(1), message).unwrap();
            let received = loop {
                if let Poll::Ready(message) = broadcaster.try_wait(&mut pending) {
                    break message.unwrap();
                }
                std::thread::yield_now();
            };
            assert!(received == sent, "{me}, {len} bytes");
        }
        broadcaster.close().unwrap();
    });
}

#[test]
fn a_broadcast_can_be_waited_for_by_its_descriptor() {
    let Some(devices) = needs::devices() else { return };
    let woken = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        let me = broadcaster.rank();
        let mut woken = 0;
        for op in 0..10 {
            let sent = ranks::message(op, 50_000);
            let message = if me == Rank(0) { sent.clone() } else { vec![0; 50_000] };
            if me == Rank(0) {
                // The others have begun to wait.
                std::thread::sleep(Duration::from_millis(20));
            }
            let mut pending = broadcaster.start(Rank(0), message).unwrap();
            let received = loop {
                if let Poll::Ready(message) = broadcaster.try_wait(&mut pending) {
                    break message.unwrap();
                }
                let at_most = Timespec::try_from(broadcaster.arm().unwrap()).unwrap();
                let mut fds = [PollFd::new(&broadcaster, PollFlags::IN)];
                woken += poll(&mut fds, Some(&at_most)).unwrap();
            };
            assert!(received == sent, "{me}, broadcast {op}");
        }
        broadcaster.close().unwrap();
        woken
    });
    assert!(woken[1] > 0 && woken[2] > 0, "nobody was woken by the descriptor: {woken:?}");
}

/// Each of sixteen packets could wake who sleeps. Nothing else comes here, no question and no acknowledgement; what a rank
/// itself asks for, as in the set-up, wakes it too.
#[test]
fn who_sleeps_is_woken_for_a_message_and_not_for_each_fragment() {
    const MESSAGES: usize = 10;
    const LEN: usize = 16 * FRAGMENT;
    let Some(devices) = needs::devices() else { return };
    let mut config = config(&devices);
    for (name, value) in [
        ("VERBCAST_ALGORITHM", "window"),
        ("VERBCAST_ACKNOWLEDGE", "every:1000"),
        ("VERBCAST_ACKNOWLEDGE_AFTER", "10000000"),
    ] {
        config.set(name, value).unwrap();
    }
    let woken = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let me = broadcaster.rank();
        let mut woken = 0;
        for op in 0..MESSAGES {
            let sent = ranks::message(op, LEN);
            if me == Rank(0) {
                bootstrap.all_gather(&[]).unwrap();
                broadcaster.broadcast_from(&sent).unwrap();
                continue;
            }
            let mut pending = broadcaster.start(Rank(0), vec![0; LEN]).unwrap();
            let mut is_waiting = false;
            let received = loop {
                if let Poll::Ready(message) = broadcaster.try_wait(&mut pending) {
                    break message.unwrap();
                }
                if broadcaster.arm().unwrap().is_zero() {
                    continue;
                }
                if !std::mem::replace(&mut is_waiting, true) {
                    bootstrap.all_gather(&[]).unwrap();
                }
                // Only what comes ends the wait, no timer does.
                let at_most = Timespec { tv_sec: 10, tv_nsec: 0 };
                let mut fds = [PollFd::new(&broadcaster, PollFlags::IN)];
                woken += poll(&mut fds, Some(&at_most)).unwrap();
            };
            assert!(received == sent, "{me}, broadcast {op}");
        }
        broadcaster.close().unwrap();
        woken
    });
    println!("woken {woken:?} times by {MESSAGES} messages");
    for woken in &woken[1..] {
        assert!((MESSAGES..2 * MESSAGES).contains(woken), "{woken} times by {MESSAGES} messages");
    }
}

#[test]
fn a_broadcast_is_waited_for_where_it_was_started_and_once() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        let mut other = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        let mut pending = broadcaster.start(Rank(0), vec![7; 100]).unwrap();
        let refused = other.try_wait(&mut pending);
        assert!(matches!(refused, Poll::Ready(Err(Error::OtherBroadcaster))));
        while broadcaster.try_wait(&mut pending).map(Result::unwrap).is_pending() {
            std::thread::yield_now();
        }
        assert!(matches!(broadcaster.wait(pending), Err(Error::AlreadyTaken)));
        broadcaster.close().unwrap();
        other.close().unwrap();
    });
}

#[test]
fn who_waits_goes_on_with_something_else() {
    let Some(devices) = needs::devices() else { return };
    let calls: [Arc<AtomicU64>; 3] = Default::default();
    ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        let me = broadcaster.rank();
        let counter = Arc::clone(&calls[me.index()]);
        broadcaster.while_waiting(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        if me == Rank(1) {
            while [0, 2].iter().any(|other| calls[*other].load(Ordering::Relaxed) == 0) {
                std::thread::yield_now();
            }
        }
        broadcaster.broadcast_into(Rank(1), &mut [0_u8; 8]).unwrap();
        broadcaster.close().unwrap();
    });
}

#[test]
fn another_length_or_root_is_an_error_at_every_rank() {
    let Some(devices) = needs::devices() else { return };
    for other in [(Rank(0), 100), (Rank(1), 99)] {
        let errors = ranks::run(4, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
            let odd = broadcaster.rank() == Rank(2);
            let (root, len) = if odd { other } else { (Rank(1), 100) };
            let mut outcome = broadcaster.broadcast_into(root, &mut vec![0_u8; len]);
            // Whoever got through, as a root may, learns of it in a later call.
            while outcome.is_ok() {
                outcome = broadcaster.broadcast_into(Rank(3), &mut [0_u8; 50_000]);
            }
            outcome.unwrap_err()
        });
        for error in errors {
            let Error::Failed(failure) = error else { panic!("{error}") };
            assert_eq!(failure.kind, FailureKind::Erroneous, "{failure}");
            assert!(failure.reason.contains("operation 0"), "{failure}");
        }
    }
}

#[test]
fn a_rank_that_gives_up_is_named_with_its_reason() {
    let Some(devices) = needs::devices() else { return };
    let errors = ranks::run(5, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        if broadcaster.rank() == Rank(3) {
            broadcaster.abort("the disk is full");
        }
        broadcaster.broadcast_into(Rank(3), &mut [0_u8; 10]).unwrap_err().to_string()
    });
    assert!(errors.iter().all(|error| error == "rank 3: the disk is full"), "{errors:?}");
}

#[test]
fn a_rank_that_leaves_early_is_named() {
    let Some(devices) = needs::devices() else { return };
    let errors = ranks::run(4, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        broadcaster.broadcast_into(Rank(0), &mut [1_u8; 10]).unwrap();
        // Who is still in it would be told there.
        broadcaster.flush().unwrap();
        verbcast::bootstrap::Bootstrap::barrier(bootstrap).unwrap();
        if broadcaster.rank() == Rank(2) {
            return broadcaster.close().err().map(|error| error.to_string());
        }
        broadcaster.broadcast_into(Rank(2), &mut [0_u8; 10]).err().map(|error| error.to_string())
    });
    for (rank, error) in errors.iter().enumerate() {
        let named = error.as_ref().is_some_and(|error| error.contains("rank 2: operation 1"));
        assert!(rank == 2 || named, "{errors:?}");
    }
}

#[test]
fn different_settings_are_refused_by_name() {
    let Some(devices) = needs::devices() else { return };
    let errors = ranks::run(3, |bootstrap| {
        let mut config = config(&devices);
        if verbcast::bootstrap::Bootstrap::rank(bootstrap) == Rank(1) {
            config.protocol.in_flight = 3;
        }
        Broadcaster::new(bootstrap, &config).unwrap_err().to_string()
    });
    assert!(errors.iter().all(|error| error.contains("rank 1: has")), "{errors:?}");
    let errors = ranks::run(3, |bootstrap| {
        let mut config = config(&devices);
        config.device.mac = verbcast::bootstrap::Bootstrap::rank(bootstrap) != Rank(1);
        Broadcaster::new(bootstrap, &config).unwrap_err().to_string()
    });
    let expected = "rank 1: has VERBCAST_MAC=off, but rank 0 has on";
    assert!(errors.iter().all(|error| error.contains(expected)), "{errors:?}");
}

#[test]
fn a_device_that_does_not_exist_is_named_at_every_rank() {
    let Some(devices) = needs::devices() else { return };
    let mut names = config(&devices);
    names.device.devices = vec![devices[0].clone(), "nosuch0".to_owned()];
    let errors =
        ranks::run(2, |bootstrap| Broadcaster::new(bootstrap, &names).unwrap_err().to_string());
    for error in errors {
        assert!(error.contains("rank 1") && error.contains("\"nosuch0\""), "{error}");
    }
}

#[test]
fn garbage_on_the_group_changes_nothing_but_a_counter() {
    let Some(devices) = needs::devices() else { return };
    const GARBAGE: usize = 10_000;
    let all = ranks::run(3, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config(&devices)).unwrap();
        stranger::beside(&mut broadcaster, 20_000, |group| stranger::flood(group, GARBAGE));
        broadcaster.flush().unwrap();
        broadcaster.statistics()
    });
    for statistics in &all {
        assert!(statistics.foreign > 0, "{statistics:?}");
        assert_eq!((statistics.damaged, statistics.rejected), (0, 0), "{statistics:?}");
    }
    println!("foreign packets seen: {:?}", all.iter().map(|one| one.foreign).collect::<Vec<_>>());
}
