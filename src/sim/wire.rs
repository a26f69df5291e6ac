//! Links of a fabric between the adapters, instead of plain latencies.

use super::event::{Bytes, Event};
use super::outcome::Violation;
use crate::fabric::links::{Group, Happening, Links, Packet, Parameters, To};
use crate::fabric::{Entries, Port, Topology, UnicastTables};
use crate::rank::Rank;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

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

/// How a fabric's packets find their way.
pub trait Routing {
    /// The fabric.
    fn topology(&self) -> &Topology;

    /// The LID by which one endpoint sends to another.
    fn lid(&self, from: u32, to: u32) -> u16;

    /// Which of a group's multicast LIDs carries an endpoint's packets.
    fn way(&self, source: u32) -> u32;

    /// The entries of a group, for an endpoint's packets.
    fn tree(&self, members: &[u32], source: u32) -> Entries;
}

/// A fabric, and where on it the ranks of all jobs are.
pub struct Fabric {
    /// How packets find their way.
    pub routing: Rc<dyn Routing>,
    /// The unicast tables of its switches.
    pub tables: Arc<UnicastTables>,
    /// What links and switches take. Links must lose nothing: there must be no lifetime.
    pub parameters: Parameters,
    /// By job and rank, the endpoint; each at most once.
    pub hosts: Vec<Vec<u32>>,
}

/// What the links of a fabric did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Nanoseconds in which each port sent bytes.
    pub carried: Vec<(Port, u64)>,
    /// Events on links and switches.
    pub events: u64,
}

/// What a packet on the links is.
#[derive(Debug)]
enum Cargo {
    /// A datagram, which slot it leaves, and how many do not have it yet; its sender is one of them until
    /// it has left.
    Multicast { bytes: Bytes, slot: Option<u32>, left: u32 },
    /// Something that happens at another rank.
    Single(Event),
}

/// The links that all jobs share.
pub(super) struct Wire {
    pub links: Links,
    routing: Rc<dyn Routing>,
    hosts: Vec<Vec<u32>>,
    /// The job and rank at an endpoint.
    ranks: Vec<Option<(usize, Rank)>>,
    trees: HashMap<(usize, u32), Group>,
    cargo: HashMap<u64, Cargo>,
    next: u64,
}

impl Wire {
    pub fn new(fabric: Fabric) -> Result<Wire, Violation> {
        let Fabric { routing, tables, parameters, hosts } = fabric;
        if parameters.lifetime.is_some() {
            return Err(Violation("the links of protocols lose nothing: no lifetime".to_owned()));
        }
        let topology = routing.topology();
        let links = Links::new(topology, tables, parameters);
        let links = links.map_err(|error| Violation(error.to_string()))?;
        let mut ranks = vec![None; topology.endpoints().len()];
        for (job, hosts) in hosts.iter().enumerate() {
            for (rank, host) in (0..).map(Rank).zip(hosts) {
                let place = ranks.get_mut(*host as usize);
                let place = place.ok_or_else(|| Violation(format!("there is no host {host}")))?;
                if place.replace((job, rank)).is_some() {
                    return Err(Violation(format!("host {host} has two ranks")));
                }
            }
        }
        let (trees, cargo) = (HashMap::new(), HashMap::new());
        Ok(Wire { links, routing, hosts, ranks, trees, cargo, next: 0 })
    }

    fn put(&mut self, cargo: Cargo) -> u64 {
        self.next += 1;
        self.cargo.insert(self.next, cargo);
        self.next
    }

    fn tree(&mut self, job: usize, source: u32) -> Group {
        let Wire { links, routing, hosts, trees, .. } = self;
        *trees
            .entry((job, routing.way(source)))
            .or_insert_with(|| links.group(Arc::new(routing.tree(&hosts[job], source))))
    }

    /// Lets the links' next event happen.
    pub fn step(&mut self) -> Result<(), Violation> {
        let fault = |fault: crate::fabric::links::Fault| fault.describe(self.routing.topology());
        self.links.step().map(drop).map_err(|error| Violation(fault(error)))
    }

    /// What has come of it for a job; several times, if it was several things.
    pub fn happened(&mut self) -> Option<(usize, Event)> {
        loop {
            let happened = match self.links.happened()? {
                Happening::Left { endpoint, tag } => self.left(endpoint, tag),
                Happening::Delivered { endpoint, tag } => self.delivered(endpoint, tag),
                Happening::Dropped { .. } => None,
            };
            if happened.is_some() {
                return happened;
            }
        }
    }

    fn left(&mut self, endpoint: u32, tag: u64) -> Option<(usize, Event)> {
        let (job, from) = self.ranks[endpoint as usize]?;
        let Some(Cargo::Multicast { slot, .. }) = self.cargo.get(&tag) else { return None };
        let slot = *slot;
        self.counted(tag);
        Some((job, Event::Left(from, slot)))
    }

    fn delivered(&mut self, endpoint: u32, tag: u64) -> Option<(usize, Event)> {
        let (job, to) = self.ranks[endpoint as usize]?;
        if let Some(Cargo::Multicast { bytes, .. }) = self.cargo.get(&tag) {
            let bytes = Rc::clone(bytes);
            self.counted(tag);
            return Some((job, Event::Copy { to, bytes }));
        }
        match self.cargo.remove(&tag)? {
            Cargo::Single(event) => Some((job, event)),
            Cargo::Multicast { .. } => None,
        }
    }

    /// One less does not have a datagram.
    fn counted(&mut self, tag: u64) {
        if let Some(Cargo::Multicast { left, .. }) = self.cargo.get_mut(&tag) {
            *left -= 1;
            if *left == 0 {
                self.cargo.remove(&tag);
            }
        }
    }

    pub fn traffic(&self) -> Traffic {
        Traffic { carried: self.links.carried().collect(), events: self.links.events() }
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
    pub fn multicast(&self, at: u64, from: Rank, bytes: Bytes, slot: Option<u32>) {
        let mut wire = self.wire.borrow_mut();
        let (source, left) =
            (wire.hosts[self.job][from.index()], wire.hosts[self.job].len() as u32);
        let to = To::Group(wire.tree(self.job, source));
        let len = DATAGRAM + bytes.len();
        let tag = wire.put(Cargo::Multicast { bytes, slot, left });
        wire.links.send(at, source, self.packet(to, len, tag));
    }

    /// Sends a packet of `len` bytes, which makes something happen at its end.
    pub fn send(&self, at: u64, from: Rank, to: Rank, len: usize, event: Event) {
        let mut wire = self.wire.borrow_mut();
        let hosts = &wire.hosts[self.job];
        let (source, target) = (hosts[from.index()], hosts[to.index()]);
        let to = To::Lid(wire.routing.lid(source, target));
        let tag = wire.put(Cargo::Single(event));
        wire.links.send(at, source, self.packet(to, len, tag));
    }

    /// Each job has a service level of its own.
    fn packet(&self, to: To, len: usize, tag: u64) -> Packet {
        Packet { to, bytes: len as u32, level: self.job as u8, tag }
    }
}
