//! Making a communicator's transport, collectively.

use super::address::{self, GroupAddress};
use super::connections::Connections;
use super::datagrams::{DEFAULT_QKEY, Datagrams, Station};
use super::group::Joiner;
use super::memory::{Exposed, Memory};
use super::prove::{Proof, prove};
use super::settings::{Multicast, Settings};
use super::survey::{Candidate, DeviceReport, PortReport, Survey, survey};
use super::transport::{Parts, Peer, Place, RdmaTransport};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rank::Rank;
use crate::time::{Clock, Instant};
use crate::transport::{Arrival, Park, Transport, TransportError};
use crate::verbs::{self, CompletionQueue, Context, GidKind, ProtectionDomain};
use crate::wire::Key;
use rand_chacha::rand_core::Rng;
use std::time::Duration;

/// RDMA reads that a connection serves at a time where the devices can: enough to hide the way there
/// and back, few enough for the scarce resources that adapters keep for them.
const READS: i32 = 4;
/// Groups that are tried while other jobs are heard on them.
const DRAWS: usize = 3;

/// What all ranks agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The communicator's key.
    pub key: Key,
    /// A random seed, for what ranks must choose alike.
    pub seed: u64,
    /// Whether there is a group.
    pub multicast: bool,
    /// Most bytes of a packet, header included.
    pub packet_len: usize,
}

/// What this rank uses, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// What rank 0 draws for all.
struct Draw {
    key: u64,
    seed: u64,
    groups: [GroupAddress; DRAWS],
}

/// A rank's introduction.
struct Introduction {
    peer: Peer,
    draw: Draw,
}

const INTRODUCTION_LEN: usize =
    4 + 16 + 2 + 4 + Exposed::WIRE_LEN + 8 + 8 + DRAWS * GroupAddress::WIRE_LEN;

impl Introduction {
    fn emit(&self) -> Vec<u8> {
        let Introduction { peer: Peer { station, exposed, packet_len }, draw } = self;
        let mut bytes = Vec::with_capacity(INTRODUCTION_LEN);
        bytes.extend(station.qpn.to_be_bytes());
        bytes.extend(station.gid);
        bytes.extend(station.lid.to_be_bytes());
        bytes.extend((*packet_len as u32).to_be_bytes());
        bytes.extend(exposed.emit());
        bytes.extend(draw.key.to_be_bytes());
        bytes.extend(draw.seed.to_be_bytes());
        bytes.extend(draw.groups.iter().flat_map(GroupAddress::emit));
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Introduction> {
        let (qpn, rest) = bytes.split_first_chunk()?;
        let (gid, rest) = rest.split_first_chunk()?;
        let (lid, rest) = rest.split_first_chunk()?;
        let (packet_len, rest) = rest.split_first_chunk()?;
        let (exposed, rest) = rest.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (seed, mut rest) = rest.split_first_chunk()?;
        let mut groups = [None; DRAWS];
        for group in &mut groups {
            let (wire, after) = rest.split_first_chunk()?;
            *group = Some(GroupAddress::parse(wire)?);
            rest = after;
        }
        let [Some(first), Some(second), Some(third)] = groups else { return None };
        Some(Introduction {
            peer: Peer {
                station: Station {
                    qpn: u32::from_be_bytes(*qpn),
                    gid: *gid,
                    lid: u16::from_be_bytes(*lid),
                },
                exposed: Exposed::parse(exposed)?,
                packet_len: u32::from_be_bytes(*packet_len) as usize,
            },
            draw: Draw {
                key: u64::from_be_bytes(*key),
                seed: u64::from_be_bytes(*seed),
                groups: [first, second, third],
            },
        })
    }
}

/// What a rank opens on its own.
struct Opened {
    parts: Parts,
    joiner: Joiner,
    description: Description,
    introduction: Introduction,
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
    let opened = open(bootstrap, settings, context);
    let ballot = opened.as_ref().map(|opened| opened.introduction.emit());
    let ballot = ballot.as_ref().map(Vec::as_slice).map_err(|error| error.as_str());
    let introductions = vote(bootstrap, ballot)?;
    let parsed: Option<Vec<_>> =
        introductions.iter().map(|bytes| Introduction::parse(bytes)).collect();
    let (Ok(opened), Some(all)) = (opened, parsed) else {
        let refusal = "sent an introduction that cannot be read: another version of verbcast?";
        return Err(VoteError::Refused(vec![(bootstrap.rank(), refusal.to_owned())]));
    };
    let Opened { parts, joiner, mut description, introduction: _ } = opened;
    let packet_len = all.iter().map(|one| one.peer.packet_len).min().unwrap_or_default();
    let reads = all.iter().map(|one| one.peer.exposed.reads).min().unwrap_or_default();
    let Draw { key, seed, groups } = &all[0].draw;
    let place = Place {
        rank: bootstrap.rank(),
        key: Key(*key),
        port: description.port,
        gid_index: description.gid_index,
        packet_len,
        reads,
    };
    let others = all.iter().map(|one| one.peer).collect();
    let mut transport = RdmaTransport::new(parts, place, others, settings.clone());
    let multicast = settings.multicast != Multicast::Off && bootstrap.size() > 1;
    let multicast = multicast && gather(bootstrap, &mut transport, &joiner, groups, settings)?;
    let group = transport.datagrams.group.as_ref();
    description.group = group.map(|group| group.address.to_string());
    connect(bootstrap, &mut transport, peers, settings.timeout)?;
    let agreed = Agreed { key: Key(*key), seed: *seed, multicast, packet_len };
    Ok((transport, agreed, description))
}

fn open(
    bootstrap: &dyn Bootstrap,
    settings: &Settings,
    context: Option<Context>,
) -> Result<Opened, String> {
    settings.validate().map_err(|error| error.to_string())?;
    let mut settings = settings.clone();
    if let Some(context) = &context {
        settings.devices = vec![context.name().to_owned()];
    }
    let settings = &settings;
    let rank = bootstrap.rank();
    let Survey { devices, choice } = survey(settings, rank).map_err(|error| error.to_string())?;
    let candidate = choice?;
    let report = &devices[candidate.device];
    open_candidate(report, &candidate, context, bootstrap, settings)
        .map_err(|error| error.to_string())
}

fn open_candidate(
    report: &DeviceReport,
    candidate: &Candidate,
    context: Option<Context>,
    bootstrap: &dyn Bootstrap,
    settings: &Settings,
) -> verbs::Result<Opened> {
    let context = match context {
        Some(context) => context,
        None => open_device(&report.name)?,
    };
    context.unblock_async_events()?;
    let port = context.port(candidate.port)?;
    let domain = ProtectionDomain::new(&context)?;
    let cq = completion_queue(&context, report, bootstrap.size(), settings)?;
    let memory = Memory::new(&domain, port.mtu, bootstrap.size(), settings)?;
    let ring = memory.ring.memory();
    let datagrams = Datagrams::new(&domain, &cq, ring, port.number, port.mtu, settings)?;
    let connections = Connections::new(&domain, port.mtu, bootstrap.size(), settings)?;
    let joiner = joiner(report, candidate);
    let station = Station { qpn: datagrams.qp().number(), gid: joiner.gid, lid: port.lid };
    let mut generator = address::generator(bootstrap.rank());
    let kind = joiner.address_kind(settings.group_family);
    let draw = Draw {
        key: generator.next_u64(),
        seed: generator.next_u64(),
        groups: std::array::from_fn(|_| GroupAddress::draw(&mut generator, kind)),
    };
    let description = Description {
        device: report.name.clone(),
        port: port.number,
        gid_index: candidate.gid_index,
        group: None,
        registered_memory: settings.registered_memory(port.mtu, bootstrap.size()),
    };
    let limits = context.limits()?;
    let reads = READS.min(limits.max_qp_rd_atom).min(limits.max_qp_init_rd_atom).max(0) as u8;
    let peer = Peer { station, exposed: memory.exposed(reads), packet_len: port.mtu };
    Ok(Opened {
        parts: Parts { datagrams, connections, memory, cq, domain, context },
        joiner,
        description,
        introduction: Introduction { peer, draw },
    })
}

fn open_device(name: &str) -> verbs::Result<Context> {
    let devices = verbs::devices()?;
    match devices.iter().find(|device| device.name() == name) {
        Some(device) => device.open(),
        None => Err(verbs::Error::vanished(name)),
    }
}

/// A queue that holds every completion that can be outstanding.
fn completion_queue(
    context: &Context,
    report: &DeviceReport,
    size: u32,
    settings: &Settings,
) -> verbs::Result<CompletionQueue> {
    let depth = settings.completions(size).min(report.max_completions.max(1));
    CompletionQueue::new(context, depth)
}

fn joiner(report: &DeviceReport, candidate: &Candidate) -> Joiner {
    let ports = report.ports.as_deref().unwrap_or_default();
    let chosen = ports.iter().find(|report| report.port.number == candidate.port);
    let Some(PortReport { port, gids, .. }) = chosen else {
        unreachable!("the survey chose a port that it reports")
    };
    let own = gids.iter().find(|gid| gid.index == candidate.gid_index);
    let mut ipv6: Vec<_> = gids
        .iter()
        .filter(|gid| gid.kind == GidKind::RoceV2 && gid.ipv4().is_none())
        .map(|gid| (gid.index, gid.gid))
        .collect();
    // Link-local addresses last.
    ipv6.sort_by_key(|(_, gid)| gid[0] == 0xfe);
    Joiner {
        link_layer: port.link_layer,
        port: port.number,
        gid: own.map(|gid| gid.gid).unwrap_or_default(),
        ipv6,
        interface: own.map(|gid| gid.interface).unwrap_or_default(),
    }
}

/// Joins a group and proves it; whether there is one that works.
fn gather(
    bootstrap: &mut dyn Bootstrap,
    transport: &mut RdmaTransport,
    joiner: &Joiner,
    groups: &[GroupAddress],
    settings: &Settings,
) -> Result<bool, VoteError> {
    match try_gather(bootstrap, transport, joiner, groups, settings) {
        Ok(()) => Ok(true),
        Err(error @ VoteError::Refused(_)) if settings.multicast == Multicast::Prefer => {
            transport.datagrams.group = None;
            let reset = transport.datagrams.set_qkey(DEFAULT_QKEY);
            let reset = reset.map(|()| [].as_slice()).map_err(|error| error.to_string());
            vote(bootstrap, reset.as_deref().map_err(String::as_str))?;
            if bootstrap.rank() == Rank(0) {
                log::warn!("going on without multicast: {error}");
            }
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn try_gather(
    bootstrap: &mut dyn Bootstrap,
    transport: &mut RdmaTransport,
    joiner: &Joiner,
    groups: &[GroupAddress],
    settings: &Settings,
) -> Result<(), VoteError> {
    for (draw, address) in groups.iter().enumerate() {
        transport.datagrams.group = None;
        let joined = join(transport, joiner, *address, settings.timeout);
        vote(bootstrap, joined.as_ref().map(|()| [].as_slice()).map_err(String::as_str))?;
        let proof = prove(bootstrap, transport, &address.to_string(), settings)?;
        // On the last draw strangers are put up with: their packets are told apart by the key.
        if proof == Proof::Works || draw + 1 == groups.len() {
            return Ok(());
        }
        log::info!("group {address} is in use by others; drawing another");
    }
    Ok(())
}

fn join(
    transport: &mut RdmaTransport,
    joiner: &Joiner,
    address: GroupAddress,
    patience: Duration,
) -> Result<(), String> {
    let domain = &transport.domain;
    let group = joiner.join(domain, transport.datagrams.qp(), address, patience)?;
    transport.datagrams.set_qkey(group.qkey).map_err(|error| error.to_string())?;
    transport.datagrams.group = Some(group);
    Ok(())
}

/// Connects with the peers, while answering those who connect with this rank.
fn connect(
    bootstrap: &mut dyn Bootstrap,
    transport: &mut RdmaTransport,
    peers: &[Rank],
    patience: Duration,
) -> Result<(), VoteError> {
    let outcome = try_connect(transport, peers, patience).map_err(|error| error.what);
    vote(bootstrap, outcome.as_ref().map(|()| [].as_slice()).map_err(String::as_str)).map(drop)
}

fn try_connect(
    transport: &mut RdmaTransport,
    peers: &[Rank],
    patience: Duration,
) -> Result<(), TransportError> {
    let clock = Clock::start();
    let until = Instant::ZERO + patience;
    for peer in peers {
        transport.open(clock.now(), *peer)?;
    }
    loop {
        let now = clock.now();
        match transport.poll(now)? {
            Some(Arrival::Packet { buffer, .. }) => transport.recycle(buffer)?,
            Some(_) => {}
            None => match peers.iter().find(|peer| !transport.is_connected(**peer)) {
                None => return Ok(()),
                Some(peer) if now >= until => {
                    let what = format!("no connection with {peer} within {patience:?}");
                    return Err(TransportError { what });
                }
                Some(_) => transport.park(now - Instant::ZERO, until - now)?,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::Remote;

    #[test]
    fn an_introduction_survives_the_wire() {
        let groups = [GroupAddress::V4("239.1.2.3".parse().unwrap()); DRAWS];
        let exposed = Exposed {
            ring: Remote { address: 0x0102_0304_0506_0708, key: 0x1112_1314 },
            cells: Remote { address: u64::MAX - 1, key: 77 },
            reads: 4,
        };
        let station = Station { qpn: 17, gid: [9; 16], lid: 3 };
        let introduction = Introduction {
            peer: Peer { station, exposed, packet_len: 4096 },
            draw: Draw { key: 5, seed: 6, groups },
        };
        let bytes = introduction.emit();
        assert_eq!(bytes.len(), INTRODUCTION_LEN);
        let read = Introduction::parse(&bytes).unwrap();
        assert_eq!((read.peer.station, read.peer.exposed), (station, exposed));
        assert_eq!((read.peer.packet_len, read.draw.key, read.draw.seed), (4096, 5, 6));
        assert_eq!(read.draw.groups, groups);
        assert!(Introduction::parse(&bytes[..40]).is_none());
    }
}
