//! How much memory a simulation takes.

use std::fs;
use verbcast_core::driver::Statistics;
use verbcast_sim::{Call, Plan};

/// A rank without messages: its core, driver and adapter.
const RANK: u64 = 10 << 10;

/// About how many bytes a simulation of messages of `size` bytes takes: each rank's message, packets on
/// their way to it as often as it has receives for them, and the times of all calls, kept until the end.
pub fn needed(plan: &Plan, size: u64) -> u64 {
    let depths = &plan.depths;
    let packets = u64::from(depths.receive + depths.reliable_receive + depths.ring);
    let on_the_way = size.min(packets * plan.packet_len as u64);
    // The outcome is made twice.
    let calls = (3 * plan.steps.len() * size_of::<Call>()) as u64;
    let rank = RANK + calls + 2 * size_of::<Statistics>() as u64;
    size.saturating_add(on_the_way).saturating_add(rank).saturating_mul(u64::from(plan.size))
}

/// The most memory that this process has had, in bytes, where the system tells.
pub fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::rank::Rank;
    use verbcast_sim::Step;

    #[test]
    fn memory_grows_with_ranks_and_size() {
        let plan = |ranks| Plan::new(ranks, vec![Step { root: Rank(0), len: 0 }]);
        let of = |ranks, size| needed(&plan(ranks), size);
        assert!(of(16_384, 8) < 1 << 30);
        assert!(of(1000, 1 << 30) > 1000 << 30);
        assert_eq!(needed(&plan(1_000_000), u64::MAX), u64::MAX);
    }

    #[test]
    fn the_peak_is_known_where_there_is_proc() {
        if fs::exists("/proc/self/status").unwrap_or(false) {
            assert!(peak().is_some_and(|bytes| bytes > 1 << 16));
        }
    }
}
