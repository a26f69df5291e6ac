//! The results as tables. The first columns are those of OSU's benchmarks, so that what reads theirs reads
//! these.

use super::contender::{BINOMIAL, RAW};
use crate::incidents;
use crate::results::{Axis, CpuTime, Group, Point, Results, Summary, System, Test, groups, ratio};
use std::fmt::Write;

/// Widths that OSU's benchmarks use: of the first column, of a figure, and of a number of iterations.
const FIRST: usize = 10;
const FIGURE: usize = 18;
const COUNT: usize = 12;
/// Of the columns that follow, and their names; the CPU time is a rank's mean for one broadcast, in microseconds.
const MORE: usize = 12;
const MORE_COLUMNS: [&str; 11] = [
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "x raw",
    "x binomial",
    "lost",
    "repaired",
    "user(us)",
    "sys(us)",
];

/// All results.
pub fn tables(results: &Results) -> String {
    let mut text = head(results);
    for group in groups(&results.points) {
        for (algorithm, points) in group.curves() {
            // Writing to a String does not fail.
            let _ = writeln!(text, "\n# verbcast {}", group.test.describe());
            let _ = writeln!(text, "# {algorithm}, {}", group.constants());
            text += &columns(&group);
            for point in &points {
                text += &row(&group, point);
            }
            text += &cpu_by_rank(&group, &points);
        }
    }
    let total = results.points.iter().map(|point| point.counters).sum();
    if let Some(line) = incidents::line(&total) {
        let _ = writeln!(text, "\n# {line}");
    }
    text
}

/// Where it was measured, as comments.
pub fn head(results: &Results) -> String {
    let System { kernel, processor, cpus, verbcast, devices, mtu, fragment, .. } = &results.system;
    let mut names: Vec<&str> = devices.iter().map(|device| device.device.as_str()).collect();
    names.dedup();
    let mtu = mtu.map_or("unknown".to_owned(), |mtu| mtu.to_string());
    let mpi = results.system.mpi.as_ref().map_or(String::new(), |mpi| format!("# mpi is {mpi}\n"));
    let slow = if results.system.is_optimised { "" } else { ", not built for speed" };
    format!(
        "# verbcast {verbcast}{slow}, {}, MTU {mtu}, {fragment} bytes of a message in a packet\n\
         # Linux {kernel}, {cpus} × {processor}\n\
         {mpi}# root {}, seed {}, {}\n",
        names.join(" "),
        results.configuration.root,
        results.configuration.seed,
        if results.configuration.is_validated { "validated" } else { "not validated" },
    )
}

fn columns(group: &Group<'_>) -> String {
    let first = match group.axis {
        Axis::Size => "# Size",
        Axis::Ranks => "# Ranks",
        Axis::Skew => "# Skew(us)",
    };
    let mut line = format!("{first:<FIRST$}");
    let figures: &[&str] = match group.test {
        Test::Throughput => &["MB/s", "Messages/s"],
        _ => &["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)"],
    };
    for name in figures {
        let _ = write!(line, "{name:>FIGURE$}");
    }
    let _ = write!(line, "{:>COUNT$}", "Iterations");
    for name in MORE_COLUMNS {
        let _ = write!(line, "{name:>MORE$}");
    }
    line + "\n"
}

fn row(group: &Group<'_>, point: &Point) -> String {
    let mut line = format!("{:<FIRST$}", place(group, point));
    let figures = match group.test {
        Test::Throughput => vec![point.bandwidth(), point.rate()],
        _ => averages(point).to_vec(),
    };
    for figure in figures {
        let _ = write!(line, "{:>FIGURE$}", decimal(figure));
    }
    let _ = write!(line, "{:>COUNT$}", point.iterations);
    let summary = point.histogram.summary();
    let of = |pick: fn(&Summary) -> u64| summary.as_ref().map(|all| pick(all) as f64 / 1e3);
    let percentiles = [
        of(|all| all.p50),
        of(|all| all.p90),
        of(|all| all.p99),
        of(|all| all.p999),
        of(|all| all.max),
    ];
    let all = || group.points.iter().copied();
    for figure in
        percentiles.into_iter().chain([ratio(point, RAW, all()), ratio(point, BINOMIAL, all())])
    {
        let _ = write!(line, "{:>MORE$}", decimal(figure));
    }
    let lost = format!("{:.2}%", 100.0 * point.lost_share());
    let repaired = point.repaired().map_or("-".to_owned(), |count| count.to_string());
    let _ = write!(line, "{lost:>MORE$}{repaired:>MORE$}");
    let used: CpuTime = point.cpu_per_broadcast().sum();
    for part in [used.user, used.system] {
        let mean = (!point.cpu.is_empty()).then(|| part as f64 / 1e3 / point.cpu.len() as f64);
        let _ = write!(line, "{:>MORE$}", decimal(mean));
    }
    line + "\n"
}

/// Where a point is on the axis, as tables have it.
fn place(group: &Group<'_>, point: &Point) -> u64 {
    match group.axis {
        Axis::Skew => group.axis.value(point) / 1000,
        axis => axis.value(point),
    }
}

/// The CPU time of each rank, as comments.
fn cpu_by_rank(group: &Group<'_>, points: &[&Point]) -> String {
    if points.iter().all(|point| point.cpu.is_empty()) {
        return String::new();
    }
    let mut text = "# CPU time of each rank for one broadcast, user+system in us\n".to_owned();
    for point in points {
        let used = point.cpu_per_broadcast();
        let each = used.map(|CpuTime { user, system }| {
            format!(" {:.1}+{:.1}", user as f64 / 1e3, system as f64 / 1e3)
        });
        let _ = writeln!(text, "# {:<8}{}", place(group, point), each.collect::<String>());
    }
    text
}

/// The mean over all ranks, and the least and the greatest of the ranks' own means, in microseconds.
fn averages(point: &Point) -> [Option<f64>; 3] {
    let means = || point.by_rank.iter().flatten().map(|rank| rank.mean / 1e3);
    let mean = point.histogram.summary().map(|summary| summary.mean / 1e3);
    [mean, means().reduce(f64::min), means().reduce(f64::max)]
}

fn decimal(figure: Option<f64>) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Configuration, FORMAT, Histogram};

    fn point(algorithm: &str, size: u64, times: &[u64]) -> Point {
        let mut histogram = Histogram::default();
        times.iter().for_each(|time| histogram.record(*time));
        let by_rank = times
            .iter()
            .map(|time| {
                let mut own = Histogram::default();
                own.record(*time);
                own.summary()
            })
            .collect();
        let algorithm = algorithm.to_owned();
        Point {
            algorithm,
            ranks: 3,
            size,
            iterations: 5,
            histogram,
            by_rank,
            ..Point::new(Test::Osu)
        }
    }

    #[test]
    fn the_columns_are_osus_and_more() {
        let points = vec![point("raw", 8, &[1000, 2000]), point("window", 8, &[1500, 3000])];
        let mut points = points;
        points[1].cpu =
            [(1500, 5000), (2500, 15_000)].map(|(user, system)| CpuTime { user, system }).to_vec();
        let results = Results {
            format: FORMAT.to_owned(),
            system: System::default(),
            configuration: Configuration::default(),
            points,
            left_out: Vec::new(),
        };
        let text = tables(&results);
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| *line == "# window, 3 ranks").unwrap();
        let header = "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations";
        assert!(lines[at + 1].starts_with(header), "{text}");
        let row: Vec<&str> = lines[at + 2].split_whitespace().collect();
        assert_eq!(row[..5], ["8", "2.25", "1.50", "3.00", "5"], "{text}");
        assert_eq!(
            row[5..],
            ["1.50", "3.00", "3.00", "3.00", "3.00", "1.50", "-", "0.00%", "-", "0.40", "2.00"]
        );
        assert!(lines[at + 3].starts_with("# CPU time of each rank"), "{text}");
        assert_eq!(lines[at + 4], "# 8        0.3+1.0 0.5+3.0");
    }

    #[test]
    fn throughput_has_the_columns_of_osus_message_rate() {
        let mut one = Point { test: Test::Throughput, ..point("chain", 1 << 20, &[10]) };
        (one.seconds, one.iterations) = (Some(2.0), 100);
        let points = [one];
        let group = &groups(&points)[0];
        assert!(
            columns(group)
                .starts_with("# Size                  MB/s        Messages/s  Iterations")
        );
        let row = row(group, &points[0]);
        assert!(
            row.starts_with("1048576                52.43             50.00         100"),
            "{row}"
        );
    }
}
