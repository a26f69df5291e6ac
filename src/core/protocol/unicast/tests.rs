//! The family among several ranks, joined by connections in memory.

use super::*;
use crate::wire::Region;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;

const NOW: Instant = Instant::ZERO;
const FRAGMENT: u64 = 10;
const ALL: [Algorithm; 3] = [Algorithm::Binomial, Algorithm::Chain, Algorithm::ScatterAllgather];

fn config(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        fragment_len: FRAGMENT as usize,
        segment_len: 0,
        long_from: None,
        in_flight: 4,
        eager: 3,
    }
}

/// Messages of two fragments and more go in segments of three.
fn in_segments(algorithm: Algorithm) -> Config {
    Config {
        segment_len: 3 * FRAGMENT as usize + 1,
        long_from: Some(FRAGMENT + 1),
        ..config(algorithm)
    }
}

const MEMORY: Region = Region { address: 4096, key: 7 };

/// How many reliable messages the transport takes now.
struct Reliable(usize);

impl Room for Reliable {
    fn multicast_room(&self) -> usize {
        0
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        self.0
    }

    fn report_room(&self, _to: Rank) -> usize {
        1
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        0
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

fn fragment(source: Rank, piece: Piece, payload_len: usize) -> Incoming {
    let Piece { kind, op, fragment, message_len, report, asks } = piece;
    Incoming {
        via: Via::Reliable,
        source,
        kind,
        op,
        fragment,
        message_len,
        payload_len,
        report,
        asks,
        memory: None,
    }
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Start(Rank),
    Packet { from: Rank, to: Rank },
    Delivered { from: Rank, to: Rank, token: Token },
    Report { from: Rank, to: Rank, value: u64 },
}

/// One rank and what is known of it.
struct Node {
    core: Unicast,
    /// Whether it can offer its memory, and write out of it.
    has_memory: bool,
    /// Packets of broadcasts that it has not called.
    held: Vec<Incoming>,
    /// How often each byte of each message was placed.
    placed: Vec<Vec<u32>>,
    complete: Vec<OpId>,
    quiescent: Vec<OpId>,
}

/// Ranks joined by connections that keep their order, and nothing else.
struct Cluster {
    nodes: Vec<Node>,
    /// The broadcasts that every rank calls: root and length.
    calls: Vec<(Rank, u64)>,
    first: OpId,
    eager: usize,
    /// What may happen in any order: all but the packets of a connection.
    loose: Vec<Step>,
    connections: BTreeMap<(Rank, Rank), VecDeque<Incoming>>,
    draw: ChaCha8Rng,
}

impl Cluster {
    fn new(size: u32, first: OpId, config: Config, calls: &[(Rank, u64)], seed: u64) -> Self {
        let node = |me| Node {
            core: Unicast::new(Rank(me), size, first, config).unwrap(),
            has_memory: true,
            held: Vec::new(),
            placed: calls.iter().map(|(_, len)| vec![0; *len as usize]).collect(),
            complete: Vec::new(),
            quiescent: Vec::new(),
        };
        Cluster {
            nodes: (0..size).map(node).collect(),
            calls: calls.to_vec(),
            first,
            eager: config.eager as usize,
            loose: (0..size).map(|rank| Step::Start(Rank(rank))).collect(),
            connections: BTreeMap::new(),
            draw: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn below(&mut self, most: usize) -> usize {
        self.draw.next_u32() as usize % most
    }

    fn run(&mut self) {
        let least = self.nodes.len() * self.calls.len();
        for _ in 0..10_000 * (least + 1) {
            (0..self.nodes.len()).for_each(|rank| self.drain(rank));
            let Some(step) = self.draw_step() else { return self.check() };
            self.take(step);
        }
        panic!("it does not end");
    }

    /// Draws what happens next; `None` where nothing can.
    fn draw_step(&mut self) -> Option<Step> {
        let waiting = self.connections.iter().filter(|(_, packets)| !packets.is_empty());
        let heads: Vec<_> = waiting.map(|((from, to), _)| (*from, *to)).collect();
        let count = heads.len() + self.loose.len();
        if count == 0 {
            return None;
        }
        match self.below(count) {
            at if at < heads.len() => {
                let (from, to) = heads[at];
                Some(Step::Packet { from, to })
            }
            at => Some(self.loose.swap_remove(at - heads.len())),
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Start(rank) => self.start(rank),
            Step::Packet { from, to } => {
                let packet = self.connections.get_mut(&(from, to)).unwrap().pop_front().unwrap();
                self.receive(to, packet);
            }
            Step::Delivered { from, to, token } => {
                self.nodes[from.index()].core.handle_delivered(NOW, to, token);
            }
            Step::Report { from, to, value } => {
                self.nodes[to.index()].core.handle_report(NOW, from, Counter::Consumed, value);
                self.nodes[from.index()].core.handle_write_acked(NOW, to, Counter::Consumed);
            }
        }
    }

    fn start(&mut self, rank: Rank) {
        let node = &mut self.nodes[rank.index()];
        let begun = node.core.next_op().after(self.first) as usize;
        let Some((root, len)) = self.calls.get(begun).copied() else { return };
        self.loose.push(Step::Start(rank));
        match node.core.start(NOW, root, len) {
            Err(error) => assert_eq!(error, StartError::TooManyInFlight(4)),
            Ok(op) => {
                assert_eq!(op, self.first.plus(begun as u32));
                for packet in std::mem::take(&mut node.held) {
                    self.receive(rank, packet);
                }
            }
        }
    }

    fn receive(&mut self, to: Rank, packet: Incoming) {
        let node = &mut self.nodes[to.index()];
        match node.core.handle_packet(NOW, &packet) {
            Disposition::Place(range) | Disposition::InPlace(range) => {
                let message = &mut node.placed[packet.op.after(self.first) as usize];
                message[range].iter_mut().for_each(|byte| *byte += 1);
            }
            Disposition::Consumed => assert_eq!(packet.kind, Kind::Offer),
            Disposition::Hold => node.held.push(packet),
            other => panic!("{to}: {other:?} of {packet:?}"),
        }
    }

    /// A rank has no more packets at another than credits, on their way and kept there.
    fn check_credits(&self, from: Rank, to: Rank) {
        let held = self.nodes[to.index()].held.iter().filter(|packet| packet.source == from);
        let there = self.connections[&(from, to)].len() + held.count();
        assert!(there <= self.eager, "{from} has {there} packets at {to}");
    }

    fn drain(&mut self, rank: usize) {
        let room = Reliable(self.below(2));
        let from = Rank(rank as u32);
        while let Some(transmit) = self.nodes[rank].core.poll_transmit(&room) {
            match transmit {
                Transmit::Send { target: Target::Rank(to), piece, range } => {
                    let packet = fragment(from, piece, range.len());
                    self.connections.entry((from, to)).or_default().push_back(packet);
                    self.check_credits(from, to);
                    self.loose.push(Step::Delivered { from, to, token: piece.token() });
                }
                Transmit::Offer { to, piece } => {
                    // Its sender can write there if both have memory that the device reaches.
                    let can_write =
                        self.nodes[rank].has_memory && self.nodes[to.index()].has_memory;
                    let memory = can_write.then_some(MEMORY);
                    let packet = Incoming { memory, ..fragment(from, piece, 0) };
                    self.connections.entry((from, to)).or_default().push_back(packet);
                    self.check_credits(from, to);
                    self.loose.push(Step::Delivered { from, to, token: piece.token() });
                }
                Transmit::Write { to, piece, range, into } => {
                    assert_eq!(into, MEMORY);
                    let packet = fragment(from, piece, range.len());
                    self.connections.entry((from, to)).or_default().push_back(packet);
                    self.check_credits(from, to);
                    self.loose.push(Step::Delivered { from, to, token: piece.token() });
                }
                Transmit::Report { to, counter: Counter::Consumed, value } => {
                    self.loose.push(Step::Report { from, to, value });
                }
                other => panic!("{other:?}"),
            }
        }
        // Room that was refused is there another time.
        if room.0 == 0 && self.connections.values().all(VecDeque::is_empty) && self.loose.is_empty()
        {
            return self.drain(rank);
        }
        let node = &mut self.nodes[rank];
        while let Some(event) = node.core.poll_event() {
            match event {
                Event::Complete { op, .. } => node.complete.push(op),
                Event::Quiescent(op) => node.quiescent.push(op),
                other => panic!("{other:?}"),
            }
        }
    }

    fn check(&self) {
        let all: Vec<_> = (0..self.calls.len() as u32).map(|op| self.first.plus(op)).collect();
        for (rank, node) in (0..).map(Rank).zip(&self.nodes) {
            let sorted = |ops: &[OpId]| {
                let mut ops = ops.to_vec();
                ops.sort_by_key(|op| op.after(self.first));
                ops
            };
            assert_eq!(sorted(&node.complete), all, "complete at {rank} of {:?}", self.calls);
            assert_eq!(sorted(&node.quiescent), all, "quiescent at {rank} of {:?}", self.calls);
            assert!(node.core.is_drained() && node.core.awaited().is_empty(), "{rank}");
            for ((root, _), message) in self.calls.iter().zip(&node.placed) {
                let times = u32::from(*root != rank);
                assert!(message.iter().all(|placed| *placed == times), "{rank}, root {root}");
            }
        }
    }
}

/// Lengths around the edges of fragments, and of several fragments for each rank.
const LENS: [u64; 7] = [0, 1, FRAGMENT - 1, FRAGMENT, FRAGMENT + 1, 35, 20 * FRAGMENT + 1];

#[test]
fn every_rank_gets_every_byte_once() {
    for algorithm in ALL {
        for size in 1..=9 {
            for root in (0..size).map(Rank) {
                let calls = LENS.map(|len| (root, len));
                Cluster::new(size, OpId(0), config(algorithm), &calls, 1).run();
                Cluster::new(size, OpId(0), in_segments(algorithm), &calls, 1).run();
            }
        }
    }
}

#[test]
fn whatever_comes_first_every_rank_gets_every_byte_once() {
    for seed in 0..300 {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut below = |most: u32| draw.next_u32() % most;
        let size = 1 + below(9);
        let calls: Vec<_> = (0..1 + below(8))
            .map(|_| (Rank(below(size)), LENS[below(LENS.len() as u32) as usize]))
            .collect();
        let config = [config, in_segments][below(2) as usize](ALL[below(3) as usize]);
        let config = Config { eager: 1 + below(3), ..config };
        // Broadcasts on both sides of the wrap.
        let first = OpId(u32::MAX - below(8));
        let mut cluster = Cluster::new(size, first, config, &calls, seed);
        cluster.nodes.iter_mut().for_each(|node| node.has_memory = below(4) > 0);
        cluster.run();
    }
}

/// Fragments that a core sends now, and to whom.
fn sent(core: &mut Unicast) -> Vec<(u32, u32, u32)> {
    std::iter::from_fn(|| core.poll_transmit(&Reliable(1)))
        .filter_map(|transmit| match transmit {
            Transmit::Send { target: Target::Rank(to), piece, .. } => {
                Some((to.0, piece.op.0, piece.fragment.0))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn credits_run_out_and_are_given_back_whoever_acknowledges() {
    let mut root = Unicast::new(Rank(0), 2, OpId(0), config(Algorithm::Binomial)).unwrap();
    root.start(NOW, Rank(0), 5 * FRAGMENT).unwrap();
    assert_eq!(sent(&mut root), [(1, 0, 0), (1, 0, 1), (1, 0, 2)]);
    for index in 0..3 {
        let token = Token { kind: Kind::Fragment, op: OpId(0), fragment: Fragment(index) };
        root.handle_delivered(NOW, Rank(1), token);
    }
    assert_eq!(sent(&mut root), [], "a packet that arrived is not taken yet");
    root.handle_report(NOW, Rank(1), Counter::Acknowledged, 1 << 32 | 3);
    assert_eq!(sent(&mut root), [], "the number is of another kind");
    root.handle_report(NOW, Rank(1), Counter::Consumed, 1 << 32 | 1);
    assert_eq!(sent(&mut root), [(1, 0, 3)]);
    assert!(!root.is_drained());
}

/// What a core sends now of a long message: fragments that go in a packet, and bytes that are written.
fn sent_of_long(core: &mut Unicast) -> Vec<(u32, &'static str, usize)> {
    let all = std::iter::from_fn(|| core.poll_transmit(&Reliable(1)));
    all.map(|transmit| match transmit {
        Transmit::Send { target: Target::Rank(to), range, .. } => (to.0, "sends", range.len()),
        Transmit::Write { to, range, .. } => (to.0, "writes", range.len()),
        Transmit::Offer { to, .. } => (to.0, "offers", 0),
        other => panic!("{other:?}"),
    })
    .collect()
}

fn offer(from: u32, memory: Option<Region>) -> Incoming {
    let piece = Piece {
        kind: Kind::Offer,
        op: OpId(0),
        fragment: Fragment(0),
        message_len: 75,
        report: 0,
        asks: false,
    };
    Incoming { memory, ..fragment(Rank(from), piece, 0) }
}

#[test]
fn a_long_message_is_written_where_its_receiver_has_offered_memory() {
    let config = Config { eager: 9, ..in_segments(Algorithm::Chain) };
    let mut root = Unicast::new(Rank(0), 3, OpId(0), config).unwrap();
    root.start(NOW, Rank(0), 75).unwrap();
    assert_eq!(sent_of_long(&mut root), [(1, "sends", 10)], "it is not asked for");
    assert_eq!(root.awaited(), [Rank(1)]);
    assert_eq!(root.handle_packet(NOW, &offer(1, Some(MEMORY))), Disposition::Consumed);
    let segments = [(1, "writes", 30), (1, "writes", 30), (1, "writes", 5)];
    assert_eq!(sent_of_long(&mut root), segments);
    assert_eq!(root.handle_packet(NOW, &offer(1, Some(MEMORY))), Disposition::Duplicate);

    let mut next = Unicast::new(Rank(1), 3, OpId(0), config).unwrap();
    next.start(NOW, Rank(0), 75).unwrap();
    assert_eq!(sent_of_long(&mut next), [(0, "offers", 0)]);
    assert_eq!(next.handle_packet(NOW, &offer(2, None)), Disposition::Consumed);
    let written = Incoming {
        kind: Kind::Written,
        payload_len: 30,
        ..fragment(Rank(0), Piece { kind: Kind::Written, ..piece_of(0) }, 30)
    };
    assert_eq!(next.handle_packet(NOW, &written), Disposition::InPlace(0..30));
    assert_eq!(sent_of_long(&mut next), [(2, "sends", 10); 3], "it offers none");
    for (fragment, payload_len) in [(3, 15), (3, 0), (7, 6), (8, 5)] {
        let odd = Incoming { fragment: Fragment(fragment), payload_len, ..written };
        assert_eq!(next.handle_packet(NOW, &odd), Disposition::Reject, "{payload_len} bytes");
    }
    assert_eq!(next.handle_packet(NOW, &written), Disposition::Duplicate);
}

fn piece_of(fragment: u32) -> Piece {
    let (kind, op, fragment) = (Kind::Fragment, OpId(0), Fragment(fragment));
    Piece { kind, op, fragment, message_len: 75, report: 0, asks: false }
}

/// A rank that needs no more of a message may still tell where its memory is. That must not come when this rank is
/// elsewhere.
#[test]
fn a_long_message_is_complete_when_its_receivers_have_told_where_their_memory_is() {
    let config = Config { long_from: Some(1), ..in_segments(Algorithm::Chain) };
    let mut root = Unicast::new(Rank(0), 2, OpId(0), config).unwrap();
    root.start(NOW, Rank(0), FRAGMENT).unwrap();
    assert_eq!(sent_of_long(&mut root), [(1, "sends", 10)]);
    assert_eq!((root.poll_event(), root.awaited()), (None, vec![Rank(1)]));
    let offer = Incoming { message_len: FRAGMENT, ..offer(1, None) };
    assert_eq!(root.handle_packet(NOW, &offer), Disposition::Consumed);
    assert_eq!(root.poll_event(), Some(Event::Complete { op: OpId(0), lost: 0 }));
}

#[test]
fn who_offers_memory_for_another_message_disagrees() {
    let long = in_segments(Algorithm::Chain);
    let mut root = Unicast::new(Rank(0), 3, OpId(0), long).unwrap();
    root.start(NOW, Rank(0), 75).unwrap();
    for bad in [offer(2, Some(MEMORY)), Incoming { message_len: 76, ..offer(1, Some(MEMORY)) }] {
        assert_eq!(root.handle_packet(NOW, &bad), Disposition::Reject);
        assert!(
            matches!(root.poll_event(), Some(Event::Disagreement { rank, .. }) if rank == bad.source)
        );
    }
    let mut short = Unicast::new(Rank(0), 3, OpId(0), config(Algorithm::Chain)).unwrap();
    short.start(NOW, Rank(0), 75).unwrap();
    assert_eq!(short.handle_packet(NOW, &offer(1, Some(MEMORY))), Disposition::Reject);
}

#[test]
fn a_child_that_left_holds_back_nobody() {
    let mut root = Unicast::new(Rank(0), 3, OpId(0), config(Algorithm::Binomial)).unwrap();
    root.start(NOW, Rank(0), FRAGMENT).unwrap();
    assert_eq!(root.awaited(), [Rank(2), Rank(1)]);
    root.handle_departed(NOW, Rank(2), OpId(1));
    assert_eq!(sent(&mut root), [(1, 0, 0)]);
    let token = Token { kind: Kind::Fragment, op: OpId(0), fragment: Fragment(0) };
    root.handle_delivered(NOW, Rank(1), token);
    let events: Vec<_> = std::iter::from_fn(|| root.poll_event()).collect();
    assert_eq!(events, [Event::Complete { op: OpId(0), lost: 0 }, Event::Quiescent(OpId(0))]);
}

#[test]
fn a_rank_that_waits_asks_after_who_sends_to_it() {
    let mut inner = Unicast::new(Rank(3), 4, OpId(0), config(Algorithm::Binomial)).unwrap();
    inner.start(NOW, Rank(0), FRAGMENT).unwrap();
    assert_eq!(inner.awaited(), [Rank(2)]);
}

#[test]
fn calls_that_cannot_be_made_are_refused() {
    let mut rank = Unicast::new(Rank(1), 4, OpId(0), config(Algorithm::Chain)).unwrap();
    let no_root = StartError::NoSuchRoot { root: Rank(4), size: 4 };
    assert_eq!(rank.start(NOW, Rank(4), 1), Err(no_root));
    for bad in [
        Config { fragment_len: 0, ..config(Algorithm::Chain) },
        Config { in_flight: 0, ..config(Algorithm::Chain) },
        Config { eager: 0, ..config(Algorithm::Chain) },
    ] {
        assert!(Unicast::new(Rank(0), 4, OpId(0), bad).is_err(), "{bad:?}");
    }
}
