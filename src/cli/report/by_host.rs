//! Latencies by the hosts of the ranks.

use super::setup::Setup;
use crate::chart::escape;
use crate::results::{Device, Point, Summary};
use crate::table::table;

/// Hosts of a measurement that are shown: those whose slowest rank is slowest.
const SHOWN: usize = 8;

/// What the ranks of a host have measured.
#[derive(Debug, PartialEq)]
struct Host<'a> {
    name: &'a str,
    ranks: usize,
    /// Of the ranks' medians in nanoseconds the median, and the longest with its rank.
    median: u64,
    slowest: (u64, usize),
    /// The longest of the ranks' 99th percentiles, in nanoseconds.
    p99: u64,
}

/// The hosts of all measurements whose ranks were on several; none if there are no such.
pub fn by_host(setup: &Setup<'_>, points: &[&Point]) -> Option<String> {
    let mut rows = Vec::new();
    for point in points {
        let hosts = hosts(&setup.system.devices, &point.by_rank);
        if hosts.len() < 2 {
            continue;
        }
        for host in hosts.iter().take(SHOWN) {
            let micros = |nanos: u64| format!("{:.2}", nanos as f64 / 1e3);
            let (slowest, rank) = host.slowest;
            rows.push(vec![
                escape(&point.algorithm),
                point.ranks.to_string(),
                point.size.to_string(),
                escape(host.name),
                host.ranks.to_string(),
                micros(host.median),
                format!("{} (rank {rank})", micros(slowest)),
                micros(host.p99),
            ]);
        }
    }
    let head =
        ["algorithm", "ranks", "bytes", "host", "its ranks", "p50", "slowest p50", "worst p99"];
    let caption = format!(
        "By host, times in microseconds: of each measurement the {SHOWN} hosts with the slowest ranks."
    );
    (!rows.is_empty()).then(|| table(&caption, &head, 1, rows.into_iter()))
}

/// Those with the slowest rank first.
fn hosts<'a>(devices: &'a [Device], by_rank: &[Option<Summary>]) -> Vec<Host<'a>> {
    let mut hosts: Vec<(&str, Vec<(usize, &Summary)>)> = Vec::new();
    for (rank, (device, summary)) in devices.iter().zip(by_rank).enumerate() {
        let Some(summary) = summary else { continue };
        match hosts.iter_mut().find(|(name, _)| *name == device.host) {
            Some((_, ranks)) => ranks.push((rank, summary)),
            None => hosts.push((&device.host, vec![(rank, summary)])),
        }
    }
    let of_host = |(name, mut ranks): (&'a str, Vec<(usize, &Summary)>)| {
        ranks.sort_by_key(|(_, summary)| summary.p50);
        let (rank, slowest) = *ranks.last()?;
        Some(Host {
            name,
            ranks: ranks.len(),
            median: ranks[(ranks.len() - 1) / 2].1.p50,
            slowest: (slowest.p50, rank),
            p99: ranks.iter().map(|(_, summary)| summary.p99).max()?,
        })
    };
    let mut hosts: Vec<_> = hosts.into_iter().filter_map(of_host).collect();
    hosts.sort_by_key(|host| std::cmp::Reverse(host.slowest.0));
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(p50: u64) -> Option<Summary> {
        let (count, mean, min, p99) = (1, 0.0, 0, 10 * p50);
        Some(Summary { count, mean, min, p50, p90: p50, p99, p999: p99, max: p99 })
    }

    fn on(hosts: &[&str]) -> Vec<Device> {
        let device = |host: &&str| Device {
            host: (*host).to_owned(),
            device: "rxe0".to_owned(),
            port: 1,
            gid_index: 1,
        };
        hosts.iter().map(device).collect()
    }

    #[test]
    fn hosts_with_the_slowest_ranks_come_first() {
        let devices = on(&["a", "b", "a", "b", "a", "c"]);
        let measured = [None, summary(3), summary(9), summary(30), summary(5), summary(4)];
        let found = hosts(&devices, &measured);
        let host = |name, ranks, median, slowest, p99| Host { name, ranks, median, slowest, p99 };
        assert_eq!(
            found,
            [
                host("b", 2, 3, (30, 3), 300),
                host("a", 2, 5, (9, 2), 90),
                host("c", 1, 4, (4, 5), 40)
            ]
        );
        // Fewer ranks than were there.
        assert_eq!(hosts(&devices, &measured[..2]), [host("b", 1, 3, (3, 1), 30)]);
    }
}
