//! What takes time, where time matters: checksums, the simulator, forwarding tables, ranks that meet over sockets.

#![allow(missing_docs, reason = "the macros' items have none")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;
use verbcast::bootstrap::Address;
use verbcast::{Bootstrap, Environment, Star};
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::wire::{Header, Key, Kind, Packet};
use verbcast_fabric::{FatTree, Quality};
use verbcast_sim::{Outcome, Plan, Step, simulate};

/// Header and payload, with a CRC over both: written, and read.
fn wire(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wire");
    for len in [8, 64, 512, 4048, 32 << 10] {
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

/// Threads of this process meet as ranks, and take a step together.
fn meet(ranks: u32, step: impl Fn(&mut Star) + Sync) {
    let probe = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = probe.unwrap().port();
    thread::scope(|scope| {
        for rank in (0..ranks).map(Rank) {
            let rendezvous = Some(Address::Tcp { host: "127.0.0.1".to_owned(), port });
            let token = "a token".to_owned();
            let environment = Environment { rank, size: ranks, rendezvous, token };
            let step = &step;
            scope.spawn(move || {
                step(&mut Star::join(&environment, Duration::from_secs(60)).unwrap());
            });
        }
    });
}

/// The ends of all connections are in one process: more ranks would need a higher limit of open files.
fn rendezvous(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rendezvous");
    group.sample_size(10);
    for ranks in [64, 400] {
        group.bench_function(BenchmarkId::new("join", ranks), |bencher| {
            bencher.iter(|| meet(ranks, |star| star.barrier().unwrap()));
        });
        group.bench_function(BenchmarkId::new("join, gather 1500 bytes", ranks), |bencher| {
            bencher.iter(|| meet(ranks, |star| drop(star.all_gather(&[1; 1500]).unwrap())));
        });
        group.bench_function(BenchmarkId::new("join, judge 1500 bytes", ranks), |bencher| {
            bencher.iter(|| meet(ranks, |star| drop(star.judge(&[1; 1500], |_| vec![]).unwrap())));
        });
    }
    group.finish();
}

criterion_group!(benches, wire, simulator, many_ranks, fabric, rendezvous);
criterion_main!(benches);
