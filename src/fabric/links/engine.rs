//! The engine: packets in, deliveries out.

use super::event::{Agenda, Event, Kind};
use super::fault::Fault;
use super::packet::{Group, Happening, Packet};
use super::parameters::Parameters;
use super::slab::Slab;
use super::wiring::Wiring;
use crate::multicast::Entries;
use crate::topology::{Invalid, Port, Topology};
use crate::unicast::UnicastTables;
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet on its way.
#[derive(Debug)]
pub(super) struct Transit {
    pub packet: Packet,
    /// Copies that are anywhere, and ports that they have not left to their last byte.
    pub copies: u32,
    /// Links that all copies have crossed.
    pub crossed: u32,
}

/// A packet in an input buffer of a switch.
#[derive(Debug)]
pub(super) struct Held {
    pub packet: u32,
    pub port: u32,
    pub lane: u8,
    pub arrived: u64,
    /// Outputs that have no room for it yet.
    pub lacking: u32,
}

/// One virtual lane of a port, as far as it sends.
#[derive(Debug)]
pub(super) struct Lane {
    /// Free places in the input buffer at the other end.
    pub credits: u16,
    /// Free places in the output buffer.
    pub room: u16,
    /// Packets that ask for a place, in the order of asking.
    pub waiting: VecDeque<u32>,
    /// Packets in the output buffer that may leave, and since when.
    pub ready: VecDeque<(u32, u64)>,
}

/// A port, as far as it sends.
#[derive(Clone, Debug, Default)]
struct Sender {
    is_busy: bool,
    /// The lane whose turn it is.
    turn: u8,
    /// Nanoseconds in which the link carried bytes.
    carried: u64,
}

/// All links of a fabric, and the switches between them.
#[derive(Debug)]
pub struct Links {
    pub(super) wiring: Wiring,
    pub(super) tables: Arc<UnicastTables>,
    pub(super) groups: Vec<Arc<Entries>>,
    pub(super) parameters: Parameters,
    /// By port, then by lane.
    pub(super) lanes: Vec<Lane>,
    senders: Vec<Sender>,
    /// What each endpoint is going to send, and when.
    outbox: Vec<VecDeque<(u64, u32)>>,
    pub(super) transits: Slab<Transit>,
    pub(super) held: Slab<Held>,
    agenda: Agenda,
    happened: VecDeque<Happening>,
    pub(super) now: u64,
    events: u64,
}

impl Links {
    /// Links on which nothing moves.
    ///
    /// # Errors
    /// If these parameters cannot be simulated.
    pub fn new(
        topology: &Topology,
        tables: Arc<UnicastTables>,
        parameters: Parameters,
    ) -> Result<Links, Invalid> {
        parameters.check()?;
        let wiring = Wiring::new(topology);
        let lane = || Lane {
            credits: parameters.input,
            room: parameters.output,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
        };
        let lanes = wiring.len() * usize::from(parameters.lanes);
        Ok(Links {
            tables,
            groups: Vec::new(),
            parameters,
            lanes: std::iter::repeat_with(lane).take(lanes).collect(),
            senders: vec![Sender::default(); wiring.len()],
            outbox: vec![VecDeque::new(); topology.endpoints().len()],
            wiring,
            transits: Slab::new(),
            held: Slab::new(),
            agenda: Agenda::default(),
            happened: VecDeque::new(),
            now: 0,
            events: 0,
        })
    }

    /// Makes a multicast LID's entries known.
    pub fn group(&mut self, entries: Arc<Entries>) -> Group {
        self.groups.push(entries);
        Group(self.groups.len() as u32 - 1)
    }

    /// An endpoint sends a packet at a time, which must not be before what has happened.
    pub fn send(&mut self, at: u64, from: u32, packet: Packet) {
        let transit = self.transits.insert(Transit { packet, copies: 1, crossed: 0 });
        let outbox = &mut self.outbox[from as usize];
        let place = outbox.partition_point(|(before, _)| *before <= at);
        outbox.insert(place, (at, transit));
        let port = self.wiring.of_endpoint(from);
        self.agenda.put(at, Event { kind: Kind::Wake, port, packet: 0 });
    }

    /// What links and switches take.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<u64> {
        self.agenda.next_at()
    }

    /// The time of the last event, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Events that have happened.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packets that are on their way.
    pub fn on_the_way(&self) -> usize {
        self.transits.len()
    }

    /// Nanoseconds in which each port sent bytes, by node and port.
    pub fn carried(&self) -> impl Iterator<Item = (Port, u64)> + '_ {
        let all = (0..).zip(&self.senders);
        all.map(|(port, sender)| (self.wiring.place(port), sender.carried))
    }

    /// The next thing that those at the ends see.
    ///
    /// # Errors
    /// If packets do not come to their end.
    pub fn advance(&mut self) -> Result<Option<(u64, Happening)>, Fault> {
        while self.happened.is_empty() {
            if !self.step()? {
                return Ok(None);
            }
        }
        Ok(self.happened().map(|happening| (self.now, happening)))
    }

    /// What the last event has made those at the ends see; several times, if it was several things.
    pub fn happened(&mut self) -> Option<Happening> {
        self.happened.pop_front()
    }

    /// Lets one event happen; whether there was any.
    ///
    /// # Errors
    /// If packets do not come to their end.
    pub fn step(&mut self) -> Result<bool, Fault> {
        let Some((now, event)) = self.agenda.take() else {
            return match self.on_the_way() {
                0 => Ok(false),
                packets => Err(Fault::Deadlock { packets, cycle: self.cycle() }),
            };
        };
        self.now = now;
        self.events += 1;
        let Event { kind, port, packet } = event;
        match kind {
            Kind::Credit => {
                self.lane(port, packet as u8).credits += 1;
                self.leave(port);
            }
            Kind::Left => self.left(port, packet),
            Kind::Arrive => self.arrive(port, packet)?,
            Kind::Ready => {
                let lane = self.lane_of(port, packet);
                self.lane(port, lane).ready.push_back((packet, now));
                self.leave(port);
                if let Some(lifetime) = self.parameters.lifetime {
                    self.put(now + lifetime, Kind::Expire, port, packet);
                }
            }
            Kind::End => self.end(port, packet),
            Kind::Expire => self.expire(port, packet),
            Kind::Wake => self.wake(port),
        }
        Ok(true)
    }

    pub(super) fn put(&mut self, at: u64, kind: Kind, port: u32, packet: u32) {
        self.agenda.put(at, Event { kind, port, packet });
    }

    pub(super) fn lane(&mut self, port: u32, lane: u8) -> &mut Lane {
        let lanes = usize::from(self.parameters.lanes);
        &mut self.lanes[port as usize * lanes + usize::from(lane)]
    }

    /// The lane by which a packet leaves a port.
    pub(super) fn lane_of(&self, port: u32, packet: u32) -> u8 {
        let level = self.transits.get(packet).packet.level;
        self.parameters.lane(level, self.wiring.number(port))
    }

    pub(super) fn passing(&self, packet: u32) -> u64 {
        self.parameters.passing(self.transits.get(packet).packet.bytes)
    }

    /// A host's packets whose time has come may leave.
    fn wake(&mut self, port: u32) {
        let endpoint = self.wiring.endpoint(port) as usize;
        while let Some((at, packet)) = self.outbox[endpoint].front().copied() {
            if at > self.now {
                break;
            }
            self.outbox[endpoint].pop_front();
            let (lane, now) = (self.lane_of(port, packet), self.now);
            self.lane(port, lane).ready.push_back((packet, now));
        }
        self.leave(port);
    }

    /// Sends the next packet of a port, if the link is free, and a lane has a packet and a credit.
    fn leave(&mut self, port: u32) {
        let (sender, lanes) = (&self.senders[port as usize], self.parameters.lanes);
        if sender.is_busy {
            return;
        }
        let first = sender.turn;
        for lane in (0..lanes).map(|step| (first + step) % lanes) {
            let state = self.lane(port, lane);
            if state.credits == 0 {
                continue;
            }
            let Some((packet, _)) = state.ready.pop_front() else { continue };
            state.credits -= 1;
            // Until its last byte has left, it is here, even if its head is thrown away elsewhere.
            self.transits.get_mut(packet).copies += 1;
            let (now, passing) = (self.now, self.passing(packet));
            let sender = &mut self.senders[port as usize];
            sender.is_busy = true;
            sender.turn = (lane + 1) % lanes;
            sender.carried += passing;
            let peer = self.wiring.peer(port);
            self.put(now + self.parameters.flight, Kind::Arrive, peer, packet);
            self.put(now + passing, Kind::Left, port, packet);
            return;
        }
    }

    fn left(&mut self, port: u32, packet: u32) {
        self.senders[port as usize].is_busy = false;
        match self.wiring.switch(port) {
            None => {
                let (endpoint, tag) =
                    (self.wiring.endpoint(port), self.transits.get(packet).packet.tag);
                self.happened.push_back(Happening::Left { endpoint, tag });
            }
            Some(_) => {
                let lane = self.lane_of(port, packet);
                self.free(port, lane);
            }
        }
        self.forget(packet);
        self.leave(port);
    }

    /// A packet has come to its end: a host, or a switch that forwards it to nobody.
    fn end(&mut self, port: u32, packet: u32) {
        if self.wiring.switch(port).is_none() {
            let (endpoint, tag) =
                (self.wiring.endpoint(port), self.transits.get(packet).packet.tag);
            self.happened.push_back(Happening::Delivered { endpoint, tag });
        }
        let sender = self.wiring.peer(port);
        let lane = u32::from(self.lane_of(sender, packet));
        self.put(self.now + self.parameters.credit, Kind::Credit, sender, lane);
        self.forget(packet);
    }

    fn forget(&mut self, packet: u32) {
        let transit = self.transits.get_mut(packet);
        transit.copies -= 1;
        if transit.copies == 0 {
            let tag = self.transits.remove(packet).packet.tag;
            self.happened.push_back(Happening::Ended { tag });
        }
    }

    /// Throws a packet away that is still where it was a lifetime ago.
    fn expire(&mut self, port: u32, packet: u32) {
        let since = self.now - self.parameters.lifetime.unwrap_or(0);
        // The packet may be gone, and its number another's.
        let lanes = usize::from(self.parameters.lanes);
        for lane in 0..self.parameters.lanes {
            let ready = &mut self.lanes[port as usize * lanes + usize::from(lane)].ready;
            let Some(at) = ready.iter().position(|one| *one == (packet, since)) else { continue };
            ready.remove(at);
            let tag = self.transits.get(packet).packet.tag;
            self.happened.push_back(Happening::Dropped { tag });
            self.forget(packet);
            return self.free(port, lane);
        }
    }
}
