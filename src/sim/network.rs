//! All adapters and the wire between them. Ranks are processes here; each has an adapter.

use super::communicator::{Channel, Group};
use super::costs::Costs;
use super::endpoint::Endpoint;
use super::event::{Bytes, Completion, Event, Message, RingSlot};
use super::faults::{Faults, arrived, fate};
use super::inbox::Told;
use super::lent::Write;
use super::node::{self, ChannelNodes};
use super::port::{Port, Unanswered};
use super::queue::Queue;
use super::read::{Part, Read};
use super::wire::{self, OnLinks};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::rc::Rc;
use verbcast_core::protocol::{Counter, Depths, Token, Via};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{HEADER_LEN, Region};

/// All adapters.
#[derive(Debug)]
pub(super) struct Network {
    pub ports: Vec<Port>,
    pub endpoints: Vec<Endpoint>,
    /// By communicator.
    pub groups: Vec<Rc<Group>>,
    /// The nodes of each communicator, where processes share some.
    pub nodes: Vec<ChannelNodes>,
    /// Completions that are taken at a time.
    pub batch: u32,
    pub queue: Queue,
    /// What an inbox is being told anew; empty otherwise.
    pub told: VecDeque<Told>,
    /// The packet that is being made, in memory that is used again.
    draft: Vec<u8>,
    pub costs: Costs,
    pub depths: Depths,
    pub faults: Faults,
    pub broken_after: u64,
    draw: ChaCha8Rng,
    /// What carries packets, if it is more than latencies.
    pub links: Option<OnLinks>,
    /// Reliable messages, writes, reports and reads on their way.
    pub in_transit: u64,
    /// Keys that were given to memory so far.
    keys: u32,
    pub now: u64,
}

impl Network {
    pub fn new(size: u32, costs: Costs, depths: Depths, faults: Faults, seed: u64) -> Self {
        let mut ports = Vec::new();
        ports.resize_with(size as usize, Port::new);
        Network {
            ports,
            endpoints: (0..size).map(|_| Endpoint::new(&depths)).collect(),
            groups: Vec::new(),
            nodes: Vec::new(),
            batch: 1,
            queue: Queue::new(),
            told: VecDeque::new(),
            draft: Vec::new(),
            costs,
            depths,
            faults,
            broken_after: 1_000_000,
            draw: ChaCha8Rng::seed_from_u64(seed),
            links: None,
            in_transit: 0,
            keys: 0,
            now: 0,
        }
    }

    pub fn port(&mut self, rank: Rank) -> &mut Port {
        &mut self.ports[rank.index()]
    }

    pub fn endpoint(&mut self, rank: Rank) -> &mut Endpoint {
        &mut self.endpoints[rank.index()]
    }

    /// A packet in memory of its own. It is put together elsewhere first, as that memory would have to be filled with zeros
    /// before it could be written to.
    pub fn packet(&mut self, header: &[u8; HEADER_LEN], payload: &[u8]) -> Bytes {
        self.draft.clear();
        self.draft.extend_from_slice(header);
        self.draft.extend_from_slice(payload);
        self.draft[..].into()
    }

    /// The CPU of a rank is busy for a while.
    pub fn spend(&mut self, rank: Rank, nanos: u64) {
        let port = self.port(rank);
        port.cpu += nanos * port.slowness;
    }

    /// When `bytes` that a rank posts now have left its adapter.
    fn departure(&mut self, from: Rank, bytes: usize) -> u64 {
        let on_the_wire = self.costs.on_the_wire(bytes);
        let port = self.port(from);
        port.wire = port.wire.max(port.cpu) + on_the_wire;
        port.wire
    }

    fn jitter(&mut self) -> u64 {
        match self.costs.jitter {
            0 => 0,
            most => self.draw.next_u64() % (most + 1),
        }
    }

    /// The links that a packet from one rank to another takes, if it takes any.
    fn links_between(&self, from: Rank, to: Rank) -> Option<&OnLinks> {
        self.links.as_ref().filter(|links| !links.share_a_host(from, to))
    }

    /// When something that leaves at `left` arrives at `to`, behind everything sent there before.
    fn in_order(&mut self, from: Rank, to: Rank, left: u64) -> u64 {
        let at = left + self.costs.unicast_latency + self.jitter();
        let order = self.port(from).order.entry(to).or_default();
        *order = at.max(*order);
        *order
    }

    /// Lets something that a rank posts happen at another: `len` bytes by the wire's costs, a packet of
    /// `packet` bytes on links.
    fn deliver(&mut self, from: Rank, to: Rank, len: usize, packet: usize, event: Event) {
        self.in_transit += 1;
        self.connect(from, to);
        let at = self.port(from).cpu;
        if let Some(links) = self.links_between(from, to) {
            links.send(at, from, to, packet, event);
            return;
        }
        let left = self.departure(from, len);
        let at = self.in_order(from, to, left);
        self.queue.put(at, event);
    }

    pub fn multicast(&mut self, from: Rank, channel: Channel, bytes: Bytes, slot: Option<u32>) {
        let slot = slot.map(|slot| (channel, slot));
        if self.publish(from, channel, &bytes) {
            return self.port(from).left(slot);
        }
        self.spend(from, self.costs.post_datagram);
        self.port(from).datagrams_leaving += 1;
        let at = self.port(from).cpu;
        if let Some(links) = &self.links {
            return links.multicast(at, from, bytes, slot);
        }
        let left = self.departure(from, bytes.len());
        self.queue.put(left, Event::Left(from, slot));
        let at = left + self.costs.multicast_latency + self.jitter();
        self.queue.put(at, Event::Multicast { from, channel, bytes });
    }

    pub fn message(&mut self, message: Message) {
        let (from, to) = (message.from, message.to);
        self.spend(from, self.costs.post_reliable);
        let len = message.bytes.len();
        if message.slot.is_none() {
            self.port(from).leaves(message.channel);
        }
        self.deliver(from, to, len, wire::SEND + len, Event::Message(message));
    }

    /// Memory that others may write to.
    pub fn expose(&mut self, rank: Rank) -> Region {
        self.keys += 1;
        let key = self.keys;
        self.port(rank).keys.insert(key);
        Region { address: u64::from(key) << 32, key }
    }

    pub fn write(&mut self, from: Rank, to: Rank, write: Write) {
        self.spend(from, self.costs.post_one_sided);
        let len = write.bytes.len();
        self.deliver(from, to, len, wire::WRITE + len, Event::Write { from, to, write });
    }

    pub fn report(
        &mut self,
        channel: Channel,
        [from, to]: [Rank; 2],
        counter: Counter,
        value: u64,
    ) {
        self.spend(from, self.costs.post_one_sided);
        self.port(from).tells(channel, to, counter as u8);
        let report = Event::Report { from, to, channel, counter, value };
        self.deliver(from, to, size_of::<u64>(), wire::WRITE, report);
    }

    /// As [`report`](Self::report), in the memory of a node: no adapter is asked.
    pub fn report_to_mate(
        &mut self,
        channel: Channel,
        [from, to]: [Rank; 2],
        counter: Counter,
        value: u64,
    ) {
        self.connect(from, to);
        self.in_transit += 1;
        let at = self.port(from).cpu + node::LATENCY;
        self.queue.put(at, Event::MateReport { from, to, channel, counter, value });
    }

    pub fn fetch(&mut self, from: Rank, owner: Rank, slot: RingSlot, token: Token) {
        self.spend(from, self.costs.post_one_sided);
        self.port(from).fetching += 1;
        let read = Read { from, owner, slot, token };
        self.deliver(from, owner, 0, wire::READ, Event::Read(read));
    }

    /// Connections are made at once. A rank that has left answers no handshake, which on a device would go on without end:
    /// to begin one with it counts as a failure.
    pub fn connect(&mut self, from: Rank, to: Rank) {
        if self.port(to).is_gone && !self.is_connected(from, to) {
            self.breaks(self.now, from, to);
        }
        self.port(from).order.entry(to).or_default();
    }

    /// Whether one of two ranks has sent the other something for it alone.
    pub fn is_connected(&self, one: Rank, other: Rank) -> bool {
        let has_sent = |from: Rank, to| self.ports[from.index()].order.contains_key(&to);
        has_sent(one, other) || has_sent(other, one)
    }

    /// The ranks that have sent something to a rank for it alone, or that it has sent to.
    pub fn connected(&self, rank: Rank) -> Vec<Rank> {
        let sent = &self.ports[rank.index()].order;
        let heard = (0..).map(Rank).zip(&self.ports);
        let is_partner = |(other, port): &(Rank, &Port)| {
            sent.contains_key(other) || port.order.contains_key(&rank)
        };
        heard.filter(is_partner).map(|(other, _)| other).collect()
    }

    pub fn probe(&mut self, channel: Channel, from: Rank, to: Rank) {
        let at = self.port(from).cpu + 2 * self.costs.unicast_latency;
        if self.port(to).is_gone {
            return;
        }
        self.connect(from, to);
        match self.ports[to.index()].is_dead {
            true => self.breaks(at, from, to),
            false => self.queue.put(at, Event::Complete(from, Completion::Alive(channel, to))),
        }
    }

    /// Tells a rank, once, that another does not answer.
    fn breaks(&mut self, now: u64, at: Rank, peer: Rank) {
        if self.port(at).broken.insert(peer) {
            let when = now + self.broken_after;
            self.queue.put(when, Event::Complete(at, Completion::Broken(peer)));
        }
    }

    /// The answer of one adapter to another arrives one latency later; it carries `len` bytes.
    fn answer(&mut self, now: u64, [from, to]: [Rank; 2], len: usize, completion: Completion) {
        let event = Event::Complete(to, completion);
        match self.links_between(from, to) {
            Some(links) => links.send(now, from, to, wire::ACKNOWLEDGEMENT + len, event),
            None => {
                let at = now + self.costs.on_the_wire(len) + self.costs.unicast_latency;
                self.queue.put(at, event);
            }
        }
    }

    /// Lets an event happen, other than a turn.
    pub fn happen(&mut self, now: u64, event: Event) {
        self.now = now;
        match event {
            Event::Turn(_) => {}
            Event::Multicast { from, channel, bytes } => self.spread(now, from, channel, &bytes),
            Event::Copy { to, bytes } => self.copy(now, to, Channel::ONLY, &bytes),
            Event::Datagram { to, bytes } => self.datagram(to, bytes),
            Event::Left(from, slot) => {
                let port = self.port(from);
                port.datagrams_leaving -= 1;
                port.left(slot);
                self.wake(from);
            }
            Event::Message(message) => self.arrive(now, message),
            Event::Write { from, to, write } => {
                self.in_transit -= 1;
                let port = self.port(to);
                match port.keys.contains(&write.into.key) {
                    true => port.written.push(write),
                    // The message behind it tells of a rank that is gone or dead.
                    false if port.is_gone || port.is_dead => {}
                    false => self.breaks(now, from, to),
                }
            }
            Event::Report { from, to, channel, counter, value } => {
                self.in_transit -= 1;
                if self.port(to).is_gone {
                    return self.unanswered(from, to, Unanswered::Report(channel, counter as u8));
                }
                if self.port(to).is_dead {
                    self.port(from).told(channel, to, counter as u8);
                    return self.breaks(now, from, to);
                }
                self.port(to).reported(channel, from, counter as u8, value);
                self.wake(to);
                self.answer(now, [to, from], 0, Completion::WriteAcked(channel, to, counter));
            }
            Event::MateReport { from, to, channel, counter, value } => {
                self.in_transit -= 1;
                self.port(to).reported(channel, from, counter as u8, value);
                self.wake(to);
            }
            Event::Read(read) => self.read(now, read, None),
            Event::Rest(read, part) => self.read(now, read, Some(part)),
            Event::Complete(rank, completion) => {
                if let Completion::Sent(channel, .., slot) = completion {
                    self.port(rank).ended(channel, slot);
                }
                if let Completion::WriteAcked(channel, to, counter) = completion {
                    self.port(rank).told(channel, to, counter as u8);
                }
                self.port(rank).completions.push_back(completion);
                self.wake(rank);
            }
            Event::Crash(rank) => self.crash(now, rank),
            Event::Word { from, to } => {
                *self.port(to).words.entry(from).or_default() += 1;
                self.wake(to);
            }
        }
    }

    /// A read takes place, or its second part.
    fn read(&mut self, now: u64, read: Read, part: Option<Part>) {
        let Read { from, owner, slot, token } = read;
        self.in_transit -= 1;
        if self.port(owner).is_gone {
            return self.unanswered(from, owner, Unanswered::Read);
        }
        if self.port(owner).is_dead {
            self.port(from).fetching -= 1;
            return self.breaks(now, from, owner);
        }
        let found = self.port(owner).slot(slot).map(|slot| Rc::clone(&slot.bytes));
        let found = found.unwrap_or_default();
        let bytes = match part {
            Some(part) => part.join(&found),
            None => {
                if let Some((pause, part)) = Part::draw(&self.faults, &found, &mut self.draw) {
                    self.in_transit += 1;
                    return self.queue.put(now + pause, Event::Rest(read, part));
                }
                found
            }
        };
        let fetched = Completion::Fetched(slot.0, owner, token, Rc::clone(&bytes));
        self.answer(now, [owner, from], bytes.len(), fetched);
    }

    fn spread(&mut self, now: u64, from: Rank, channel: Channel, bytes: &Bytes) {
        let group = Rc::clone(&self.groups[usize::from(channel.0)]);
        for to in group.members().iter().filter(|to| **to != from) {
            self.copy(now, *to, channel, bytes);
        }
    }

    /// One receiver's copy of a multicast, with what goes wrong with it.
    fn copy(&mut self, now: u64, to: Rank, channel: Channel, bytes: &Bytes) {
        if !self.is_attached(to, channel) {
            return;
        }
        if self.faults == Faults::default() {
            return self.datagram(to, Rc::clone(bytes));
        }
        let Network { ports, draw, faults, queue, .. } = self;
        let Port { is_bad, passes_until, .. } = &mut ports[to.index()];
        let Some(passed) = faults.pass(now, passes_until) else { return };
        for delay in fate(faults, is_bad, draw) {
            let bytes = arrived(faults, bytes, draw);
            queue.put(now + passed + delay, Event::Datagram { to, bytes });
        }
    }

    fn datagram(&mut self, to: Rank, bytes: Bytes) {
        let depth = self.depths.receive;
        let port = self.port(to);
        if port.is_dead || port.is_gone {
            return;
        }
        if port.datagrams_used == depth {
            port.overflowed += 1;
            return;
        }
        port.datagrams_used += 1;
        port.completions.push_back(Completion::Packet(Via::Multicast, bytes));
        self.wake(to);
    }

    fn arrive(&mut self, now: u64, message: Message) {
        let Message { from, to, channel, slot, .. } = message;
        if self.port(to).is_gone {
            self.in_transit -= 1;
            return self.unanswered(from, to, Unanswered::Message(channel, slot));
        }
        if self.port(to).is_dead {
            self.in_transit -= 1;
            self.port(from).ended(channel, slot);
            return self.breaks(now, from, to);
        }
        let depth = self.depths.reliable_receive;
        let port = self.port(to);
        if port.queue.is_empty() && port.messages_used < depth {
            return self.accept(now, message);
        }
        let queue = port.stalled.entry(from).or_default();
        if queue.is_empty() {
            port.queue.push_back(from);
        }
        queue.push_back(message);
        self.admit(now, to);
    }

    /// Takes messages for which there are receives, connection by connection.
    pub fn admit(&mut self, now: u64, to: Rank) {
        let depth = self.depths.reliable_receive;
        loop {
            let port = &mut self.ports[to.index()];
            if port.messages_used >= depth {
                return;
            }
            let Some(from) = port.queue.pop_front() else { return };
            let Some(queue) = port.stalled.get_mut(&from) else { continue };
            let Some(message) = queue.pop_front() else { continue };
            if queue.is_empty() {
                port.stalled.remove(&from);
            } else {
                port.queue.push_back(from);
            }
            self.accept(now, message);
        }
    }

    /// A message for which there is a receive has come.
    fn accept(&mut self, now: u64, message: Message) {
        let Message { from, to, channel, bytes, token, slot } = message;
        let port = self.port(to);
        port.messages_used += 1;
        port.completions.push_back(Completion::Packet(Via::Reliable, bytes));
        self.in_transit -= 1;
        self.wake(to);
        self.answer(now, [to, from], 0, Completion::Sent(channel, to, token, slot));
    }

    /// A rank leaves for good. What waits for its receives is lost.
    pub fn leave(&mut self, rank: Rank) {
        self.resign(rank);
        let port = self.port(rank);
        port.is_gone = true;
        port.queue.clear();
        let stalled = std::mem::take(&mut port.stalled);
        for message in stalled.into_values().flatten() {
            self.in_transit -= 1;
            let Message { from, channel, slot, .. } = message;
            self.unanswered(from, rank, Unanswered::Message(channel, slot));
        }
    }

    /// A request to a rank that is gone keeps what it holds until its sender gives that rank up.
    fn unanswered(&mut self, from: Rank, to: Rank, request: Unanswered) {
        let port = self.port(from);
        port.unanswered.entry(to).or_default().push(request);
        if port.given_up.contains(&to) {
            self.give_up(from, to);
        }
    }

    /// Frees what requests to a rank hold that has left.
    pub fn give_up(&mut self, from: Rank, to: Rank) {
        let port = self.port(from);
        port.given_up.insert(to);
        for request in port.unanswered.remove(&to).unwrap_or_default() {
            match request {
                Unanswered::Message(channel, slot) => port.ended(channel, slot),
                Unanswered::Report(channel, counter) => {
                    port.told(channel, to, counter);
                }
                Unanswered::Read => port.fetching -= 1,
            }
        }
        self.wake(from);
    }

    fn crash(&mut self, now: u64, rank: Rank) {
        self.die_publishing(rank);
        if self.ports[rank.index()].polls() {
            self.stop_polling(rank, true);
        }
        let port = self.port(rank);
        port.is_dead = true;
        let stalled = std::mem::take(&mut port.stalled);
        port.queue.clear();
        for message in stalled.into_values().flatten() {
            self.in_transit -= 1;
            self.port(message.from).ended(message.channel, message.slot);
            self.breaks(now, message.from, rank);
        }
    }

    /// A rank takes the turn that was put for this time, if there is one: whether it polled up to now.
    pub fn begin_turn(&mut self, now: u64, rank: Rank) -> Option<bool> {
        self.now = now;
        let port = self.port(rank);
        if port.is_dead || port.turn_at != Some(now) {
            return None;
        }
        let has_polled = port.polls();
        port.turn_at = None;
        port.waits = false;
        port.cpu = port.cpu.max(now);
        Some(has_polled)
    }

    /// Its turn ends.
    pub fn end_turn(&mut self, rank: Rank, has_polled: bool) {
        if has_polled && !self.port(rank).polls() {
            self.stop_polling(rank, false);
        }
    }

    /// Puts a turn of a rank's CPU, as soon as it is free.
    pub fn wake(&mut self, rank: Rank) {
        let at = self.now.max(self.port(rank).cpu);
        self.wake_at(rank, at);
    }

    /// Puts a turn no later than `at`, unless the rank takes none.
    pub fn wake_at(&mut self, rank: Rank, at: u64) {
        let port = self.port(rank);
        if port.is_dead
            || port.is_gone
            || port.sleeps
            || port.turn_at.is_some_and(|before| before <= at)
        {
            return;
        }
        port.turn_at = Some(at);
        self.queue.put(at, Event::Turn(rank));
    }
}
