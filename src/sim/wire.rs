//! Links of a fabric between the adapters, instead of plain latencies.

use super::event::{Bytes, Event, RingSlot};
use super::outcome::Violation;
use super::routes::Routes;
use super::streams::{Single, Stream, Streams};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use verbcast_core::numbers::NumberMap;
use verbcast_core::rank::Rank;
use verbcast_fabric::Port;
use verbcast_fabric::links::{Group, Happening, Links, Packet, Parameters, To};

/// Bytes of InfiniBand's headers and checks around a payload (InfiniBand Architecture Specification,
/// volume 1, section 5.2): LRH 8, BTH 12, ICRC 4, VCRC 2.
const FRAME: usize = 26;
/// Around a multicast datagram: also GRH 40 and DETH 8.
const DATAGRAM: usize = FRAME + 48;
/// Around a reliable send.
pub(super) const SEND: usize = FRAME;
/// An RDMA write of one counter: also RETH 16.
pub(super) const WRITE: usize = FRAME + 16 + 8;
/// The request of an RDMA read: also RETH 16.
pub(super) const READ: usize = FRAME + 16;
/// An acknowledgement, or the header of a read's response: also AETH 4.
pub(super) const ACKNOWLEDGEMENT: usize = FRAME + 4;

/// A fabric, and where on it the ranks of all jobs are.
pub struct Fabric {
    /// How packets find their way.
    pub routes: Rc<Routes>,
    /// What links and switches take.
    pub parameters: Parameters,
    /// Nanoseconds after which an adapter sends a reliable packet again that was thrown away; see
    /// [`Parameters::lifetime`].
    pub retry: u64,
    /// By job and rank, the endpoint of its host. Ranks of one job may share one.
    pub hosts: Vec<Vec<u32>>,
}

/// What the links of a fabric did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Nanoseconds in which each port sent bytes.
    pub carried: Vec<(Port, u64)>,
    /// Events on links and switches.
    pub events: u64,
    /// Multicasts, or copies of them, that were thrown away; one before a switch makes copies is one.
    pub dropped: u64,
    /// Reliable packets that were thrown away, and sent again.
    pub resent: u64,
}

/// What a packet on the links is.
#[derive(Debug)]
enum Cargo {
    /// A datagram, who sends it, and which slot it leaves.
    Multicast { from: Rank, bytes: Bytes, slot: Option<RingSlot> },
    /// Something that happens at another rank, and who sends it.
    Single(Single, u32),
}

/// The links that all jobs share.
pub(super) struct Wire {
    pub links: Links,
    routes: Rc<Routes>,
    hosts: Vec<Vec<u32>>,
    /// The job and its ranks at an endpoint.
    tenants: Vec<(usize, Vec<Rank>)>,
    /// The endpoints of each job.
    members: Vec<Vec<u32>>,
    trees: HashMap<(usize, u32), Group>,
    cargo: NumberMap<u64, Cargo>,
    next: u64,
    streams: Streams,
    retry: u64,
    /// What has happened, by job, and is not told yet.
    happened: VecDeque<(usize, Event)>,
    dropped: u64,
    resent: u64,
}

impl Wire {
    pub fn new(fabric: Fabric) -> Result<Wire, Violation> {
        let Fabric { routes, parameters, retry, hosts } = fabric;
        let topology = routes.topology();
        let links = Links::new(topology, Arc::clone(routes.tables()), parameters);
        let links = links.map_err(|error| Violation(error.to_string()))?;
        let mut tenants = vec![(0, Vec::new()); topology.endpoints().len()];
        for (job, hosts) in hosts.iter().enumerate() {
            for (rank, host) in (0..).map(Rank).zip(hosts) {
                let place = tenants.get_mut(*host as usize);
                let (tenant, ranks) =
                    place.ok_or_else(|| Violation(format!("there is no host {host}")))?;
                if !ranks.is_empty() && *tenant != job {
                    return Err(Violation(format!("host {host} has ranks of two jobs")));
                }
                *tenant = job;
                ranks.push(rank);
            }
        }
        let members = hosts.iter().map(|hosts| {
            let mut members = hosts.clone();
            members.sort_unstable();
            members.dedup();
            members
        });
        Ok(Wire {
            links,
            routes,
            members: members.collect(),
            hosts,
            tenants,
            trees: HashMap::new(),
            cargo: NumberMap::default(),
            next: 0,
            streams: Streams::default(),
            retry,
            happened: VecDeque::new(),
            dropped: 0,
            resent: 0,
        })
    }

    /// Sends a packet with what it carries.
    fn send(&mut self, at: u64, source: u32, packet: Packet, cargo: Cargo) {
        self.cargo.insert(packet.tag, cargo);
        self.links.send(at, source, packet);
    }

    /// A tag for the next packet.
    fn tag(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn tree(&mut self, job: usize, source: u32) -> Group {
        let Wire { links, routes, members, trees, .. } = self;
        *trees
            .entry((job, routes.way(source)))
            .or_insert_with(|| links.group(Arc::new(routes.tree(&members[job], source))))
    }

    /// Lets the links' next event happen.
    pub fn step(&mut self) -> Result<(), Violation> {
        let fault = |fault: verbcast_fabric::links::Fault| fault.describe(self.routes.topology());
        self.links.step().map_err(|error| Violation(fault(error)))?;
        while let Some(happening) = self.links.happened() {
            match happening {
                Happening::Left { endpoint, tag } => self.left(endpoint, tag),
                Happening::Delivered { endpoint, tag } => self.delivered(endpoint, tag),
                Happening::Dropped { tag } => self.dropped(tag)?,
                Happening::Ended { tag } => self.ended(tag),
            }
        }
        Ok(())
    }

    /// What has come of it for a job; several times, if it was several things.
    pub fn happened(&mut self) -> Option<(usize, Event)> {
        self.happened.pop_front()
    }

    fn left(&mut self, endpoint: u32, tag: u64) {
        let (job, ranks) = &self.tenants[endpoint as usize];
        if let Some(Cargo::Multicast { from, slot, bytes }) = self.cargo.get(&tag) {
            self.happened.push_back((*job, Event::Left(*from, *slot)));
            // The adapter has copies for the other ranks of its host.
            for to in ranks.iter().copied().filter(|to| to != from) {
                let bytes = Rc::clone(bytes);
                self.happened.push_back((*job, Event::Copy { to, bytes }));
            }
        }
    }

    fn delivered(&mut self, endpoint: u32, tag: u64) {
        if let Some(Cargo::Multicast { bytes, .. }) = self.cargo.get(&tag) {
            let (job, ranks) = &self.tenants[endpoint as usize];
            for to in ranks.iter().copied() {
                let bytes = Rc::clone(bytes);
                self.happened.push_back((*job, Event::Copy { to, bytes }));
            }
        } else if let Some(Cargo::Single(single, _)) = self.cargo.remove(&tag) {
            let (job, happened) = (single.job(), &mut self.happened);
            self.streams.take(single, |event| happened.push_back((job, event)));
        }
    }

    fn dropped(&mut self, tag: u64) -> Result<(), Violation> {
        match self.cargo.remove(&tag) {
            Some(Cargo::Single(mut single, source)) => {
                self.resent += 1;
                single.dropped()?;
                // It has another tag, since nothing of the one thrown away is on its way any more.
                single.packet.tag = self.tag();
                let (at, packet) = (self.links.now().saturating_add(self.retry), single.packet);
                self.send(at, source, packet, Cargo::Single(single, source));
            }
            Some(datagram) => {
                self.dropped += 1;
                self.cargo.insert(tag, datagram);
            }
            None => {}
        }
        Ok(())
    }

    /// Nobody will have a packet any more.
    fn ended(&mut self, tag: u64) {
        self.cargo.remove(&tag);
    }

    pub fn traffic(&self) -> Traffic {
        Traffic {
            carried: self.links.carried().collect(),
            events: self.links.events(),
            dropped: self.dropped,
            resent: self.resent,
        }
    }
}

/// One job's share of the links.
#[derive(Clone)]
pub(super) struct OnLinks {
    pub wire: Rc<RefCell<Wire>>,
    pub job: usize,
}

impl std::fmt::Debug for OnLinks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "job {} on links", self.job)
    }
}

impl OnLinks {
    pub fn multicast(&self, at: u64, from: Rank, bytes: Bytes, slot: Option<RingSlot>) {
        let mut wire = self.wire.borrow_mut();
        let source = wire.hosts[self.job][from.index()];
        let to = To::Group(wire.tree(self.job, source));
        let packet = self.packet(to, DATAGRAM + bytes.len(), wire.tag());
        wire.send(at, source, packet, Cargo::Multicast { from, bytes, slot });
    }

    /// Whether what one rank sends to another does not leave their host's adapter.
    pub fn share_a_host(&self, one: Rank, other: Rank) -> bool {
        let hosts = &self.wire.borrow().hosts[self.job];
        hosts[one.index()] == hosts[other.index()]
    }

    /// Sends a packet of `len` bytes, which makes something happen at its end.
    pub fn send(&self, at: u64, from: Rank, to: Rank, len: usize, event: Event) {
        let mut wire = self.wire.borrow_mut();
        let hosts = &wire.hosts[self.job];
        let (source, target) = (hosts[from.index()], hosts[to.index()]);
        let way = To::Lid(wire.routes.lid(source, target));
        let packet = self.packet(way, len, wire.tag());
        let is_answer = matches!(event, Event::Complete(..));
        let stream = Stream { job: self.job, from, to, is_answer };
        let single = wire.streams.next(stream, packet, event);
        wire.send(at, source, packet, Cargo::Single(single, source));
    }

    /// Each job has a service level of its own.
    fn packet(&self, to: To, len: usize, tag: u64) -> Packet {
        Packet { to, bytes: len as u32, level: self.job as u8, tag }
    }
}
