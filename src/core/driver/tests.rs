//! What the driver does by itself, at rank 1 of three with a transport that only takes notes.

mod arrivals;
mod failures;
mod last_words;
mod noise;
mod notes;
mod runs;
mod short;
mod turns;

use self::notes::Notes;
use super::*;
use crate::protocol::choice::{Algorithm, Table};
use crate::protocol::options::{Options, SuiteParameters};
use crate::protocol::suite::Suite;
use crate::protocol::two_stage::{self, TwoStage};
use crate::protocol::window::{Config, Report, Seq, Window};
use crate::protocol::{Counter, Depths, Room, Run, Token, Via};
use crate::rank::Fragment;
use crate::transport::{Arrival, Buffer, Liveness, Payload, Transfer};
use crate::wire::{HEADER_LEN, Header, Malformed, Notice, Packet, Written};
use std::collections::VecDeque;
use std::time::Duration;

const KEY: Key = Key(7);
const STEP: Duration = Duration::from_millis(100);
const FRAGMENT_LEN: usize = 10;

fn identity(rank: u32) -> Identity {
    let (rank, key) = (Rank(rank), KEY);
    let (most_held, most_copied) = (4, Some(4));
    Identity { rank, size: 3, key, payload_crc: true, mac: None, most_held, most_copied }
}

/// A driver in the middle of a broadcast of rank 0.
fn waiting() -> Driver<Window, Notes> {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver
}

/// The driver of a rank among three, with all protocols.
fn assembled(rank: u32, first_op: OpId, options: &Options) -> Driver<Suite, Notes> {
    assembled_with_ring(4, rank, first_op, options)
}

fn assembled_with_ring(
    ring: u32,
    rank: u32,
    first_op: OpId,
    options: &Options,
) -> Driver<Suite, Notes> {
    let suite = SuiteParameters {
        rank: Rank(rank),
        order: 3.into(),
        first_op,
        seed: 1,
        fragment_len: FRAGMENT_LEN,
        whole: None,
        multicast: true,
        depths: Depths { ring, ..Depths::DEFAULT },
    };
    let parameters =
        Parameters { suite, key: KEY, payload_crc: true, mac: None, shares_buffers: false };
    Driver::assemble(options, &parameters, Notes::default()).unwrap()
}

/// What a rank says that gives up.
fn notice(rank: u32, reason: &str) -> Vec<u8> {
    Notice { rank: Rank(rank), kind: FailureKind::GaveUp, reason: reason.to_owned() }.emit()
}

fn packet(source: u32, kind: Kind, op: u32, key: Key, payload: &[u8]) -> Vec<u8> {
    let (source, op, fragment) = (Rank(source), OpId(op), Fragment(0));
    let message_len = payload.len() as u64;
    let header = Header { kind, source, key, op, fragment, message_len, report: 0, asks: false };
    [&header.emit(payload, true), payload].concat()
}

fn receive(driver: &mut Driver<impl Core, Notes>, packet: Vec<u8>) -> Result<bool, Failure> {
    receive_by(driver, Via::Reliable, packet)
}

fn receive_by(
    driver: &mut Driver<impl Core, Notes>,
    via: Via,
    packet: Vec<u8>,
) -> Result<bool, Failure> {
    let buffer = driver.transport.arrives(packet);
    driver.transport.arrivals.push_back(Arrival::Packet { via, buffer });
    driver.turn(Instant::ZERO, None)
}

fn breaks(driver: &mut Driver<Window, Notes>, peer: u32) -> Result<bool, Failure> {
    let (peer, reason) = (Rank(peer), "no answer".to_owned());
    driver.transport.arrivals.push_back(Arrival::Broken { peer, reason });
    driver.turn(Instant::ZERO, None)
}
