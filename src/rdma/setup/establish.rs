//! Making a communicator's transport, collectively.

use super::agreement::agree;
use super::crowd::crowded;
use super::local_rank::local_rank_of_process;
use super::opening::Prospect;
use super::partitions::refusals;
use super::shared::{Lead, SharedEndpoint};
use crate::bootstrap::{Bootstrap, Secret, VoteError, read_all, vote};
use crate::rdma::endpoint::{Access, Channel, Site};
use crate::rdma::group::{JoinOrder, PortSpeed, draw, gather, generator, shared_group};
use crate::rdma::memory::{Exposed, Memory};
use crate::rdma::settings::{Multicast, Settings};
use crate::rdma::transport::{Peer, RdmaTransport, Seat};
use rand_chacha::rand_core::Rng;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::Clock;
use verbcast_core::transport::{Arrival, Liveness, Park, Transport, TransportError};
use verbcast_core::wire::{Draw, Introduction, Key, MacKey, PortUse};
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
}

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
    let (rank, size) = (bootstrap.rank(), bootstrap.size());
    let prospect = Prospect::new(settings, context);
    let fabrics = prospect.as_ref().map(Prospect::fabrics).map_err(String::as_str);
    let place = agree(bootstrap, fabrics, local_rank_of_process())?;
    let opened = prospect.and_then(|prospect| prospect.open(rank, size, place));
    let opened = opened.map(|endpoint| Access::Own(Box::new(endpoint)));
    establish_with(bootstrap, settings, peers, opened)
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
    let (rank, size) = (bootstrap.rank(), bootstrap.size());
    let lead = endpoint.prospect();
    let fabrics = lead.as_ref().map(Lead::fabrics).map_err(String::as_str);
    let place = agree(bootstrap, fabrics, local_rank_of_process())?;
    let opened = lead.and_then(|lead| endpoint.open(lead, rank, size, place));
    establish_with(bootstrap, &settings, peers, opened)
}

fn establish_with(
    bootstrap: &mut dyn Bootstrap,
    settings: &Settings,
    peers: &[Rank],
    opened: Result<Access, String>,
) -> Result<(RdmaTransport, Agreed, Description), VoteError> {
    let (rank, size) = (bootstrap.rank(), bootstrap.size());
    let secret = if settings.mac { bootstrap.secret().map(Some) } else { Ok(None) };
    let opened = opened.and_then(|endpoint| {
        let secret = secret?;
        let prepared = prepare(&endpoint, rank, size, settings, secret.as_ref())?;
        Ok((endpoint, secret, prepared))
    });
    let ballot = opened.as_ref().map(|(_, _, (_, introduction))| introduction.emit());
    let ballot = ballot.as_ref().map(Vec::as_slice).map_err(|error| error.as_str());
    let introductions = vote(bootstrap, ballot)?;
    let all = read_all(&introductions, Introduction::parse)?;
    let (endpoint, secret, (memory, _)) =
        opened.map_err(|what| VoteError::Refused(vec![(rank, what)]))?;
    tell_apart(&all)?;
    agree_on_partition(&all)?;
    agree_on_codes(&all)?;
    let assembled = assemble((endpoint, secret), memory, rank, &all, settings);
    vote(bootstrap, assembled.as_ref().map(|_| [].as_slice()).map_err(String::as_str))?;
    let mut transport = assembled.map_err(|what| VoteError::Refused(vec![(rank, what)]))?;
    let Draw { key, seed, groups } = &all[0].draw;
    let shared = shared_group(all.iter().map(|one| &one.offer), *key);
    let groups = shared.as_ref().map_or(&groups[..], std::slice::from_ref);
    let multicast = settings.multicast != Multicast::Off && size > 1;
    let crowded = crowded(&all).filter(|_| multicast);
    if let Some(what) = crowded.as_ref().filter(|_| rank == Rank(0)) {
        tracing::warn!("going on without multicast: {what}");
    }
    let multicast = multicast
        && crowded.is_none()
        && gather(bootstrap, &mut transport, (groups, join_order(&all)), settings)?;
    connect(bootstrap, &mut transport, peers, settings.timeout)?;
    transport.is_reached = true;
    let description = describe(&transport, size);
    let packet_len = transport.seat.packet_len;
    let (key, mac) = (Key(*key), transport.seat.mac);
    let agreed = Agreed { key, mac, seed: *seed, multicast, packet_len };
    Ok((transport, agreed, description))
}

/// What a communicator has of its own, and the introduction that tells of it.
fn prepare(
    endpoint: &Access,
    rank: Rank,
    size: u32,
    settings: &Settings,
    secret: Option<&Secret>,
) -> Result<(Memory, Introduction), String> {
    let endpoint = endpoint.see();
    let mac = secret.zip(endpoint.keys.as_ref()).map(|(secret, keys)| keys.offer(secret));
    let Site { address: own, adapter, joiner, .. } = &endpoint.site;
    let memory = Memory::new(endpoint.device.domain(), own.packet_len, size, settings);
    let memory = memory.map_err(|error| error.to_string())?;
    let mut random = generator(rank);
    let kind = joiner.address_kind(settings.group_family);
    let draw = Draw {
        key: random.next_u64(),
        seed: random.next_u64(),
        groups: std::array::from_fn(|_: usize| draw(&mut random, kind)),
    };
    let ((ring, cells), offer) = (memory.exposed(), endpoint.datagrams.groups().offer());
    let port = PortUse { rate: joiner.speed.rate, pkey: joiner.partition.pkey };
    let adapter = *adapter;
    let introduction = Introduction { address: *own, adapter, port, ring, cells, draw, offer, mac };
    Ok((memory, introduction))
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
    (mut endpoint, secret): (Access, Option<Secret>),
    memory: Memory,
    rank: Rank,
    all: &[Introduction],
    settings: &Settings,
) -> Result<RdmaTransport, String> {
    let packet_len = all.iter().map(|one| one.address.packet_len).min().unwrap_or_default();
    let key = Key(all[0].draw.key);
    let mut held = endpoint.hold();
    let mac = match (secret, held.keys.as_mut()) {
        (Some(secret), Some(keys)) => Some(keys.meet(&secret, rank, key, all)?),
        _ if all[rank.index()].mac.is_some() => return Err("has no keys".to_owned()),
        _ => None,
    };
    let seat = Seat { rank, key, mac, packet_len };
    let peers: Option<Vec<_>> = all
        .iter()
        .map(|one| {
            let Introduction { address, ring, cells, .. } = one;
            let process = held.connections.meet(*address)?;
            let exposed = Exposed::new(*ring, *cells);
            Some(Peer { process, exposed, packet_len: address.packet_len })
        })
        .collect();
    let peers = peers.ok_or("has too many peer processes")?;
    let processes = peers.iter().map(|peer| peer.process).collect();
    let registered = settings.memory_of_channel(held.site.address.packet_len, all.len() as u32);
    let channel = Channel::new(key, rank, processes, registered).with_mac(mac);
    let channel = held.channels.open(channel);
    let channel = channel.ok_or("has too many communicators")?;
    drop(held);
    Ok(RdmaTransport::new(endpoint, channel, memory, (seat, peers), settings.clone()))
}

fn describe(transport: &RdmaTransport, size: u32) -> Description {
    let endpoint = transport.endpoint.see();
    let Site { device, port, gid_index, address, .. } = &endpoint.site;
    Description {
        device: device.clone(),
        port: *port,
        gid_index: *gid_index,
        group: transport
            .group
            .map(|group| endpoint.datagrams.groups().get(group).address.to_string()),
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

/// Why a rank is not connected with all its peers.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("the connection with {0} broke before")]
    BrokenBefore(Rank),
    #[error("no connection with {peer}: {reason}")]
    Broken { peer: Rank, reason: String },
    #[error("no connection with {peer} within {patience:?}")]
    Timeout { peer: Rank, patience: Duration },
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
                    return Err(ConnectError::Timeout { peer: *peer, patience });
                }
                Some(_) => transport.park(now - begun, until - now)?,
            },
        }
    }
}
