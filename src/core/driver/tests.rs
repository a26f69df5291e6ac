//! What the driver does by itself, at rank 1 of three with a transport that only takes notes.

mod last_words;
mod noise;

mod runs;

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

/// Reports what a test puts in, and notes what is asked of it.
#[derive(Default)]
struct Notes {
    arrivals: VecDeque<Arrival>,
    packets: Vec<Vec<u8>>,
    probed: Vec<Rank>,
    fetched: Vec<(Rank, Token)>,
    reported: Vec<Rank>,
    told: Vec<Rank>,
    disconnected: Vec<Rank>,
    recycled: usize,
    /// What was asked for and may still wait.
    waiting: usize,
    submitted: usize,
    /// There is no room for datagrams.
    is_congested: bool,
    /// Connections take until a test ends them.
    is_slow: bool,
    connecting: Vec<Rank>,
    /// Others have left no receives for what may still come.
    is_full: bool,
    /// Receive buffers are needed at once.
    is_scarce: bool,
    reserved: Option<(u64, OpId)>,
    polls: usize,
    /// Fragments that are here in order, and the runs that were asked for.
    in_order: u32,
    runs: Vec<(Fragment, u32)>,
    /// It knows when there is nothing to do.
    knows_quiet: bool,
    expects_reports: bool,
}

impl Notes {
    fn arrives(&mut self, packet: Vec<u8>) -> Buffer {
        self.packets.push(packet);
        Buffer { index: self.packets.len() as u32 - 1 }
    }
}

impl Room for Notes {
    fn multicast_room(&self) -> usize {
        usize::from(!self.is_congested)
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        1
    }

    fn report_room(&self, _to: Rank) -> usize {
        1
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        1
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

type Done = Result<(), TransportError>;
type Sent = Result<Transfer, TransportError>;

impl Liveness for Notes {
    fn connect(&mut self, peer: Rank) -> Done {
        self.connecting.extend(self.is_slow.then_some(peer));
        Ok(())
    }

    fn is_connected(&self, peer: Rank) -> bool {
        !self.connecting.contains(&peer)
    }

    fn connected(&self) -> Vec<Rank> {
        Vec::new()
    }

    fn probe(&mut self, peer: Rank) -> Done {
        self.probed.push(peer);
        Ok(())
    }

    fn disconnect(&mut self, _: Instant, peer: Rank) {
        self.disconnected.push(peer);
    }
}

impl LentMessages for Notes {}

impl Transport for Notes {
    type Messages = Self;

    fn messages(&self) -> &Self {
        self
    }

    fn messages_mut(&mut self) -> &mut Self {
        self
    }

    fn multicast(&mut self, _: &[u8; HEADER_LEN], _: Payload<'_>) -> Sent {
        self.waiting += 1;
        Ok(Transfer::Copied)
    }

    fn reliable(&mut self, to: Rank, _: &[u8; HEADER_LEN], _: Payload<'_>, _: Token) -> Sent {
        self.told.push(to);
        self.waiting += 1;
        Ok(Transfer::Copied)
    }

    fn retain(&mut self, _: u32, _: &[u8; HEADER_LEN], _: Payload<'_>) -> Done {
        Ok(())
    }

    fn multicast_retained(&mut self, _: u32) -> Done {
        self.waiting += 1;
        Ok(())
    }

    fn reliable_retained(&mut self, _: Rank, _: u32, _: Token) -> Done {
        Ok(())
    }

    fn report(&mut self, to: Rank, _: Counter, _: u64) -> Done {
        self.reported.push(to);
        Ok(())
    }

    fn fetch(&mut self, from: Rank, _: u32, token: Token) -> Done {
        self.fetched.push((from, token));
        Ok(())
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        self.reserved = Some((messages, next));
        !self.is_full
    }

    fn submit(&mut self) -> Done {
        self.waiting = 0;
        self.submitted += 1;
        Ok(())
    }

    fn poll(&mut self, _: Instant) -> Result<Option<Arrival>, TransportError> {
        self.polls += 1;
        Ok(self.arrivals.pop_front())
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        let count = run.count.min(self.in_order);
        self.runs.push((run.first, run.count));
        self.in_order -= count;
        if let Some(bytes) = into {
            bytes[..count as usize * run.fragment_len].fill(7);
        }
        Ok(count)
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        Packet::parse(&self.packets[buffer.index as usize], key)
    }

    fn is_quiet(&mut self, _: Instant) -> bool {
        self.knows_quiet && self.arrivals.is_empty()
    }

    fn expect_reports(&mut self, are_expected: bool) {
        self.expects_reports = are_expected;
    }

    fn may_stay(&self, _: &Buffer) -> bool {
        !self.is_scarce
    }

    fn recycle(&mut self, _: Buffer) -> Done {
        self.recycled += 1;
        Ok(())
    }
}

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
    let suite = SuiteParameters {
        rank: Rank(rank),
        order: 3.into(),
        first_op,
        seed: 1,
        fragment_len: FRAGMENT_LEN,
        whole: None,
        multicast: true,
        depths: Depths { ring: 4, ..Depths::DEFAULT },
    };
    let parameters =
        Parameters { suite, key: KEY, payload_crc: true, mac: None, shares_buffers: false };
    Driver::assemble(options, &parameters, Notes::default()).unwrap()
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

#[test]
fn what_is_sent_goes_out_by_the_end_of_a_turn_and_of_a_failure() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(1), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!((driver.statistics().multicast_sent, driver.transport.waiting), (1, 0));
    driver.abort("enough");
    assert_eq!((driver.transport.told.len(), driver.transport.waiting), (2, 0));
}

#[test]
fn a_turn_that_has_nothing_to_do_asks_for_nothing_until_it_is_time() {
    let mut driver = waiting();
    driver.turn(Instant::ZERO, None).unwrap();
    let (submitted, due) = (driver.transport.submitted, driver.next_timeout().unwrap());
    for _ in 0..10 {
        assert!(!driver.turn(Instant::ZERO, None).unwrap());
    }
    assert_eq!(driver.transport.submitted, submitted);
    assert!(driver.turn(due, None).unwrap());
    assert_eq!(driver.transport.fetched.len(), 1, "its timer was for that");
}

#[test]
fn a_transport_is_not_polled_while_it_knows_that_there_is_nothing() {
    let mut driver = waiting();
    driver.transport.knows_quiet = true;
    driver.turn(Instant::ZERO, None).unwrap();
    let (polls, due) = (driver.transport.polls, driver.next_timeout().unwrap());
    assert!(polls > 0, "what has begun is not at rest");
    for _ in 0..10 {
        assert!(!driver.turn(Instant::ZERO, None).unwrap());
    }
    assert_eq!(driver.transport.polls, polls);
    assert!(driver.turn(due, None).unwrap(), "its timer");
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert!(driver.take_complete(OpId(0)), "what comes is taken");
    driver.abort("enough");
    driver.turn(Instant::ZERO, None).unwrap_err();
}

#[test]
fn a_turn_that_has_worked_leaves_nothing_to_ask_for() {
    let mut driver = waiting();
    driver.transport.knows_quiet = true;
    assert!(receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap());
    let polls = driver.transport.polls;
    assert!(!driver.turn(Instant::ZERO, None).unwrap());
    assert_eq!(driver.transport.polls, polls);
}

#[test]
fn what_was_kept_is_taken_when_its_broadcast_begins_in_a_turn() {
    let table = "ranks any bytes <= 5 window\nranks any bytes any two-stage\n".parse().unwrap();
    let mut driver = assembled(1, OpId(0), &Options { table, ..Options::default() });
    driver.transport.knows_quiet = true;
    // A two-stage broadcast begins when this rank owes nothing for earlier ones of the window.
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 5]).unwrap();
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    for (op, payload) in [(1, &[7; 10][..]), (0, &[9; 5])] {
        let packet = packet(0, Kind::Fragment, op, KEY, payload);
        receive_by(&mut driver, Via::Multicast, packet).unwrap();
    }
    assert_eq!(driver.statistics().multicast_received, 1, "it waits");
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!(driver.statistics().multicast_received, 2);
}

#[test]
fn reports_are_looked_for_while_something_is_kept_for_others() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    let (now, counter) = (Instant::ZERO, Counter::Acknowledged);
    driver.start_owned(now, Rank(0), vec![0; 10]).unwrap();
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert!(!driver.transport.expects_reports, "nobody tells a leaf anything");
    driver.start_owned(now, Rank(1), vec![0; 10]).unwrap();
    driver.turn(now, None).unwrap();
    assert!(driver.transport.expects_reports);
    let have = Seq(2);
    let value = Report { have, credit: have, lost: 0 }.emit();
    for from in [0, 2].map(Rank) {
        assert!(driver.transport.expects_reports, "{from} has not told");
        driver.transport.arrivals.push_back(Arrival::Reported { from, counter, value });
        driver.turn(now, None).unwrap();
    }
    assert!(!driver.transport.expects_reports);
}

#[test]
fn what_there_was_no_room_for_is_sent_once_there_is() {
    let core = Window::new(Rank(1), 3, OpId(0), Config::new(10, 4)).unwrap();
    let transport = Notes { is_congested: true, ..Notes::default() };
    let mut driver = Driver::new(core, transport, identity(1));
    driver.start_owned(Instant::ZERO, Rank(1), vec![0; 10]).unwrap();
    for _ in 0..3 {
        assert!(!driver.turn(Instant::ZERO, None).unwrap());
    }
    driver.transport.is_congested = false;
    assert!(driver.turn(Instant::ZERO, None).unwrap());
    assert_eq!(driver.statistics().multicast_sent, 1);
}

#[test]
fn answers_are_no_progress() {
    let mut driver = waiting();
    for step in 1..=10 {
        driver.transport.arrivals.push_back(Arrival::Alive { peer: Rank(0) });
        driver.turn(Instant::ZERO + STEP * step, None).unwrap();
    }
    let asked = driver.transport.probed.iter().filter(|rank| **rank == Rank(0)).count();
    assert!(asked >= 3, "{:?}", driver.transport.probed);
}

#[test]
fn whoever_is_waited_for_is_asked() {
    // With four ranks the root, rank 0, is not a neighbour of rank 2.
    let core = Window::new(Rank(2), 4, OpId(0), Config::new(10, 4)).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(2));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO + STEP * 3, None).unwrap();
    let probed = &mut driver.transport.probed;
    probed.sort_unstable();
    probed.dedup();
    assert_eq!(*probed, [Rank(0), Rank(1), Rank(3)]);
}

#[test]
fn fetches_that_find_nothing_are_no_progress() {
    let mut driver = waiting();
    for step in 1..=10 {
        for (from, token) in std::mem::take(&mut driver.transport.fetched) {
            let buffer = driver.transport.arrives(vec![0; HEADER_LEN]);
            driver.transport.arrivals.push_back(Arrival::Fetched { from, token, buffer });
        }
        driver.turn(Instant::ZERO + STEP * step, None).unwrap();
    }
    assert!(driver.transport.recycled >= 3, "it hardly read");
    assert!(driver.transport.probed.contains(&Rank(0)));
}

#[test]
fn a_broken_connection_is_a_failure_of_that_rank_which_all_hear_of() {
    let mut driver = waiting();
    assert_eq!(breaks(&mut driver, 0).unwrap_err().rank, Rank(0));
    assert_eq!(driver.transport.told, [Rank(2)], "all but the one that failed");
    assert_eq!(driver.turn(Instant::ZERO, None).unwrap_err().rank, Rank(0), "for good");
}

#[test]
fn an_abort_is_a_ranks_last_word() {
    let notice = Notice { rank: Rank(2), reason: "enough".to_owned() }.emit();
    let mut driver = waiting();
    for packet in
        [packet(0, Kind::Fragment, 0, KEY, &[9; 10]), packet(2, Kind::Abort, 0, KEY, &notice)]
    {
        let buffer = driver.transport.arrives(packet);
        let via = Via::Multicast;
        driver.transport.arrivals.push_back(Arrival::Packet { via, buffer });
    }
    for step in 0..20 {
        driver.turn(Instant::ZERO + STEP * step, None).unwrap_err();
    }
    // What it tells and reads after that would reach into memory that is given back.
    let Notes { told, reported, fetched, .. } = &driver.transport;
    assert_eq!(
        (&told[..], &reported[..], &fetched[..]),
        (&[Rank(0), Rank(2)][..], &[][..], &[][..])
    );
}

#[test]
fn a_rank_that_left_in_good_order_did_not_fail() {
    let mut driver = waiting();
    receive(&mut driver, packet(2, Kind::Bye, 1, KEY, &[])).unwrap();
    breaks(&mut driver, 2).unwrap();
    assert_eq!(driver.transport.told, []);
}

#[test]
fn packets_that_no_rank_sends_so_disconnect_nobody_and_end_nothing() {
    let notice = |rank| Notice { rank: Rank(rank), reason: "forged".to_owned() }.emit();
    let kinds = [Kind::Ready, Kind::Bye, Kind::Connect];
    let mut forged: Vec<_> =
        kinds.iter().map(|kind| (Via::Multicast, 2, *kind, Vec::new())).collect();
    for via in [Via::Multicast, Via::Reliable] {
        for kind in (0..=u8::MAX).filter_map(Kind::from_wire) {
            let sources = [3, 1 << 31, u32::MAX];
            forged.extend(sources.iter().map(|source| (via, *source, kind, notice(0))));
        }
        forged.push((via, 0, Kind::Abort, notice(3)));
        forged.push((via, 0, Kind::Abort, b"no notice".to_vec()));
    }
    let mut driver = waiting();
    for (via, source, kind, payload) in forged {
        let bytes = packet(source, kind, 0, KEY, &payload);
        let outcome = receive_by(&mut driver, via, bytes);
        assert!(outcome.is_ok(), "{via:?} {source} {kind:?}: {outcome:?}");
    }
    assert_eq!(driver.transport.disconnected, []);
    assert_eq!(driver.transport.recycled, driver.transport.packets.len());
    receive(&mut driver, packet(2, Kind::Bye, 1, KEY, &[])).unwrap();
    assert_eq!(driver.transport.disconnected, [Rank(2)], "its own farewell");
}

/// Nothing in a packet proves who has sent it.
#[test]
fn who_knows_the_key_is_believed() {
    let mut driver = waiting();
    let forged = packet(0, Kind::Fragment, 0, KEY, &[6; 10]);
    receive_by(&mut driver, Via::Multicast, forged).unwrap();
    assert!(driver.take_complete(OpId(0)));
    assert_eq!(driver.take_message(OpId(0)).unwrap(), [6; 10]);
    let notice = Notice { rank: Rank(2), reason: "forged".to_owned() }.emit();
    let forged = packet(2, Kind::Abort, 1, KEY, &notice);
    assert_eq!(receive_by(&mut driver, Via::Multicast, forged).unwrap_err().rank, Rank(2));
}

/// The last rank of a chain, which has offered no memory.
#[test]
fn who_was_offered_no_memory_is_not_believed_to_have_written() {
    let table = Table::uniform(Algorithm::Chain);
    let options = Options { table, segment: Some(30), ..Options::default() };
    let mut driver = assembled(2, OpId(0), &options);
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 60]).unwrap();
    for fragment in [0, 3] {
        let payload = Written { len: 30, crc: None }.emit();
        let header = Header {
            kind: Kind::Written,
            source: Rank(1),
            key: KEY,
            op: OpId(0),
            fragment: Fragment(fragment),
            message_len: 60,
            report: 0,
            asks: false,
        };
        receive(&mut driver, [&header.emit(&payload, true), &payload[..]].concat()).unwrap();
    }
    assert!(!driver.take_complete(OpId(0)));
}

#[test]
fn packets_of_strangers_and_damaged_ones_are_counted_and_dropped() {
    let mut driver = waiting();
    receive(&mut driver, packet(0, Kind::Fragment, 0, Key(8), &[9; 10])).unwrap();
    let mut damaged = packet(0, Kind::Fragment, 0, KEY, &[9; 10]);
    *damaged.last_mut().unwrap() ^= 1;
    receive(&mut driver, damaged).unwrap();
    let Statistics { foreign, damaged, .. } = driver.statistics();
    assert_eq!((foreign, damaged), (1, 1));
    assert!(!driver.take_complete(OpId(0)));
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert!(driver.take_complete(OpId(0)));
    assert_eq!(driver.take_message(OpId(0)).unwrap(), [9; 10]);
    assert_eq!(driver.transport.recycled, 3);
}

#[test]
fn what_is_early_waits_for_its_call() {
    let mut driver = waiting();
    receive(&mut driver, packet(0, Kind::Fragment, 1, KEY, &[5; 10])).unwrap();
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(OpId(1)));
    assert_eq!(driver.take_message(OpId(1)).unwrap(), [5; 10]);
}

#[test]
fn what_is_early_stays_in_its_buffer_while_that_can_be_spared() {
    for is_scarce in [false, true] {
        let mut driver = waiting();
        driver.transport.is_scarce = is_scarce;
        let early = packet(0, Kind::Fragment, 1, KEY, &[5; 10]);
        receive_by(&mut driver, Via::Multicast, early).unwrap();
        assert_eq!(driver.transport.recycled, usize::from(is_scarce), "{is_scarce}");
        driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
        driver.turn(Instant::ZERO, None).unwrap();
        assert_eq!(driver.take_message(OpId(1)).unwrap(), [5; 10]);
        assert_eq!(driver.transport.recycled, 1);
    }
}

#[test]
fn nothing_completes_before_those_who_may_read_are_connected() {
    let mut driver = waiting();
    driver.transport.is_slow = true;
    receive(&mut driver, packet(0, Kind::Fragment, 0, KEY, &[9; 10])).unwrap();
    assert_eq!(driver.transport.connecting, [Rank(0)]);
    assert!(!driver.take_complete(OpId(0)) && !driver.is_quiescent());
    driver.transport.connecting.clear();
    driver.turn(Instant::ZERO, None).unwrap();
    assert!(driver.take_complete(OpId(0)));
}

#[test]
fn nobody_leaves_more_to_come_than_the_transport_has_receives_for() {
    let config = two_stage::Config {
        fragment_len: 10,
        run_ahead: 4,
        in_flight: 4,
        absorbed: 4,
        eager: 100,
        synchronisation: two_stage::Synchronisation::None,
        multicast: true,
    };
    let core = TwoStage::new(Rank(1), 3, OpId(0), config).unwrap();
    let mut driver = Driver::new(core, Notes::default(), identity(1));
    driver.start_owned(Instant::ZERO, Rank(0), vec![0; 10]).unwrap();
    driver.transport.is_full = true;
    assert!(!driver.take_complete(OpId(0)));
    assert_eq!(driver.transport.reserved, None, "it does not leave yet");
    let fragment = packet(0, Kind::Fragment, 0, KEY, &[9; 10]);
    receive_by(&mut driver, Via::Multicast, fragment.clone()).unwrap();
    assert!(!driver.take_complete(OpId(0)));
    assert_eq!(driver.transport.reserved, Some((1, OpId(1))));
    receive(&mut driver, fragment).unwrap();
    driver.transport.is_full = false;
    assert!(driver.take_complete(OpId(0)));
    assert_eq!(driver.transport.reserved, Some((0, OpId(1))));
}

#[test]
fn who_left_is_not_waited_for() {
    let core = Window::new(Rank(0), 3, OpId(0), Config::new(10, 4)).unwrap();
    let transport = Notes { is_slow: true, ..Notes::default() };
    let mut driver = Driver::new(core, transport, identity(0));
    driver.start_owned(Instant::ZERO, Rank(0), vec![7; 10]).unwrap();
    driver.turn(Instant::ZERO, None).unwrap();
    assert_eq!(driver.transport.connecting, [Rank(1), Rank(2)]);
    assert!(!driver.take_complete(OpId(0)));
    // Who left needs nothing more.
    receive(&mut driver, packet(1, Kind::Bye, 1, KEY, &[])).unwrap();
    receive(&mut driver, packet(2, Kind::Bye, 1, KEY, &[])).unwrap();
    assert!(driver.take_complete(OpId(0)));
}
