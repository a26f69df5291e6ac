//! Many ranks in one process, over a network in memory that a seed makes unreliable.
//!
//! Every rank is the real driver with the real core; only what carries packets is replaced. Time is
//! counted, not measured, so a seed repeats a run exactly.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;
use verbcast::driver::{Driver, Identity, Statistics};
use verbcast::protocol::two_stage::{Config, TwoStage};
use verbcast::protocol::{Counter, Room, Token, Via};
use verbcast::rank::{OpId, Rank};
use verbcast::time::Instant;
use verbcast::transport::{Arrival, Buffer, Faults, Faulty, Transport, TransportError};
use verbcast::wire::{HEADER_LEN, Key};

/// Receives posted at a rank, for datagrams and for reliable messages each.
const DEPTH: usize = 8;
/// Reliable messages that are taken while nobody polls; the rest is for announcements.
pub const ABSORBED: u32 = 4;
/// Reliable messages that a rank may have on their way.
const SENDS: usize = 6;

type Message = (Vec<u8>, Rank, Token);

#[derive(Default)]
struct Port {
    /// Datagrams that found a posted receive.
    datagrams: VecDeque<Vec<u8>>,
    /// Reliable messages on their way here; the adapter takes them while there are receives.
    incoming: VecDeque<Message>,
    delivered: VecDeque<Vec<u8>>,
    /// Acknowledgements for this rank.
    acknowledged: VecDeque<Arrival>,
    /// Buffers in the driver's hands.
    out: Vec<Option<(Via, Vec<u8>)>>,
    datagrams_out: usize,
    reliable_out: usize,
    on_their_way: usize,
    /// Datagrams that found no receive.
    overflowed: u64,
}

#[derive(Default)]
struct Network {
    ports: Vec<Port>,
}

/// One rank's transport over the network in memory.
pub struct Memory {
    me: Rank,
    network: Rc<RefCell<Network>>,
    /// The bytes of received buffers, as `bytes` lends them.
    held: Vec<Vec<u8>>,
}

impl Room for Memory {
    fn multicast_room(&self) -> usize {
        4
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        SENDS - self.network.borrow().ports[self.me.index()].on_their_way.min(SENDS)
    }

    fn report_room(&self, _to: Rank) -> usize {
        0
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        0
    }

    fn is_idle(&self, _slot: u32) -> bool {
        false
    }
}

impl Transport for Memory {
    fn packet_len(&self) -> usize {
        HEADER_LEN + 64
    }

    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<(), TransportError> {
        for port in &mut self.network.borrow_mut().ports {
            if port.datagrams.len() + port.datagrams_out < DEPTH {
                port.datagrams.push_back([header, payload].concat());
            } else {
                port.overflowed += 1;
            }
        }
        Ok(())
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
        token: Token,
    ) -> Result<(), TransportError> {
        let mut network = self.network.borrow_mut();
        network.ports[self.me.index()].on_their_way += 1;
        let message = ([header, payload].concat(), self.me, token);
        network.ports[to.index()].incoming.push_back(message);
        Ok(())
    }

    fn ring_len(&self) -> u32 {
        0
    }

    fn retain(&mut self, _: u32, _: &[u8; HEADER_LEN], _: &[u8]) -> Result<(), TransportError> {
        unreachable!()
    }

    fn multicast_retained(&mut self, _: u32) -> Result<(), TransportError> {
        unreachable!()
    }

    fn reliable_retained(&mut self, _: Rank, _: u32, _: Token) -> Result<(), TransportError> {
        unreachable!()
    }

    fn report(&mut self, _: Rank, _: Counter, _: u64) -> Result<(), TransportError> {
        unreachable!()
    }

    fn fetch(&mut self, _: Rank, _: u32, _: Token) -> Result<(), TransportError> {
        unreachable!()
    }

    fn connected(&self) -> Vec<Rank> {
        Vec::new()
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        let alive = Arrival::Alive { peer };
        self.network.borrow_mut().ports[self.me.index()].acknowledged.push_back(alive);
        Ok(())
    }

    fn poll(&mut self, _now: Instant) -> Result<Option<Arrival>, TransportError> {
        let mut network = self.network.borrow_mut();
        network.deliver(self.me);
        let port = &mut network.ports[self.me.index()];
        if let Some(arrival) = port.acknowledged.pop_front() {
            return Ok(Some(arrival));
        }
        let (via, bytes) = match port.delivered.pop_front() {
            Some(bytes) => (Via::Reliable, bytes),
            None => match port.datagrams.pop_front() {
                Some(bytes) => (Via::Multicast, bytes),
                None => return Ok(None),
            },
        };
        match via {
            Via::Multicast => port.datagrams_out += 1,
            Via::Reliable | Via::Fetched => port.reliable_out += 1,
        }
        let index = port.out.iter().position(Option::is_none).unwrap_or(port.out.len());
        if index == port.out.len() {
            port.out.push(None);
            self.held.push(Vec::new());
        }
        self.held[index].clone_from(&bytes);
        port.out[index] = Some((via, bytes));
        Ok(Some(Arrival::Packet { via, buffer: Buffer { index: index as u32 } }))
    }

    fn bytes(&self, buffer: &Buffer) -> &[u8] {
        &self.held[buffer.index as usize]
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        let mut network = self.network.borrow_mut();
        let port = &mut network.ports[self.me.index()];
        match port.out[buffer.index as usize].take() {
            Some((Via::Multicast, _)) => port.datagrams_out -= 1,
            Some(_) => port.reliable_out -= 1,
            None => panic!("{}: buffer {} recycled twice", self.me, buffer.index),
        }
        Ok(())
    }
}

impl Network {
    /// The adapter of `to` takes what it has receives for, in order, and acknowledges it.
    fn deliver(&mut self, to: Rank) {
        loop {
            let port = &mut self.ports[to.index()];
            if port.delivered.len() + port.reliable_out >= DEPTH {
                return;
            }
            let Some((bytes, from, token)) = port.incoming.pop_front() else { return };
            port.delivered.push_back(bytes);
            let sender = &mut self.ports[from.index()];
            sender.on_their_way -= 1;
            sender.acknowledged.push_back(Arrival::Delivered { to, token });
        }
    }
}

/// A broadcast of the plan.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub root: Rank,
    pub len: usize,
}

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    pub size: u32,
    pub steps: Vec<Step>,
    pub first_op: OpId,
    pub protocol: Config,
    pub faults: Faults,
    /// Broadcasts that a rank has in flight at most.
    pub at_once: usize,
    pub seed: u64,
}

struct Member {
    driver: Driver<TwoStage, Faulty<Memory>>,
    next: usize,
    /// In flight: the step and its operation.
    flying: VecDeque<(usize, OpId)>,
    computes_until: Instant,
}

/// Runs a plan until every rank has every message and owes nothing; the counters of each.
///
/// # Panics
/// If a message is wrong or late, or a rank fails; the plan is printed then.
pub fn run(plan: &Plan) -> Vec<Statistics> {
    let mut draw = ChaCha8Rng::seed_from_u64(plan.seed);
    let network = Rc::new(RefCell::new(Network::default()));
    network.borrow_mut().ports.resize_with(plan.size as usize, Port::default);
    let mut members: Vec<_> =
        (0..plan.size).map(|rank| member(plan, Rank(rank), &network)).collect();
    let mut now = Instant::ZERO;
    // First every rank gets everything, and polls no more once it has: nobody may need it then.
    // After that all poll again, until nothing is owed.
    for is_last in [false, true] {
        let done = |member: &Member| {
            let complete = member.next == plan.steps.len() && member.flying.is_empty();
            complete && (!is_last || member.driver.is_quiescent())
        };
        while !members.iter().all(done) {
            let rank = draw.next_u32() % plan.size;
            now = now + Duration::from_micros(u64::from(draw.next_u32() % 20));
            assert!(now < Instant::ZERO + Duration::from_secs(200), "no end in sight: {plan:?}");
            if !done(&members[rank as usize]) {
                turn(plan, &mut members[rank as usize], Rank(rank), now, &mut draw);
            }
        }
    }
    members.iter().map(|member| member.driver.statistics()).collect()
}

fn member(plan: &Plan, rank: Rank, network: &Rc<RefCell<Network>>) -> Member {
    let memory = Memory { me: rank, network: Rc::clone(network), held: Vec::new() };
    let identity =
        Identity { rank, key: Key(7), payload_crc: true, most_held: DEPTH / 2, most_copied: 0 };
    let core = TwoStage::new(rank, plan.size, plan.first_op, plan.protocol).unwrap();
    let driver = Driver::new(core, Faulty::new(memory, plan.faults, rank), identity);
    Member { driver, next: 0, flying: VecDeque::new(), computes_until: Instant::ZERO }
}

fn turn(plan: &Plan, member: &mut Member, me: Rank, now: Instant, draw: &mut ChaCha8Rng) {
    if now < member.computes_until {
        return;
    }
    if member.next < plan.steps.len() && member.flying.len() < plan.at_once {
        let Step { root, len } = plan.steps[member.next];
        let bytes = if root == me { message(member.next, len) } else { vec![0xee; len] };
        let op = member.driver.start_owned(now, root, bytes).unwrap();
        member.flying.push_back((member.next, op));
        member.next += 1;
    }
    if let Err(failure) = member.driver.turn(now, None) {
        panic!("{me}: {failure}: {plan:?}");
    }
    while let Some((step, op)) = member.flying.front().copied() {
        if !member.driver.take_complete(op) {
            break;
        }
        member.flying.pop_front();
        let bytes = member.driver.take_message(op).unwrap();
        let sent = message(step, plan.steps[step].len);
        assert!(bytes == sent, "{me}, broadcast {step} is wrong: {plan:?}");
        if draw.next_u32().is_multiple_of(4) {
            // Some ranks come late to the next one.
            member.computes_until = now + Duration::from_micros(u64::from(draw.next_u32() % 3000));
        }
    }
}

/// Bytes that differ from one broadcast to the next.
fn message(step: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 64 + step * 17) as u8).collect()
}
