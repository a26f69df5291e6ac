//! What takes time, where time matters: checksums, the simulator, forwarding tables.

#![allow(missing_docs, reason = "the macros' items have none")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::wire::{Header, Key, Kind, Packet};
use verbcast_fabric::{FatTree, Quality};
use verbcast_sim::{Outcome, Plan, Step, simulate};

/// Header and payload, with a CRC over both: written, and read.
fn wire(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wire");
    for len in [8, 64, 512, 4048, 64 << 10] {
        let key = Key(7);
        let (source, op, fragment, report) = (Rank(3), OpId(7), Fragment(9), 0);
        let message_len = len as u64;
        let header = Header {
            kind: Kind::Fragment,
            source,
            key,
            op,
            fragment,
            message_len,
            report,
            asks: false,
        };
        let payload = vec![0x5a; len];
        let packet = [&header.emit(&payload, true), payload.as_slice()].concat();
        group.throughput(Throughput::Bytes(message_len));
        group.bench_function(BenchmarkId::new("emit", len), |bencher| {
            bencher.iter(|| black_box(&header).emit(black_box(&payload), true));
        });
        group.bench_function(BenchmarkId::new("parse", len), |bencher| {
            bencher.iter(|| black_box(Packet::parse(black_box(&packet), key)).is_ok());
        });
    }
    group.finish();
}

/// `steps` broadcasts of `len` bytes.
fn run(algorithm: &str, ranks: u32, steps: usize, len: usize) -> Outcome {
    let mut options = Options::default();
    options.set("algorithm", algorithm).unwrap();
    let plan = Plan::new(ranks, vec![Step { root: Rank(0), len }; steps]);
    simulate(black_box(&plan), &options).unwrap()
}

/// Elements are events.
fn simulator(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulator, 64 ranks, 20 broadcasts");
    for algorithm in ["window", "two-stage", "binomial"] {
        let events = run(algorithm, 64, 20, 8).events;
        group.throughput(Throughput::Elements(events));
        group.bench_function(algorithm, |bencher| bencher.iter(|| run(algorithm, 64, 20, 8)));
    }
    group.finish();
}

fn many_ranks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulator, 1024 ranks, one broadcast");
    group.sample_size(10);
    for algorithm in ["window", "co-root", "two-stage", "binomial"] {
        for len in [8, 64 << 10] {
            group.bench_function(BenchmarkId::new(algorithm, len), |bencher| {
                bencher.iter(|| run(algorithm, 1024, 1, len));
            });
        }
    }
    group.finish();
}

/// The cyclic scheme's entries at all switches, for a group of every second host.
fn fabric(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fabric, cyclic tables of a group");
    for (ports, levels) in [(8, 2), (8, 3), (24, 2), (24, 3)] {
        let tree = FatTree::new(ports, levels).unwrap();
        let topology = tree.topology(Quality::default());
        let members: Vec<u32> = (0..tree.hosts()).step_by(2).collect();
        let id = BenchmarkId::new("fat-tree", format!("{ports},{levels}"));
        group.bench_function(id, |bencher| {
            bencher.iter(|| tree.cyclic(&topology, black_box(&members), tree.way(0)));
        });
    }
    group.finish();
}

criterion_group!(benches, wire, simulator, many_ranks, fabric);
criterion_main!(benches);
