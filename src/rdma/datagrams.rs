//! The UD QP: datagrams to the group and to single ranks, and the receives posted for both.

use super::group::Group;
use super::settings::{GRH_LEN, RESERVED_SLOTS, Settings};
use super::work::Work;
use crate::rank::Rank;
use crate::verbs::{
    AddressHandle, CompletionQueue, PathTo, Pool, ProtectionDomain, QueuePair, Result, Shared,
    Slot, Span,
};
use crate::wire::HEADER_LEN;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The Q_Key of datagrams where no group has its own.
pub(super) const DEFAULT_QKEY: u32 = 0x0123_4567;

/// Where a rank's UD QP is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Station {
    pub qpn: u32,
    pub gid: [u8; 16],
    pub lid: u16,
}

/// The UD QP and its memory.
#[derive(Debug)]
pub(super) struct Datagrams {
    /// Left and detached before the QP goes.
    pub group: Option<Group>,
    qp: QueuePair,
    qkey: u32,
    handles: HashMap<Rank, AddressHandle>,
    receives: Pool,
    sends: Pool,
    free: Vec<Slot>,
    /// Further sends from the ring that the send queue takes.
    ring_room: usize,
    /// Received and not recycled, by index.
    received: Vec<Option<Slot>>,
}

impl Datagrams {
    /// Makes the QP, which also sends from `ring`, and posts all its receives.
    pub fn new(
        domain: &ProtectionDomain,
        cq: &CompletionQueue,
        ring: &Shared,
        port: u8,
        packet_len: usize,
        settings: &Settings,
    ) -> Result<Self> {
        let (receives, to_post) = Pool::new(domain, settings.receive_depth, GRH_LEN + packet_len)?;
        let (sends, free) = Pool::new(domain, settings.send_depth, packet_len)?;
        let mut qp = QueuePair::datagram(
            domain,
            cq,
            (&sends, settings.datagram_requests()),
            (&receives, settings.receive_depth),
        )?;
        qp.lend(ring);
        qp.ready_datagrams(port, DEFAULT_QKEY)?;
        for slot in to_post {
            let id = Work::DatagramReceive(slot.index()).id();
            qp.post_receive(slot, id)?;
        }
        let (handles, qkey) = (HashMap::new(), DEFAULT_QKEY);
        let received = (0..settings.receive_depth).map(|_| None).collect();
        let ring_room = settings.ring_depth as usize;
        Ok(Datagrams { group: None, qp, qkey, handles, receives, sends, free, ring_room, received })
    }

    pub fn qp(&self) -> &QueuePair {
        &self.qp
    }

    /// Uses a Q_Key from now on.
    pub fn set_qkey(&mut self, qkey: u32) -> Result<()> {
        self.qp.set_qkey(qkey)?;
        self.qkey = qkey;
        Ok(())
    }

    /// Datagrams of the protocol that can be sent to the group now, from slots and from the ring
    /// alike.
    pub fn room(&self) -> usize {
        match self.group {
            Some(_) => self.free.len().saturating_sub(RESERVED_SLOTS as usize).min(self.ring_room),
            None => 0,
        }
    }

    /// Whether a packet of the ring can be sent to the group.
    pub fn has_ring_room(&self) -> bool {
        self.group.is_some() && self.ring_room > 0
    }

    /// Sends the packet of a slot of the ring to the group.
    pub fn multicast_from(&mut self, slot: u32, span: &Span) -> Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        let id = Work::RingMulticast(slot).id();
        self.qp.send_datagram_from(span, id, &group.handle, (MULTICAST_QPN, self.qkey))?;
        self.ring_room -= 1;
        Ok(())
    }

    /// A send from the ring has ended.
    pub fn ring_sent(&mut self) {
        self.ring_room += 1;
    }

    /// Sends to the group; false where there is no group or no slot.
    pub fn multicast(&mut self, header: &[u8; HEADER_LEN], payload: &[u8]) -> Result<bool> {
        let Some(group) = &self.group else { return Ok(false) };
        let Some(slot) = self.free.pop() else { return Ok(false) };
        let (slot, len) = fill(&mut self.sends, slot, header, payload);
        let id = Work::DatagramSend(slot.index()).id();
        self.qp.send_datagram(slot, len, id, &group.handle, (MULTICAST_QPN, self.qkey))?;
        Ok(true)
    }

    /// Sends to one rank; false where there is no slot.
    pub fn unicast(
        &mut self,
        domain: &ProtectionDomain,
        (rank, station, path): (Rank, Station, PathTo),
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<bool> {
        let handle = match self.handles.entry(rank) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(AddressHandle::new(domain, &path)?),
        };
        let Some(slot) = self.free.pop() else { return Ok(false) };
        let (slot, len) = fill(&mut self.sends, slot, header, payload);
        let id = Work::DatagramSend(slot.index()).id();
        self.qp.send_datagram(slot, len, id, handle, (station.qpn, self.qkey))?;
        Ok(true)
    }

    /// A send has ended.
    ///
    /// # Safety
    /// A completion of the slot's send was polled.
    pub unsafe fn sent(&mut self, slot: u32) {
        // SAFETY: promised by the caller.
        let slot = unsafe { self.sends.reclaim(slot) };
        self.free.push(slot);
    }

    /// A receive has ended.
    ///
    /// # Safety
    /// A completion of the slot's receive was polled.
    pub unsafe fn arrived(&mut self, slot: u32) {
        // SAFETY: promised by the caller.
        self.received[slot as usize] = Some(unsafe { self.receives.reclaim(slot) });
    }

    /// The bytes behind the GRH of a received datagram of `len` bytes in all.
    pub fn bytes(&self, slot: u32, len: usize) -> &[u8] {
        let bytes = self.received[slot as usize].as_ref().map(|slot| self.receives.bytes(slot));
        bytes.and_then(|bytes| bytes.get(GRH_LEN..len)).unwrap_or_default()
    }

    /// Posts a receive again.
    pub fn recycle(&mut self, slot: u32) -> Result<()> {
        match self.received[slot as usize].take() {
            Some(slot) => {
                let id = Work::DatagramReceive(slot.index()).id();
                self.qp.post_receive(slot, id)
            }
            None => Ok(()),
        }
    }
}

/// The QP number that stands for all QPs of a group.
const MULTICAST_QPN: u32 = 0xff_ffff;

/// Writes a packet into a slot; its length.
pub(super) fn fill(
    pool: &mut Pool,
    mut slot: Slot,
    header: &[u8; HEADER_LEN],
    payload: &[u8],
) -> (Slot, usize) {
    let len = HEADER_LEN + payload.len();
    let bytes = pool.bytes_mut(&mut slot);
    bytes[..HEADER_LEN].copy_from_slice(header);
    bytes[HEADER_LEN..len].copy_from_slice(payload);
    (slot, len)
}
