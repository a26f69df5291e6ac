//! The memory that the processes of a node share, a ring of datagrams for each communicator, and who receives for them.
//!
//! As on a device, everything is decided by [`verbcast_core::node`]. A process that waits polls all the time, which here
//! would be an event for each look: instead its word is changed when a mate looks at it, and nobody looks only to see
//! that another polls.

#[cfg(test)]
mod tests;

use super::communicator::{Channel, Group};
use super::event::Bytes;
use super::inbox::{Body, Received, Told};
use super::network::Network;
use std::rc::Rc;
use verbcast_core::driver::Statistics;
use verbcast_core::node::cursor::WRITER_PATIENCE;
use verbcast_core::node::{Around, Cursor, Look, MateIndex, Nodes, Role, SlotState, Watch};
use verbcast_core::order::RankOrder;
use verbcast_core::protocol::{Depths, Via};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::wire::{NodeOffer, RawHeader};

/// Nanoseconds after which a mate sees what was written.
pub(super) const LATENCY: u64 = 300;
/// Datagrams that a process takes from a ring in one look, as on a device.
const TAKEN_AT_ONCE: u32 = 16;
/// Positions that a writer claims until it gives up, as on a device.
const CLAIMS: u32 = 4;

/// A slot of a ring, and when its datagram was whole.
#[derive(Clone, Debug)]
struct Slot {
    state: SlotState,
    at: u64,
    from: Rank,
    bytes: Bytes,
}

/// The memory of a node, for one communicator.
#[derive(Debug)]
struct Memory {
    /// The processes of the node, by rank.
    members: Rc<[Rank]>,
    word: u64,
    claimed: u64,
    slots: Vec<Slot>,
}

impl Memory {
    /// The process that holds the place of the receiver.
    fn holder(&self) -> Option<Rank> {
        let MateIndex(index) = Role::of(self.word).holder?;
        self.members.get(usize::from(index)).copied()
    }

    fn slot(&mut self, position: u64) -> &mut Slot {
        let at = position % self.slots.len() as u64;
        &mut self.slots[at as usize]
    }

    /// The state of a position's slot, as it is seen at a time.
    fn state(&self, position: u64, now: u64) -> SlotState {
        let slot = &self.slots[(position % self.slots.len() as u64) as usize];
        match slot.state == SlotState::published(position) && slot.at > now {
            true => SlotState::written(position),
            false => slot.state,
        }
    }

    /// Takes a slot; none if all that were tried are taken.
    fn claim(&mut self) -> Option<u64> {
        for _ in 0..CLAIMS {
            let position = self.claimed;
            self.claimed += 1;
            if self.slot(position).state.is_free_for(position) {
                self.slot(position).state = SlotState::written(position);
                return Some(position);
            }
        }
        None
    }
}

/// A process's part in its node, for one communicator.
#[derive(Debug)]
struct Mate {
    watch: Watch<Bytes>,
    cursor: Cursor,
    /// Its node: the lowest rank, and the memory.
    lead: Rank,
    memory: usize,
    taken: u64,
    published: u64,
    roles: u64,
}

/// The nodes of one communicator.
#[derive(Debug)]
pub(super) struct ChannelNodes {
    nodes: Nodes,
    group: Rc<Group>,
    memories: Vec<Memory>,
    /// By process, where it shares a node.
    mates: Vec<Option<Mate>>,
}

impl ChannelNodes {
    /// Those of a group whose processes are in this order, `each` to a node. Where nothing is known of hosts, it is those in a
    /// row.
    fn new(
        group: &Rc<Group>,
        processes: u32,
        (order, each): (&RankOrder, u32),
        depths: &Depths,
    ) -> Self {
        let (slots, queue) = (depths.node_slots() as usize, depths.receive);
        let host = |process: &Rank| match order.hosts() {
            1 => process.0 / each,
            _ => order.host(*process),
        };
        let most = u16::try_from(each).unwrap_or(u16::MAX);
        let offer =
            |process| NodeOffer { host: u128::from(host(process)).to_be_bytes(), space: 0, most };
        let offers: Vec<_> = group.members().iter().map(offer).collect();
        let nodes = Nodes::of(&offers);
        let (mut memories, mut mates) = (Vec::new(), Vec::new());
        mates.resize_with(processes as usize, || None);
        for lead in nodes.shared() {
            let slot = Slot { state: SlotState(0), at: 0, from: Rank(0), bytes: Rc::from([]) };
            let members = nodes.members(lead).iter().map(|rank| group.process(*rank)).collect();
            let memory = memories.len();
            memories.push(Memory { members, word: 0, claimed: 0, slots: vec![slot; slots] });
            for (index, rank) in (0..).map(MateIndex).zip(nodes.members(lead)) {
                let cursor = Cursor::new(slots as u64);
                let watch = Watch::new(index, queue);
                let mate = Mate { watch, cursor, lead, memory, taken: 0, published: 0, roles: 0 };
                mates[group.process(*rank).index()] = Some(mate);
            }
        }
        ChannelNodes { nodes, group: Rc::clone(group), memories, mates }
    }

    /// A process's part, and the memory of its node.
    fn part(&self, process: Rank) -> Option<(&Mate, &Memory)> {
        let mate = self.mates[process.index()].as_ref()?;
        Some((mate, &self.memories[mate.memory]))
    }

    fn part_mut(&mut self, process: Rank) -> Option<(&mut Mate, &mut Memory)> {
        let mate = self.mates[process.index()].as_mut()?;
        let memory = &mut self.memories[mate.memory];
        Some((mate, memory))
    }

    /// Whether there is something for a process to read.
    fn has_news(&self, process: Rank, now: u64) -> bool {
        let Some((Mate { cursor, .. }, memory)) = self.part(process) else { return false };
        let position = cursor.position();
        memory.state(position, now) >= SlotState::published(position)
    }
}

impl Network {
    /// From now on `each` processes of a host share a node, in each communicator.
    pub fn share_nodes(&mut self, order: &RankOrder, each: u32) {
        if each < 2 {
            return;
        }
        let depths = &self.depths;
        let processes = self.ports.len() as u32;
        let nodes = |group| ChannelNodes::new(group, processes, (order, each), depths);
        self.nodes = self.groups.iter().map(nodes).collect();
    }

    /// A process's part in its node, and the memory of that, if it shares one.
    fn part(&self, process: Rank, channel: Channel) -> Option<(&Mate, &Memory)> {
        self.nodes.get(usize::from(channel.0))?.part(process)
    }

    fn part_mut(&mut self, process: Rank, channel: Channel) -> Option<(&mut Mate, &mut Memory)> {
        self.nodes.get_mut(usize::from(channel.0))?.part_mut(process)
    }

    /// Publishes a datagram of a process to its mates; true if these are all other ranks.
    pub fn publish(&mut self, from: Rank, channel: Channel, bytes: &Bytes) -> bool {
        let Some(of) = self.nodes.get_mut(usize::from(channel.0)) else { return false };
        let is_all = of.nodes.are_one();
        let at = self.ports[from.index()].cpu;
        let Some((Mate { published, .. }, memory)) = of.part_mut(from) else { return false };
        if let Some(position) = memory.claim() {
            let (bytes, state) = (Rc::clone(bytes), SlotState::published(position));
            *memory.slot(position) = Slot { state, at: at + LATENCY, from, bytes };
            *published += 1;
        }
        let members = Rc::clone(&memory.members);
        for mate in members.iter().copied().filter(|mate| *mate != from) {
            let at = (at + LATENCY).max(self.port(mate).cpu);
            self.wake_at(mate, at);
        }
        is_all
    }

    /// Whether a process's adapter hears the group of a communicator.
    pub fn is_attached(&self, process: Rank, channel: Channel) -> bool {
        self.part(process, channel).is_none_or(|(mate, _)| mate.watch.is_listening())
    }

    /// Whether a process publishes a datagram that came for a communicator.
    pub fn hands_on(&mut self, process: Rank, channel: Channel, bytes: &Bytes) -> bool {
        let part = self.part_mut(process, channel);
        part.is_some_and(|(mate, _)| mate.watch.hands_on(bytes))
    }

    /// Whether a rank of a communicator shares a node with a process.
    pub fn is_mate(&self, process: Rank, channel: Channel, source: Rank) -> bool {
        let Some(of) = self.nodes.get(usize::from(channel.0)) else { return false };
        let own = of.group.rank_of(process).filter(|own| *own != source);
        own.is_some_and(|own| of.nodes.are_mates(own, source))
    }

    /// A process polls for a communicator: it tells its mates that it does, or takes the receiver's place, and takes what
    /// is in the ring. Whether there was anything.
    pub fn tend_node(&mut self, process: Rank, channel: Channel) -> bool {
        if self.nodes.is_empty() {
            return false;
        }
        let now = self.ports[process.index()].cpu;
        self.beat(process, channel, now);
        let mut any = false;
        for _ in 0..TAKEN_AT_ONCE {
            let Some((from, bytes)) = self.read_node(process, channel, now) else { break };
            any = true;
            let header = RawHeader::parse(&bytes);
            let is_its = header.is_some_and(|header| {
                self.receiver(process, Via::Multicast, header.unchecked()) == Some(channel)
            });
            if from != process && is_its {
                let received = Received { via: Via::Multicast, header, bytes, body: Body::Copy };
                self.endpoint(process).inbox(channel).push(Told::Packet(received));
            }
        }
        any
    }

    /// Each look of a process tells for all communicators that it polls; it watches the receiver of one of them.
    fn beat(&mut self, process: Rank, by: Channel, now: u64) {
        let Network { nodes, ports, .. } = self;
        for (channel, of) in (0..).map(Channel).zip(nodes) {
            let are_one = of.nodes.are_one();
            let Some((mate, memory)) = of.part_mut(process) else { continue };
            if are_one || (channel != by && !mate.watch.is_listening()) {
                continue;
            }
            let holder = memory.holder();
            let polls = |holder: Rank| holder != process && ports[holder.index()].polls();
            if holder.is_some_and(polls) {
                memory.word = Role::of(memory.word).beaten(true);
            }
            let queue_is_empty = ports[process.index()].completions.is_empty();
            let around = Around { queue_is_empty, ..Around::default() };
            if let Some(change) = mate.watch.turn(Instant::from_nanos(now), memory.word, around) {
                memory.word = change.to;
                mate.roles += u64::from(!mate.watch.is_receiver());
                mate.watch.changed(true);
            }
        }
    }

    fn read_node(&mut self, process: Rank, channel: Channel, now: u64) -> Option<(Rank, Bytes)> {
        let of = self.nodes.get_mut(usize::from(channel.0))?;
        let Mate { watch, cursor, lead, memory, taken, .. } = of.mates[process.index()].as_mut()?;
        let memory = &mut of.memories[*memory];
        loop {
            let position = cursor.position();
            let state = memory.state(position, now);
            match cursor.look(Instant::from_nanos(now), state, memory.claimed) {
                Look::Rest => return None,
                Look::Again => watch.overrun(),
                Look::Read => {
                    cursor.advance(true);
                    let slot = memory.slot(position);
                    *taken += u64::from(slot.from != process);
                    let source = RawHeader::parse(&slot.bytes).map(|one| one.unchecked().source);
                    let is_mates = |source| of.nodes.lead(source) == *lead;
                    if slot.from != process && source.is_some_and(|source| !is_mates(source)) {
                        watch.published(|| Rc::clone(&slot.bytes));
                    }
                    return Some((slot.from, Rc::clone(&slot.bytes)));
                }
            }
        }
    }

    /// Whether there is something in the rings of these communicators for a process.
    pub fn has_node_news(&self, process: Rank, channels: &[Channel]) -> bool {
        let now = self.ports[process.index()].cpu;
        let mut nodes = channels.iter().filter_map(|one| self.nodes.get(usize::from(one.0)));
        nodes.any(|of| of.has_news(process, now))
    }

    /// When a process that waits for these communicators looks at its nodes next.
    pub fn next_look(&self, process: Rank, channels: &[Channel], now: u64) -> Option<u64> {
        if self.nodes.is_empty() {
            return None;
        }
        let nodes = channels.iter().filter_map(|one| self.nodes.get(usize::from(one.0)));
        let looks = nodes.filter_map(|of| {
            let (Mate { watch, cursor, .. }, memory) = of.part(process)?;
            let next = &memory.slots[(cursor.position() % memory.slots.len() as u64) as usize];
            let published =
                (next.state == SlotState::published(cursor.position())).then_some(next.at);
            let writer = memory.claimed > cursor.position() + 1;
            let writer = writer.then_some(now + WRITER_PATIENCE.as_nanos() as u64);
            let is_watched = !of.nodes.are_one() && !watch.is_receiver();
            // Who polls is watched when it stops.
            let polls = |holder: Rank| self.ports[holder.index()].polls();
            let is_watched = is_watched && !memory.holder().is_some_and(polls);
            let due = is_watched.then(|| watch.due(Instant::from_nanos(now)).as_nanos());
            published.into_iter().chain(writer).chain(due).min()
        });
        looks.min()
    }

    /// What went through the memory of a process's nodes, as its statistics tell it.
    pub fn count_nodes(&self, process: Rank, statistics: Statistics) -> Statistics {
        let mates = self.nodes.iter().filter_map(|of| of.mates[process.index()].as_ref());
        mates.fold(statistics, |sum, mate| Statistics {
            node_received: sum.node_received + mate.taken,
            node_published: sum.node_published + mate.published,
            node_lost: sum.node_lost + mate.cursor.lost(),
            node_roles: sum.node_roles + mate.roles,
            ..sum
        })
    }

    /// A process that has polled up to now polls no more, as it was stopped, or does something else. Mates for which it receives
    /// begin to watch it.
    pub fn stop_polling(&mut self, process: Rank, is_stopped: bool) {
        self.change_role(process, |_, word| Some(Role::of(word).beaten(is_stopped)));
    }

    /// A process leaves, so that a mate may receive at once.
    pub fn resign(&mut self, process: Rank) {
        self.change_role(process, |watch, word| Some(watch.resign(word)?.to));
    }

    /// Changes the words of the nodes for which a process receives, which its mates see.
    fn change_role(&mut self, process: Rank, to: impl Fn(&mut Watch<Bytes>, u64) -> Option<u64>) {
        let mut awoken = Vec::new();
        for of in &mut self.nodes {
            let are_one = of.nodes.are_one();
            let Some((mate, memory)) = of.part_mut(process) else { continue };
            if are_one || memory.holder() != Some(process) {
                continue;
            }
            let Some(word) = to(&mut mate.watch, memory.word) else { continue };
            memory.word = word;
            awoken.extend(memory.members.iter().copied());
        }
        let at = self.port(process).cpu.max(self.now) + LATENCY;
        for mate in awoken.into_iter().filter(|mate| *mate != process) {
            let at = at.max(self.port(mate).cpu);
            self.wake_at(mate, at);
        }
    }

    /// A process dies in the middle of a datagram that it was publishing: its slot stays taken.
    pub fn die_publishing(&mut self, process: Rank) {
        for of in &mut self.nodes {
            if let Some((_, memory)) = of.part_mut(process) {
                memory.claim();
            }
        }
    }
}
