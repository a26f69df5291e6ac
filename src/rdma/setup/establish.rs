//! Making a communicator's transport, collectively.

use super::agreement::agree;
use super::crowd::crowded;
use super::local_rank::local_rank_of_process;
use super::nodes::{offered, share};
use super::partitions::refusals;
use super::preparation::{First, Origin, Preparation, Ready};
use super::shared::SharedEndpoint;
use crate::bootstrap::{Bootstrap, VoteError, read_all, vote};
use crate::clock::Clock;
use crate::rdma::endpoint::Site;
use crate::rdma::group::{
    Gathered, JoinOrder, Member, PortSpeed, ProvenAmong, gather, members, proven_group,
    shared_group,
};
use crate::rdma::memory::Exposed;
use crate::rdma::node::NodeSeat;
use crate::rdma::settings::{Multicast, Settings};
use crate::rdma::transport::{Peer, RdmaTransport, Seat};
use std::time::Duration;
use verbcast_core::node::Nodes;
use verbcast_core::rank::Rank;
use verbcast_core::topology::SwitchPath;
use verbcast_core::transport::{Arrival, Liveness, Park, Transport, TransportError};
use verbcast_core::wire::{
    Draw, FreeTags, GroupAddress, Introduction, Key, MacKey, Proposal, ProvenGroup, Terms,
};
use verbcast_verbs::Context;

/// What all ranks agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The communicator's key.
    pub key: Key,
    /// The key of its packets' authentication codes, where they have any.
    pub mac: Option<MacKey>,
    /// A random seed, for what ranks must choose alike.
    pub seed: u64,
    /// Whether there is a group.
    pub multicast: bool,
    /// Most bytes of a packet, header included.
    pub packet_len: usize,
    /// Whether fragments may have as many bytes, with compact headers.
    pub whole: bool,
}

/// What a rank says with the last votes: that it is connected with its peers, and that it has taken the tag for compact
/// headers.
const CONNECTED: u8 = 1;
const TAGGED: u8 = 2;

/// What this rank uses, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: u8,
    /// The index of its GID.
    pub gid_index: u8,
    /// The group's address, if there is one.
    pub group: Option<String>,
    /// Ranks that share memory with this one, itself included.
    pub node_ranks: u32,
    /// Bytes of registered memory.
    pub registered_memory: usize,
}

/// Makes the transport of this rank, connected with `peers`, on `context` or on a device that it
/// opens. Collective.
///
/// # Errors
/// The same at every rank, if one of them has no usable device or memory, or cannot join the group,
/// hear the others on it or connect; or if the bootstrap fails.
pub fn establish(
    bootstrap: &mut dyn Bootstrap,
    settings: &Settings,
    peers: &[Rank],
    context: Option<Context>,
) -> Result<(RdmaTransport, Agreed, Description), VoteError> {
    establish_at(bootstrap, Origin::Own(context), settings, peers)
}

/// As [`establish`], on an endpoint that this process shares among communicators.
///
/// # Errors
/// As [`establish`]; and if two ranks use the same endpoint, or the connection with a rank broke in another
/// communicator.
pub fn establish_on(
    bootstrap: &mut dyn Bootstrap,
    endpoint: &SharedEndpoint,
    settings: &Settings,
    peers: &[Rank],
) -> Result<(RdmaTransport, Agreed, Description), VoteError> {
    let settings = endpoint.settings_for(settings);
    establish_at(bootstrap, Origin::Shared(endpoint), &settings, peers)
}

fn establish_at(
    bootstrap: &mut dyn Bootstrap,
    origin: Origin<'_>,
    settings: &Settings,
    peers: &[Rank],
) -> Result<(RdmaTransport, Agreed, Description), VoteError> {
    establish_rail(bootstrap, origin, settings, peers, None)
}

/// As [`establish`], for a further rail of the communicator that has this first one.
pub(super) fn establish_rail(
    bootstrap: &mut dyn Bootstrap,
    origin: Origin<'_>,
    settings: &Settings,
    peers: &[Rank],
    first: Option<First>,
) -> Result<(RdmaTransport, Agreed, Description), VoteError> {
    let prepared = Preparation::new(origin, bootstrap, settings, first);
    let terms = Terms { ring: settings.depths.ring, common: 0 };
    let proposal = |prepared: &Preparation| prepared.proposal(terms, SwitchPath::default()).emit();
    let said = prepared.as_ref().map(proposal);
    let said = vote(bootstrap, said.as_deref().map_err(|what| what.as_str()))?;
    let prepared = prepared.map_err(|what| VoteError::Refused(vec![(bootstrap.rank(), what)]))?;
    let proposals = read_all(&said, Proposal::parse)?;
    complete(bootstrap, prepared, settings, peers, &proposals)
}

/// Makes the transport that was prepared, when all ranks have made these proposals. Collective.
///
/// # Errors
/// As [`establish`], but for what the proposals have in common.
pub fn complete(
    bootstrap: &mut dyn Bootstrap,
    prepared: Preparation,
    settings: &Settings,
    peers: &[Rank],
    proposals: &[Proposal],
) -> Result<(RdmaTransport, Agreed, Description), VoteError> {
    let Preparation { rank, size, .. } = prepared;
    let whereabouts: Vec<_> = proposals.iter().map(|one| one.whereabouts.clone()).collect();
    let place = agree(&whereabouts, rank, local_rank_of_process())?;
    let ready = prepared.open(place, settings);
    let known: Option<Vec<_>> = proposals.iter().map(|one| one.introduction.clone()).collect();
    let (mut ready, all) = match (known, ready) {
        (Some(all), Ok(ready)) => (ready, all),
        (_, ready) => introduce(bootstrap, ready)?,
    };
    tell_apart(&all)?;
    agree_on_partition(&all)?;
    agree_on_codes(&all)?;
    let made = ready.node.take();
    let assembled = assemble(ready, rank, &all, settings);
    let offered = offered(&all);
    let (nodes, seat) = match &assembled {
        // The others come to the votes on their nodes next.
        Err(what) if !offered.shared().is_empty() => return Err(tell(bootstrap, what)),
        _ => share(bootstrap, &all, (offered, made), settings)?,
    };
    let multicast = settings.multicast != Multicast::Off && size > 1;
    let crowded = crowded(&all, &nodes).filter(|_| multicast);
    if let Some(what) = crowded.as_ref().filter(|_| rank == Rank(0)) {
        tracing::warn!("going on without multicast: {what}");
    }
    let way = match multicast {
        true if nodes.are_one() => Way::Memory,
        true if crowded.is_none() => way(&all, &nodes),
        _ => Way::None,
    };
    let assembled = assembled.map(|mut transport| {
        transport.share(seat);
        transport
    });
    let transport = match (assembled, &way) {
        (Ok(transport), Way::Proven(proven)) => enter_proven(transport, *proven),
        (assembled, _) => assembled,
    };
    let mut transport = match transport {
        Ok(transport) => transport,
        Err(what) => return Err(refuse(bootstrap, &what, &way, settings)),
    };
    let connected = if is_connected(&transport, peers) { CONNECTED } else { 0 };
    let is_tagged = take_tag(&mut transport, &all);
    let note: &[u8] = &[connected | if is_tagged { TAGGED } else { 0 }];
    let (notes, multicast) = match &way {
        Way::Draws(groups) => {
            let order = join_order(&all);
            let Gathered { notes, works } =
                gather(bootstrap, &mut transport, (groups, order), settings, note)?;
            if works {
                note_proof(&mut transport, members_of(&all, &nodes));
            }
            (notes, works)
        }
        Way::Proven(_) | Way::Memory => (vote(bootstrap, Ok(note))?, true),
        Way::None => (vote(bootstrap, Ok(note))?, false),
    };
    let all_say = |what| !notes.is_empty() && notes.iter().all(|note| note[0] & what != 0);
    let whole = multicast && all_say(TAGGED);
    if !whole {
        transport.give_tag_back();
    }
    if !all_say(CONNECTED) {
        connect(bootstrap, &mut transport, peers, settings.timeout)?;
    }
    transport.is_reached = true;
    let description = describe(&transport, size);
    let packet_len = transport.seat.packet_len;
    let Draw { key, seed, .. } = all[0].draw;
    let (key, mac) = (Key(key), transport.seat.mac);
    Ok((transport, Agreed { key, mac, seed, multicast, packet_len, whole }, description))
}

/// Tells the introductions of all ranks, as one of them at least could not tell its own with its proposal.
fn introduce(
    bootstrap: &mut dyn Bootstrap,
    ready: Result<Ready, String>,
) -> Result<(Ready, Vec<Introduction>), VoteError> {
    let own = ready.as_ref().map(|ready| ready.introduction.emit());
    let own = own.as_deref().map_err(|what| what.as_str());
    let introductions = vote(bootstrap, own)?;
    let all = read_all(&introductions, Introduction::parse)?;
    let refused = |what| VoteError::Refused(vec![(bootstrap.rank(), what)]);
    Ok((ready.map_err(refused)?, all))
}

/// How the ranks get a group.
enum Way {
    /// Not at all.
    None,
    /// They need none, as all of them share memory.
    Memory,
    /// They are all in one that works.
    Proven(ProvenGroup),
    /// They join one of these, and prove it.
    Draws(Vec<GroupAddress>),
}

/// The same at all ranks, as it follows from what all have told.
fn way(all: &[Introduction], nodes: &Nodes) -> Way {
    let offers = all.iter().map(|one| &one.offer);
    if let Some(proven) = proven_group(offers.clone(), members_of(all, nodes)) {
        return Way::Proven(proven);
    }
    let Draw { key, groups, .. } = &all[0].draw;
    let shared = shared_group(offers, *key);
    Way::Draws(shared.map_or_else(|| groups.to_vec(), |group| vec![group]))
}

fn members_of(all: &[Introduction], nodes: &Nodes) -> u64 {
    let incarnation = |rank: Rank| all[rank.index()].address.incarnation;
    let least = |rank| nodes.members(nodes.lead(rank)).iter().copied().map(incarnation).min();
    let ranks = (0..all.len() as u32).map(Rank);
    members(ranks.map(|rank| (incarnation(rank), least(rank).unwrap_or(incarnation(rank)))))
}

/// Takes the tag for compact headers that is free at all ranks, if there is one; whether it was still free here.
fn take_tag(transport: &mut RdmaTransport, all: &[Introduction]) -> bool {
    let free = all.iter().map(|one| one.tags);
    FreeTags::choose(free, transport.seat.key).is_some_and(|tag| transport.take_tag(tag))
}

/// Uses a group that all processes of the communicator, and no others, have proven.
fn enter_proven(
    mut transport: RdmaTransport,
    ProvenGroup { group, packet_len, .. }: ProvenGroup,
) -> Result<RdmaTransport, String> {
    let shared = transport.endpoint.hold().datagrams.share(group);
    // Another thread may have left it meanwhile.
    transport.group = Some(shared.ok_or_else(|| format!("has left group {group}"))?);
    transport.listen().map_err(|error| error.to_string())?;
    let packet_len = packet_len as usize;
    if packet_len < transport.seat.packet_len {
        transport.limit_packet_len(packet_len);
    }
    Ok(transport)
}

/// Notes that the group works among all processes of the communicator: each has received from it, directly or through its node.
fn note_proof(transport: &mut RdmaTransport, members: u64) {
    let proof = ProvenAmong { members, packet_len: transport.seat.packet_len };
    if let Some(group) = transport.group {
        transport.endpoint.hold().datagrams.note_proof(group, proof);
    }
}

/// This rank cannot go on, and tells it in the vote that the others come to next. Where they would go on without a group
/// then, that is not why: they hear it in the vote that follows, too.
fn refuse(bootstrap: &mut dyn Bootstrap, what: &str, way: &Way, settings: &Settings) -> VoteError {
    let may_go_on = matches!(way, Way::Draws(_)) && settings.multicast == Multicast::Prefer;
    let mut error = VoteError::Refused(vec![(bootstrap.rank(), what.to_owned())]);
    for _ in 0..=usize::from(may_go_on) {
        match tell(bootstrap, what) {
            refused @ VoteError::Refused(_) => error = refused,
            failed => return failed,
        }
    }
    error
}

/// This rank cannot go on, and tells it in the vote that the others come to next.
fn tell(bootstrap: &mut dyn Bootstrap, what: &str) -> VoteError {
    match vote(bootstrap, Err(what)) {
        Err(error) => error,
        Ok(_) => unreachable!("a vote with a refusal is not unanimous"),
    }
}

/// Makes sure that every rank is a process of its own.
fn tell_apart(all: &[Introduction]) -> Result<(), VoteError> {
    for (rank, one) in (0..).map(Rank).zip(all) {
        let before = &all[..rank.index()];
        let same =
            before.iter().position(|other| other.address.incarnation == one.address.incarnation);
        if let Some(other) = same {
            let what = format!("uses the same endpoint as rank {other}");
            return Err(VoteError::Refused(vec![(rank, what)]));
        }
    }
    Ok(())
}

/// Makes sure that all ranks reach one another in their partitions.
fn agree_on_partition(all: &[Introduction]) -> Result<(), VoteError> {
    let pkeys: Vec<_> = all.iter().map(|one| one.port.pkey).collect();
    let refusals = refusals(&pkeys);
    if refusals.is_empty() { Ok(()) } else { Err(VoteError::Refused(refusals)) }
}

/// Makes sure that all packets have authentication codes, or none.
fn agree_on_codes(all: &[Introduction]) -> Result<(), VoteError> {
    let word = |is_on| if is_on { "on" } else { "off" };
    let first = all[0].mac.is_some();
    let others = (0..).map(Rank).zip(all).filter(|(_, one)| one.mac.is_some() != first);
    let what = format!("has VERBCAST_MAC={}, but rank 0 has {}", word(!first), word(first));
    let refusals: Vec<_> = others.map(|(rank, _)| (rank, what.clone())).collect();
    if refusals.is_empty() { Ok(()) } else { Err(VoteError::Refused(refusals)) }
}

/// Who joins groups first.
fn join_order(all: &[Introduction]) -> JoinOrder {
    let speed = |one: &Introduction| PortSpeed { mtu: one.address.packet_len, rate: one.port.rate };
    JoinOrder::of(&all.iter().map(speed).collect::<Vec<_>>())
}

/// Makes the communicator known to its endpoint.
fn assemble(
    ready: Ready,
    rank: Rank,
    all: &[Introduction],
    settings: &Settings,
) -> Result<RdmaTransport, String> {
    let Ready { mut endpoint, secret, first, memory, .. } = ready;
    let packet_len = all.iter().map(|one| one.address.packet_len).min().unwrap_or_default();
    let key = Key(all[0].draw.key);
    let mut held = endpoint.hold();
    let mac = match (secret, held.keys.as_mut()) {
        (Some(secret), Some(keys)) => {
            // Whoever has none of its own is refused here, too.
            let own = keys.meet(&secret, rank, key, all)?;
            Some(first.and_then(|first| first.mac).unwrap_or(own))
        }
        _ if all[rank.index()].mac.is_some() => return Err("has no keys".to_owned()),
        _ => None,
    };
    let seat = Seat { rank, key, mac, packet_len };
    let peers: Option<Vec<_>> = all
        .iter()
        .map(|one| {
            let Introduction { address, ring, cells, tags, .. } = one;
            let process = held.connections.meet(*address)?;
            let exposed = Exposed::new(*ring, *cells);
            Some(Peer { process, exposed, slot_len: tags.slot_len(address.packet_len) })
        })
        .collect();
    let peers = peers.ok_or("has too many peer processes")?;
    let processes = peers.iter().map(|peer| peer.process).collect();
    let channel = held.open_channel((key, rank, mac), processes, &memory)?;
    drop(held);
    Ok(RdmaTransport::new(endpoint, channel, memory, (seat, peers), settings.clone()))
}

impl Description {
    /// Adds those of a further rail.
    pub(super) fn add(&mut self, rail: &Description) {
        let Description { device, port, group, registered_memory, .. } = rail;
        self.device += &format!(" and {device}");
        if self.port != *port {
            self.device += &format!(" port {port}");
        }
        if let (Some(own), Some(group)) = (&mut self.group, group) {
            *own += &format!(" and {group}");
        }
        self.registered_memory += registered_memory;
    }
}

pub(super) fn describe(transport: &RdmaTransport, size: u32) -> Description {
    let endpoint = transport.endpoint.see();
    let Site { device, port, gid_index, address, .. } = &endpoint.site;
    Description {
        device: device.clone(),
        port: *port,
        gid_index: *gid_index,
        group: transport
            .group
            .map(|group| endpoint.datagrams.groups().get(group).address.to_string()),
        node_ranks: endpoint.node(transport.channel).map_or(1, NodeSeat::ranks),
        registered_memory: transport.settings.registered_memory(address.packet_len, size),
    }
}

/// Connects with the peers, while answering those who connect with this rank.
fn connect(
    bootstrap: &mut dyn Bootstrap,
    transport: &mut RdmaTransport,
    peers: &[Rank],
    patience: Duration,
) -> Result<(), VoteError> {
    let _span = tracing::info_span!("connect", peers = peers.len()).entered();
    let outcome = try_connect(transport, peers, patience).map_err(|error| error.to_string());
    vote(bootstrap, outcome.as_ref().map(|()| [].as_slice()).map_err(String::as_str)).map(drop)
}

/// Whether the connections with the peers are there, and none with any rank is broken.
fn is_connected(transport: &RdmaTransport, peers: &[Rank]) -> bool {
    let connections = &transport.endpoint.see().connections;
    let is_broken = |(_, peer): (Rank, &Peer)| connections.is_broken(peer.process);
    let is_connected = |peer: &Rank| connections.is_connected(transport.process(*peer));
    peers.iter().all(is_connected) && !transport.peers.iter().any(is_broken)
}

/// Why a rank is not connected with all its peers.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("the connection with {0} broke before")]
    BrokenBefore(Rank),
    #[error("no connection with {peer}: {reason}")]
    Broken { peer: Rank, reason: String },
    #[error("no connection with {peer} within {patience:?}{}", because(why.as_deref()))]
    Timeout { peer: Rank, patience: Duration, why: Option<String> },
}

fn because(why: Option<&str>) -> String {
    why.map(|why| format!(" ({why})")).unwrap_or_default()
}

fn try_connect(
    transport: &mut RdmaTransport,
    peers: &[Rank],
    patience: Duration,
) -> Result<(), ConnectError> {
    let clock = Clock::of_process();
    let begun = clock.now();
    let until = begun + patience;
    for peer in peers {
        transport.open(clock.now(), *peer)?;
    }
    let endpoint = transport.endpoint.see();
    let is_broken = |(_, peer): &(Rank, &Peer)| endpoint.connections.is_broken(peer.process);
    if let Some((rank, _)) = transport.peers.iter().find(is_broken) {
        return Err(ConnectError::BrokenBefore(rank));
    }
    drop(endpoint);
    loop {
        let now = clock.now();
        match transport.poll(now)? {
            Some(Arrival::Packet { buffer, .. }) => transport.recycle(buffer)?,
            Some(Arrival::Broken { peer, reason }) => {
                return Err(ConnectError::Broken { peer, reason });
            }
            Some(_) => {}
            None => match peers.iter().find(|peer| !transport.is_connected(**peer)) {
                None => return Ok(()),
                Some(peer) if now >= until => {
                    let endpoint = transport.endpoint.see();
                    let why = endpoint.unresolved(transport.process(*peer));
                    let why = why.map(str::to_owned);
                    return Err(ConnectError::Timeout { peer: *peer, patience, why });
                }
                Some(_) => transport.park(now - begun, until - now)?,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::group::testing::{Job, Wire};

    const GROUP: GroupAddress = GroupAddress::Mgid([1; 16]);

    /// That one rank cannot take part is no reason for the others to go without a group.
    #[test]
    fn who_cannot_go_on_is_named_by_all() {
        let common = PortSpeed { mtu: 4096, rate: 100_000 };
        let order = JoinOrder { first: Rank(0), common };
        for multicast in [Multicast::Require, Multicast::Prefer] {
            let settings = Settings { multicast, ..Settings::default() };
            let wire = Wire { carries: 4096, ..Wire::default() };
            let errors = Job { size: 3 }.run(&wire, |bootstrap, member| {
                let way = Way::Draws(vec![GROUP]);
                if bootstrap.rank() == Rank(1) {
                    return refuse(bootstrap, "has no memory", &way, &settings).to_string();
                }
                let gathered = gather(bootstrap, member, (&[GROUP], order), &settings, &[]);
                gathered.unwrap_err().to_string()
            });
            assert!(errors.iter().all(|error| error == "rank 1: has no memory"), "{errors:?}");
        }
    }
}
