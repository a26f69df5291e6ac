//! Whether a multicast comes to whom it should. Knows the links, the tables of one MLID, the members
//! and the source, and nothing of how the tables were made.

use super::multicast::Entries;
use super::topology::{Port, Topology};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// What a multicast that goes well takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Endpoints that get a copy.
    pub copies: u32,
    /// Links that are crossed, those of hosts included.
    pub links: u32,
    /// Switches on the longest path.
    pub switches: u32,
}

/// What is wrong with the tables. Switches are nodes, endpoints have their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A copy comes to a switch by a port by which it has come before, and so goes round for ever.
    Loop {
        /// The switch.
        switch: u32,
        /// The port.
        port: u8,
    },
    /// Two copies come to one switch or endpoint.
    Duplicate {
        /// Where they meet, as a node.
        node: u32,
        /// The switch where they were made.
        parted: u32,
        /// Whether the packet was on its way up, both copies go further up, and so the switch made two
        /// where one has to go on (Zhou, Lin and Chung 2007, section 3).
        ascending: bool,
    },
    /// A member gets nothing.
    Missing(u32),
    /// An endpoint that is not a member gets a copy.
    Foreign(u32),
    /// An entry names a port without a link.
    Unlinked(Port),
}

impl Violation {
    /// The violation in words, with the names of `topology`.
    pub fn describe(&self, topology: &Topology) -> String {
        let node = |node: u32| &topology.node(node).name;
        let endpoint = |at: u32| node(topology.endpoints()[at as usize].port.node);
        match *self {
            Violation::Loop { switch, port } => {
                format!("a copy comes back to {} by port {port}", node(switch))
            }
            Violation::Duplicate { node: at, parted, ascending } => {
                let way = if ascending { " on the way up" } else { "" };
                format!("two copies come to {}, made at {}{way}", node(at), node(parted))
            }
            Violation::Missing(at) => format!("member {} gets nothing", endpoint(at)),
            Violation::Foreign(at) => format!("{} is not a member and gets a copy", endpoint(at)),
            Violation::Unlinked(Port { node: at, port }) => {
                format!("port {port} of {} is in the table and has no link", node(at))
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Violation {}

/// Checks multicasts on one topology; keeps what it needs for that between them.
#[derive(Clone, Debug)]
pub struct Checker<'a> {
    topology: &'a Topology,
    heights: Vec<u32>,
    /// For each switch its arrival in `arrivals`, if a copy has come to it.
    seen: Vec<u32>,
    arrivals: Vec<Arrival>,
    /// Which endpoints have a copy, and from which arrival.
    got: Vec<u32>,
    crossed: Vec<Port>,
}

/// A copy at a switch.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Port,
    /// The arrival that the copy was made from.
    from: u32,
    /// Switches on its path.
    depth: u32,
    /// Whether it has only gone up so far.
    ascends: bool,
}

/// Stands for no arrival.
const NONE: u32 = u32::MAX;

impl<'a> Checker<'a> {
    /// A checker for a topology.
    pub fn new(topology: &'a Topology) -> Checker<'a> {
        Checker {
            topology,
            heights: topology.heights(),
            seen: vec![NONE; topology.switches() as usize],
            arrivals: Vec::new(),
            got: vec![NONE; topology.endpoints().len()],
            crossed: Vec::new(),
        }
    }

    /// Sends one packet from `source` through the tables. Each of `members` but the source must get
    /// exactly one copy, and nobody else any; a source does not get its own packet back, as no switch
    /// sends a packet where it came from.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn check(
        &mut self,
        entries: &Entries,
        members: &[u32],
        source: u32,
    ) -> Result<Delivery, Violation> {
        self.seen.fill(NONE);
        self.got.fill(NONE);
        self.arrivals.clear();
        self.crossed.clear();
        if let Some(at) = self.topology.leaf(source) {
            self.arrivals.push(Arrival { at, from: NONE, depth: 1, ascends: true });
            self.seen[self.topology.switch_index(at.node)] = 0;
        }
        let mut delivery = Delivery { links: self.arrivals.len() as u32, ..Delivery::default() };
        let mut next = 0;
        while next < self.arrivals.len() {
            if let Err(violation) = self.forward(entries, next, &mut delivery) {
                // Packets that go round for ever are worse than what was met first.
                let round = self.arrivals.first().and_then(|first| self.circle(entries, first.at));
                return Err(round.unwrap_or(violation));
            }
            next += 1;
        }
        for member in members {
            if *member != source && self.got[*member as usize] == NONE {
                return Err(Violation::Missing(*member));
            }
            // Whoever is left with a copy in the end is not a member.
            self.got[*member as usize] = NONE;
        }
        match self.got.iter().position(|got| *got != NONE) {
            Some(endpoint) => Err(Violation::Foreign(endpoint as u32)),
            None => Ok(delivery),
        }
    }

    /// The ports by which copies left switches in the last check, up to the first violation.
    pub fn crossed(&self) -> &[Port] {
        &self.crossed
    }

    /// Copies a packet from one switch to its ports.
    fn forward(
        &mut self,
        entries: &Entries,
        arrival: usize,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        let topology = self.topology;
        let Arrival { at, depth, ascends, .. } = self.arrivals[arrival];
        let switch = at.node;
        let height = self.heights[topology.switch_index(switch)];
        for port in entries.ports(topology.switch_index(switch)).without(at.port).iter() {
            if port == 0 {
                // The switch itself is a member.
                continue;
            }
            let out = Port { node: switch, port };
            let exists = port <= topology.node(switch).ports;
            let to = exists.then(|| topology.peer(out)).flatten();
            let to = to.ok_or(Violation::Unlinked(out))?;
            delivery.links += 1;
            self.crossed.push(out);
            if let Some(endpoint) = topology.endpoint_at(to) {
                let before = std::mem::replace(&mut self.got[endpoint as usize], arrival as u32);
                if before != NONE {
                    return Err(self.duplicate(to.node, before, arrival as u32));
                }
                delivery.copies += 1;
                delivery.switches = delivery.switches.max(depth);
                continue;
            }
            let index = topology.switch_index(to.node);
            let before = self.seen[index];
            if before != NONE {
                let before = match self.arrivals[before as usize].from {
                    NONE => before,
                    from => from,
                };
                return Err(self.duplicate(to.node, before, arrival as u32));
            }
            self.seen[index] = self.arrivals.len() as u32;
            let ascends = ascends && self.heights[index] > height;
            let depth = depth + 1;
            self.arrivals.push(Arrival { at: to, from: arrival as u32, depth, ascends });
        }
        Ok(())
    }

    /// Where packets that come in at `first` begin to go round, if they do.
    fn circle(&self, entries: &Entries, first: Port) -> Option<Violation> {
        let onward = |at: Port| -> Vec<Port> {
            let ports = entries.ports(self.topology.switch_index(at.node)).without(at.port);
            let linked =
                ports.iter().filter(|port| (1..=self.topology.node(at.node).ports).contains(port));
            let peers = linked.filter_map(|port| self.topology.peer(Port { node: at.node, port }));
            peers.filter(|peer| self.topology.is_switch(peer.node)).collect()
        };
        // Depth first; `open` are the arrivals on the way to the one at hand.
        let mut open = HashMap::from([(first, true)]);
        let mut stack = vec![(first, onward(first))];
        while let Some((at, ahead)) = stack.last_mut() {
            match ahead.pop() {
                None => {
                    open.insert(*at, false);
                    stack.pop();
                }
                Some(next) => match open.get(&next) {
                    Some(true) => {
                        return Some(Violation::Loop { switch: next.node, port: next.port });
                    }
                    Some(false) => {}
                    None => {
                        open.insert(next, true);
                        stack.push((next, onward(next)));
                    }
                },
            }
        }
        None
    }

    /// The arrivals of a copy, from one back to the source's switch.
    fn path(&self, arrival: u32) -> impl Iterator<Item = u32> + '_ {
        let back = |arrival: &u32| {
            let from = self.arrivals[*arrival as usize].from;
            (from != NONE).then_some(from)
        };
        std::iter::successors(Some(arrival), back)
    }

    /// Two copies, from these arrivals, have met at a node.
    fn duplicate(&self, node: u32, a: u32, b: u32) -> Violation {
        let of_a: Vec<u32> = self.path(a).collect();
        let of_b: Vec<u32> = self.path(b).collect();
        let shared = of_a.iter().rev().zip(of_b.iter().rev()).take_while(|(a, b)| a == b).count();
        let parted = of_a[of_a.len() - shared];
        let rises = |path: &[u32]| {
            let next = path.len().checked_sub(shared + 1);
            next.is_some_and(|next| self.arrivals[path[next] as usize].ascends)
        };
        let ascending = rises(&of_a) && rises(&of_b);
        Violation::Duplicate { node, parted: self.arrivals[parted as usize].at.node, ascending }
    }

    /// Which MLIDs a group needs so that the packets of each source take the links that the scheme has
    /// for them. Sources share an MLID if their tables agree at every switch that the packets come to.
    /// Returns the number of each source's MLID, counted from 0.
    ///
    /// `own` has the table that the scheme makes for a source; `each` is told what every source's packet takes, and the
    /// ports by which its copies leave switches.
    ///
    /// # Errors
    /// The source whose own table breaks a rule, and the rule.
    pub fn mlids(
        &mut self,
        members: &[u32],
        sources: &[u32],
        mut own: impl FnMut(u32) -> Rc<Entries>,
        mut each: impl FnMut(Delivery, &[Port]),
    ) -> Result<Vec<u32>, (u32, Violation)> {
        let mut taken: Vec<Rc<Entries>> = Vec::new();
        let mut of_sources = Vec::with_capacity(sources.len());
        for source in sources {
            let entries = own(*source);
            let delivery = self.check(&entries, members, *source);
            each(delivery.map_err(|error| (*source, error))?, &self.crossed);
            let agrees = |other: &Rc<Entries>| {
                let is_same = Rc::ptr_eq(other, &entries);
                is_same
                    || self.arrivals.iter().all(|arrival| {
                        let switch = self.topology.switch_index(arrival.at.node);
                        let ports =
                            |entries: &Entries| entries.ports(switch).without(arrival.at.port);
                        ports(other) == ports(&entries)
                    })
            };
            let number = taken.iter().position(agrees).unwrap_or(taken.len());
            if number == taken.len() {
                taken.push(entries);
            }
            of_sources.push(number as u32);
        }
        Ok(of_sources)
    }
}
