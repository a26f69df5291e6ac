//! Tables in HTML.

use super::papers::Quote;
use super::setup::{Setup, devices};
use crate::chart::escape;
use crate::results::{Configuration, Point, Summary, System, Test, ratio};
use crate::table::table;
use std::fmt::Write;

/// What the papers report, beside what was measured.
pub fn quotes(quotes: &[Quote]) -> String {
    let rows = quotes.iter().map(|quote| {
        let here = quote.here.as_ref();
        let holds = match here.and_then(|found| found.holds) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let here = here.map_or("not measured", |found| found.text.as_str());
        [quote.source, quote.there, here, holds].map(escape).to_vec()
    });
    table("", &["source", "the paper reports", "here", "so here"], 4, rows)
}

/// Where and how it was measured.
pub fn system(setup: &Setup<'_>) -> String {
    let System { kernel, processor, cpus, verbcast, is_optimised, mpi, mtu, fragment, .. } =
        setup.system;
    let mut hosts: Vec<&str> =
        setup.system.devices.iter().map(|device| device.host.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let build = if *is_optimised { "" } else { ", not built for speed" };
    let mut rows = vec![
        ("devices", devices(setup.system).join(", ")),
        ("hosts", hosts.join(", ")),
        ("MTU", mtu.map_or("unknown".to_owned(), |mtu| format!("{mtu} bytes"))),
        ("message in a packet", format!("{fragment} bytes")),
        ("kernel", kernel.clone()),
        ("processor", format!("{cpus} × {processor}")),
        ("verbcast", format!("{verbcast}{build}")),
        ("MPI", mpi.clone().unwrap_or_else(|| "none".to_owned())),
    ];
    for Configuration { command, root, seed, is_validated, variables, settings, .. } in
        &setup.configurations
    {
        let validated = if *is_validated { "validated" } else { "not validated" };
        let mut text =
            format!("verbcast {}; root {root}, seed {seed}, {validated}", command.join(" "));
        for (name, value) in variables {
            // Writing to a String does not fail.
            let _ = write!(text, "; {name}={value}");
        }
        rows.push(("run", text));
        rows.push(("its settings", settings.clone()));
    }
    rows.dedup();
    let rows = rows.into_iter().map(|(name, value)| vec![escape(name), escape(&value)]);
    table("", &["", ""], 2, rows)
}

/// Every number.
pub fn points(test: Test, points: &[&Point]) -> String {
    let is_rate = test == Test::Throughput;
    let mut head = vec!["algorithm", "ranks", "bytes"];
    if test == Test::Skew {
        head.push("delay (µs)");
    }
    head.extend(match is_rate {
        true => &["broadcasts/s", "MB/s"][..],
        false => &["mean", "p50", "p90", "p99", "p99.9", "max"],
    });
    head.extend(["× raw", "× binomial", "broadcasts", "messages lost", "packets lost", "repaired"]);
    let rows = points.iter().map(|point| {
        let mut row =
            vec![escape(&point.algorithm), point.ranks.to_string(), point.size.to_string()];
        row.extend(point.skew.map(|skew| (skew / 1000).to_string()));
        row.extend(match is_rate {
            true => vec![figure(point.rate()), figure(point.bandwidth())],
            false => times(point),
        });
        let among = || points.iter().copied();
        row.extend(["raw", "binomial"].map(|other| {
            ratio(point, other, among()).map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
        }));
        row.push(point.iterations.to_string());
        row.push(format!("{:.2} %", 100.0 * point.lost_share()));
        row.push(point.counters.lost.to_string());
        row.push(point.repaired().map_or("–".to_owned(), |count| count.to_string()));
        row
    });
    let unit = if is_rate { "" } else { "Times in microseconds." };
    table(unit, &head, 1, rows)
}

fn times(point: &Point) -> Vec<String> {
    let summary = point.histogram.summary();
    let of = |pick: fn(&Summary) -> f64| figure(summary.as_ref().map(|all| pick(all) / 1e3));
    vec![
        of(|all| all.mean),
        of(|all| all.p50 as f64),
        of(|all| all.p90 as f64),
        of(|all| all.p99 as f64),
        of(|all| all.p999 as f64),
        of(|all| all.max as f64),
    ]
}

/// A figure with two decimals, or none where there are digits enough.
fn figure(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value < 1000.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.0}"),
    }
}
