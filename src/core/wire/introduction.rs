//! What a rank tells all others of itself when a communicator is made.

use super::compact::FreeTags;
use super::error::WireError;
use super::fields::{Reader, Writer};
use super::format::Format;
use super::group_address::GroupAddress;
use super::node::{NodeMemory, NodeOffer};
use super::nonce::Nonce;
use super::process_address::ProcessAddress;
use super::response::PROOF_LEN;

/// Groups that are tried while other jobs are heard on them.
pub const DRAWS: usize = 3;
/// Groups that a rank tells of at most: the oldest, which most ranks have in common.
pub const MAX_OFFERED_GROUPS: usize = 16;
/// Proofs that a rank tells of at most.
pub const MAX_OFFERED_PROOFS: usize = 16;

/// A part of a rank's memory that other ranks may reach.
///
/// On the wire: address (64 bits), key (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    /// Its address there.
    pub address: u64,
    /// The key that lets requests reach it.
    pub key: u32,
}

/// How a rank uses its port, as far as the join of a group depends on it.
///
/// On the wire: rate (32 bits), P_Key (16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortUse {
    /// The port's rate in Mb/s; 0 where it is not known.
    pub rate: u32,
    /// The P_Key that it uses.
    pub pkey: u16,
}

/// What rank 0 draws for all.
///
/// On the wire: key and seed (64 bits each), then the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// The communicator's key.
    pub key: u64,
    /// A seed for what ranks must choose alike.
    pub seed: u64,
    /// The groups, in the order in which they are tried.
    pub groups: [GroupAddress; DRAWS],
}

/// A group that was proven to carry datagrams among all processes of a communicator.
///
/// On the wire: group, members (64 bits), bytes of a packet (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenGroup {
    /// The group.
    pub group: GroupAddress,
    /// What stands for the processes, and for no others.
    pub members: u64,
    /// The longest packets that it was proven with.
    pub packet_len: u32,
}

/// What a rank says of the groups that it is in.
///
/// On the wire: whether it is full (8 bits), the number of groups (32), the groups, the number of proofs (32), the proofs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupOffer {
    /// The groups, [some of them](MAX_OFFERED_GROUPS) at least.
    pub groups: Vec<GroupAddress>,
    /// Whether it should be in no more.
    pub is_full: bool,
    /// Which of them were proven, and among whom; [some](MAX_OFFERED_PROOFS) at least.
    pub proven: Vec<ProvenGroup>,
}

/// The device of a rank, and how many QPs it takes in a group.
///
/// On the wire: GUID (64 bits), QPs (32).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adapter {
    /// Its node GUID.
    pub guid: u64,
    /// QPs, of all processes, that it attaches to one group.
    pub max_attached: u32,
}

/// What a process gives to the keys of packets' authentication codes.
///
/// On the wire: whether it does (8 bits); if so, the nonce and the proof (256 each).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacOffer {
    /// What it has drawn, once in its life.
    pub nonce: Nonce,
    /// The code over its incarnation and the nonce, with the job's secret as the key.
    pub proof: [u8; PROOF_LEN],
}

/// A rank's introduction: where its process is, what memory it exposes, what it draws and offers.
///
/// On the wire: the [process's address](ProcessAddress), the [adapter](Adapter), the [use of its port](PortUse), the
/// [node](NodeOffer), the [memory](NodeMemory) for that, the two [regions](Region), the [draw](Draw), the [offer of groups](GroupOffer) and the
/// [one for keys](MacOffer) and the [free tags](FreeTags), one behind the other. A change of anything that the ranks of a communicator exchange later on,
/// such as the header of packets or the cells of counters, also changes this format's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// Where the process is.
    pub address: ProcessAddress,
    /// Its device.
    pub adapter: Adapter,
    /// How it uses its port.
    pub port: PortUse,
    /// With whom it can share memory.
    pub node: NodeOffer,
    /// The memory that it has made for that, which counts if it is the lowest rank of its node.
    pub memory: Option<NodeMemory>,
    /// Its ring of retained packets, which the others may read; its [tags](Self::tags) tell the length of a slot.
    pub ring: Region,
    /// Its table of counters, which the others may write.
    pub cells: Region,
    /// What it would draw; rank 0's counts.
    pub draw: Draw,
    /// The groups that it is in.
    pub offer: GroupOffer,
    /// What it gives to the keys of authentication codes; none where its packets have CRCs.
    pub mac: Option<MacOffer>,
    /// Tags that are free for the communicator's [compact headers](super::Compact); none where it wants no such headers.
    pub tags: FreeTags,
}

impl Introduction {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's introduction", tag: *b"vbI", version: 12 };

    /// Its bytes. Of the groups on offer the first [16](MAX_OFFERED_GROUPS) are told, and so many
    /// [proofs](MAX_OFFERED_PROOFS).
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        self.address.write(&mut to);
        to.u64(self.adapter.guid).u32(self.adapter.max_attached);
        to.u32(self.port.rate).u16(self.port.pkey);
        self.node.write(&mut to);
        NodeMemory::write_if_any(self.memory.as_ref(), &mut to);
        self.ring.write(&mut to);
        self.cells.write(&mut to);
        self.draw.write(&mut to);
        self.offer.write(&mut to);
        to.bool(self.mac.is_some());
        if let Some(MacOffer { nonce, proof }) = &self.mac {
            to.bytes(nonce).bytes(proof);
        }
        to.u8(self.tags.0);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Introduction, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let introduction = Introduction {
            address: ProcessAddress::read(&mut from)?,
            adapter: Adapter { guid: from.u64()?, max_attached: from.u32()? },
            port: PortUse { rate: from.u32()?, pkey: from.u16()? },
            node: NodeOffer::read(&mut from)?,
            memory: NodeMemory::read_if_any(&mut from)?,
            ring: Region::read(&mut from)?,
            cells: Region::read(&mut from)?,
            draw: Draw::read(&mut from)?,
            offer: GroupOffer::read(&mut from)?,
            mac: match from.bool("offer for keys")? {
                true => Some(MacOffer { nonce: from.array()?, proof: from.array()? }),
                false => None,
            },
            tags: FreeTags(from.u8()?),
        };
        from.end().map(|()| introduction)
    }
}

impl Region {
    pub(super) fn write(&self, to: &mut Writer) {
        to.u64(self.address).u32(self.key);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Region { address: from.u64()?, key: from.u32()? })
    }
}

impl Draw {
    fn write(&self, to: &mut Writer) {
        to.u64(self.key).u64(self.seed);
        self.groups.iter().for_each(|group| group.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let (key, seed) = (from.u64()?, from.u64()?);
        let mut group = || GroupAddress::read(from);
        Ok(Draw { key, seed, groups: [group()?, group()?, group()?] })
    }
}

impl GroupOffer {
    fn write(&self, to: &mut Writer) {
        let told = &self.groups[..self.groups.len().min(MAX_OFFERED_GROUPS)];
        to.bool(self.is_full).count(told.len());
        told.iter().for_each(|group| group.write(to));
        let proven = &self.proven[..self.proven.len().min(MAX_OFFERED_PROOFS)];
        to.count(proven.len());
        for ProvenGroup { group, members, packet_len } in proven {
            group.write(to);
            to.u64(*members).u32(*packet_len);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let is_full = from.bool("offer of groups")?;
        let count = from.count("number of groups", MAX_OFFERED_GROUPS, GroupAddress::LEN)?;
        let groups = (0..count).map(|_| GroupAddress::read(from)).collect::<Result<_, _>>()?;
        let each = GroupAddress::LEN + size_of::<u64>() + size_of::<u32>();
        let count = from.count("number of proofs", MAX_OFFERED_PROOFS, each)?;
        let mut proof = || {
            let group = GroupAddress::read(from)?;
            Ok(ProvenGroup { group, members: from.u64()?, packet_len: from.u32()? })
        };
        let proven = (0..count).map(|_| proof()).collect::<Result<_, WireError>>()?;
        Ok(GroupOffer { groups, is_full, proven })
    }
}
