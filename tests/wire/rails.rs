//! Ranks that use two NICs each.

use crate::needs;
use crate::ranks;
use std::fs;
use verbcast::broadcast::{Broadcaster, Config, Endpoint};
use verbcast_core::rank::Rank;

const LEN: usize = 1_000_000;
/// Fewest fragments of a message of that length.
const FRAGMENTS: u64 = LEN as u64 / 4096;

/// Ranks of two rails each on these devices, and their settings.
fn pairs(devices: &[String]) -> Option<(u32, Config)> {
    let size = devices.len() as u32 / 2;
    if size < 2 {
        needs::missing(format!("{} NICs, and four are needed", devices.len()));
        return None;
    }
    let mut config = ranks::flat();
    config.device.devices = devices.to_vec();
    config.device.rails = 2;
    Some((size, config))
}

/// Packets that a device has sent.
fn sent(device: &str) -> u64 {
    let path = format!("/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts");
    fs::read_to_string(path).unwrap().trim().parse().unwrap()
}

#[test]
fn fragments_take_turns_over_two_nics_of_each_rank_and_losses_are_repaired() {
    let Some(devices) = needs::devices() else { return };
    let Some((size, config)) = pairs(&devices) else { return };
    let before: Vec<_> = devices.iter().map(|device| sent(device)).collect();
    let lens = vec![LEN; size as usize];
    let all = ranks::exchange(size, |_| config.clone(), &lens);
    assert!(all.iter().map(|one| one.repaired).sum::<u64>() > 0, "{all:?}");
    for (device, before) in devices[..2 * size as usize].iter().zip(before) {
        let sent = sent(device) - before;
        assert!(sent >= FRAGMENTS / 2, "{device} has sent {sent} packets");
    }
}

#[test]
fn short_messages_and_further_communicators_have_both_rails() {
    let Some(devices) = needs::devices() else { return };
    let Some((size, config)) = pairs(&devices) else { return };
    let all = ranks::run(size, |bootstrap| {
        let endpoint = Endpoint::new(&config.device);
        let mut first = Broadcaster::new_on(&endpoint, bootstrap, &config).unwrap();
        let prepared = first.further();
        let mut second = verbcast::broadcast::Further::complete(prepared, bootstrap).unwrap();
        for op in 0..200_usize {
            let root = Rank(op as u32 % size);
            for broadcaster in [&mut first, &mut second] {
                let sent = ranks::message(op, 8);
                let mut message =
                    if broadcaster.rank() == root { sent.clone() } else { vec![0; 8] };
                broadcaster.broadcast_into(root, &mut message).unwrap();
                assert_eq!(message, sent, "broadcast {op}");
            }
        }
        let devices = second.description().device.clone();
        first.close().unwrap();
        second.close().unwrap();
        devices
    });
    let own = |rank: usize| format!("{} and {}", devices[2 * rank], devices[2 * rank + 1]);
    assert_eq!(all, (0..size as usize).map(own).collect::<Vec<_>>());
}
