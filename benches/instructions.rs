//! Instructions of the logic, counted by Callgrind: the same whatever else the machine does.
//!
//! `docs/src/performance/logic.md` has how to run it, and how to compare two commits.

#![allow(missing_docs, reason = "the macros' items have none")]

use gungraun::{library_benchmark, library_benchmark_group};
use std::hint::black_box;
use std::process::{Command, Stdio};
use verbcast_benches::Ranks;
use verbcast_core::protocol::Bitmap;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, MAC_KEY_LEN, MacKey, Packet, RawHeader};
use verbcast_sim::{Outcome, Plan, Step, simulate};

/// Bytes of a short message, and of a message of 16 fragments.
const SHORT: u64 = 8;
const LONG: u64 = 16 * 4048;
/// Ranks of a communicator.
const RANKS: u32 = 8;
/// What a group of benchmarks needs to run.
const PROGRAMS: [(&str, &str); 2] = [
    ("valgrind", "the package valgrind"),
    (
        "gungraun-runner",
        "cargo install gungraun-runner, of the version that Cargo.lock has of gungraun",
    ),
];

const HEADER: Header = Header {
    kind: Kind::Fragment,
    source: Rank(3),
    key: Key(0x0123_4567_89ab_cdef),
    op: OpId(7),
    fragment: Fragment(9),
    message_len: LONG,
    report: 5,
    asks: false,
};

/// A payload. The first CRC of a process also finds out what the CPU can, which is not counted.
fn payload(len: usize) -> Vec<u8> {
    black_box(packet(len)).split_off(HEADER_LEN)
}

/// A packet as it is received.
fn packet(payload_len: usize) -> Vec<u8> {
    let payload = vec![0x5a; payload_len];
    [&HEADER.emit(&payload, true), payload.as_slice()].concat()
}

#[library_benchmark]
#[bench::of_8_bytes(payload(8))]
#[bench::of_4048_bytes(payload(4048))]
fn emit(payload: Vec<u8>) -> ([u8; HEADER_LEN], Vec<u8>) {
    (black_box(&HEADER).emit(black_box(&payload), true), payload)
}

#[library_benchmark]
#[bench::of_8_bytes(packet(8))]
#[bench::of_4048_bytes(packet(4048))]
fn parse(bytes: Vec<u8>) -> Vec<u8> {
    black_box(Packet::parse(black_box(&bytes), HEADER.key)).unwrap();
    bytes
}

const MAC: MacKey = MacKey::new([7; MAC_KEY_LEN]);

/// A packet with an authentication code, as it is received.
fn authentic(payload_len: usize) -> Vec<u8> {
    let payload = vec![0x5a; payload_len];
    [&HEADER.emit_authentic(&payload, black_box(&MAC)), payload.as_slice()].concat()
}

#[library_benchmark]
#[bench::of_8_bytes(authentic(8).split_off(HEADER_LEN))]
#[bench::of_4048_bytes(authentic(4048).split_off(HEADER_LEN))]
fn emit_authentic(payload: Vec<u8>) -> ([u8; HEADER_LEN], Vec<u8>) {
    (black_box(&HEADER).emit_authentic(black_box(&payload), black_box(&MAC)), payload)
}

#[library_benchmark]
#[bench::of_8_bytes(authentic(8))]
#[bench::of_4048_bytes(authentic(4048))]
fn authenticate(bytes: Vec<u8>) -> Vec<u8> {
    let header = RawHeader::parse(black_box(&bytes)).unwrap();
    black_box(header.authenticate(black_box(&bytes), black_box(&MAC))).unwrap();
    bytes
}

#[library_benchmark]
#[bench::of_another_job(packet(8))]
fn refuse(bytes: Vec<u8>) -> Vec<u8> {
    black_box(Packet::parse(black_box(&bytes), Key(1))).unwrap_err();
    bytes
}

#[library_benchmark]
#[bench::of_1024_flags(Bitmap::new(1024))]
fn fill(mut bitmap: Bitmap) -> Bitmap {
    for index in 0..1024 {
        black_box(bitmap.insert(black_box(index)));
    }
    bitmap
}

#[library_benchmark]
#[bench::window(Ranks::warmed_up("window", RANKS, SHORT))]
#[bench::aggregate(Ranks::warmed_up("aggregate", RANKS, SHORT))]
#[bench::two_stage(Ranks::warmed_up("two-stage", RANKS, SHORT))]
#[bench::two_stage_on_demand(Ranks::warmed_up("two-stage-on-demand", RANKS, SHORT))]
#[bench::binomial(Ranks::warmed_up("binomial", RANKS, SHORT))]
fn short_at_8_ranks(mut ranks: Ranks) -> Ranks {
    ranks.broadcast(black_box(SHORT));
    ranks
}

#[library_benchmark]
#[bench::window(Ranks::warmed_up("window", RANKS, LONG))]
#[bench::two_stage(Ranks::warmed_up("two-stage", RANKS, LONG))]
#[bench::two_stage_on_demand(Ranks::warmed_up("two-stage-on-demand", RANKS, LONG))]
#[bench::chain(Ranks::warmed_up("chain", RANKS, LONG))]
#[bench::scatter_allgather(Ranks::warmed_up("scatter-allgather", RANKS, LONG))]
fn of_16_fragments_at_8_ranks(mut ranks: Ranks) -> Ranks {
    ranks.broadcast(black_box(LONG));
    ranks
}

/// Ten short broadcasts among 64 ranks.
fn simulation(algorithm: &str) -> (Plan, Options) {
    let step = Step { root: Rank(0), len: SHORT as usize };
    let mut options = Options::default();
    options.set("algorithm", algorithm).unwrap();
    (Plan::new(64, vec![step; 10]), options)
}

#[library_benchmark]
#[bench::window(simulation("window"))]
#[bench::two_stage(simulation("two-stage"))]
#[bench::binomial(simulation("binomial"))]
fn ten_broadcasts_at_64_ranks((plan, options): (Plan, Options)) -> Outcome {
    simulate(black_box(&plan), &options).unwrap()
}

library_benchmark_group!(
    name = header,
    benchmarks = [emit, parse, refuse, emit_authentic, authenticate]
);
library_benchmark_group!(name = bitmap, benchmarks = fill);
library_benchmark_group!(name = cores, benchmarks = [short_at_8_ranks, of_16_fragments_at_8_ranks]);
library_benchmark_group!(name = simulator, benchmarks = ten_broadcasts_at_64_ranks);

/// What counts, where it can.
mod counting {
    use super::{bitmap, cores, header, simulator};

    gungraun::main!(library_benchmark_groups = header, bitmap, cores, simulator);

    pub fn run() {
        main();
    }
}

fn is_there(program: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

fn main() {
    // Valgrind runs this program too, for one benchmark each.
    let is_counted = std::env::args().any(|argument| argument == "--gungraun-run");
    let missing = PROGRAMS.iter().find(|(program, _)| !is_counted && !is_there(program));
    match missing {
        Some((program, how)) => println!("SKIPPED: there is no {program} here ({how})"),
        None => counting::run(),
    }
}
