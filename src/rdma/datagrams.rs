//! The UD QP: datagrams to the group and to single ranks, and the receives posted for both.

use super::group::Group;
use super::prediction::Prediction;
use super::settings::{GRH_LEN, RESERVED_SLOTS, Settings};
use super::work::Work;
use crate::rank::{Fragment, OpId, Rank};
use crate::verbs::{
    AddressHandle, CompletionQueue, Lease, PathTo, Pool, ProtectionDomain, QueuePair, Result,
    Shared, Slot, Span,
};
use crate::wire::HEADER_LEN;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

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
    /// Memory of messages that posted receives and sends use, by slot.
    receives_into: Vec<Option<Arc<Lease>>>,
    sends_from: Vec<Option<Arc<Lease>>>,
    pub prediction: Prediction,
    /// Receives to be posted when the flush under way has ended.
    idle: Option<Vec<Slot>>,
    port: u8,
    send_depth: usize,
    ring_depth: usize,
}

/// A part of a message's memory in a request.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    pub lease: Arc<Lease>,
    pub range: Range<usize>,
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
        let mut datagrams = Datagrams {
            group: None,
            qp,
            qkey: DEFAULT_QKEY,
            handles: HashMap::new(),
            receives,
            sends,
            free,
            ring_room: settings.ring_depth as usize,
            received: (0..settings.receive_depth).map(|_| None).collect(),
            receives_into: vec![None; settings.receive_depth as usize],
            sends_from: vec![None; settings.send_depth as usize],
            prediction: Prediction::new(settings.receive_depth),
            idle: None,
            port,
            send_depth: settings.send_depth as usize,
            ring_depth: settings.ring_depth as usize,
        };
        to_post.into_iter().try_for_each(|slot| datagrams.post(slot, None))?;
        Ok(datagrams)
    }

    fn post(&mut self, slot: Slot, tail: Option<Tail>) -> Result<()> {
        let index = slot.index();
        let id = Work::DatagramReceive(index).id();
        match tail {
            Some(Tail { lease, range }) => {
                self.qp.post_receive_with((slot, GRH_LEN + HEADER_LEN), (&lease, range), id)?;
                self.receives_into[index as usize] = Some(lease);
            }
            None => self.qp.post_receive(slot, id)?,
        }
        self.prediction.post();
        Ok(())
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

    /// Sends to the group, with a payload out of a message's memory; false where there is no group
    /// or no slot.
    pub fn multicast_with(&mut self, header: &[u8; HEADER_LEN], tail: Tail) -> Result<bool> {
        let Some(group) = &self.group else { return Ok(false) };
        let Some(slot) = self.free.pop() else { return Ok(false) };
        let index = slot.index();
        let head = fill(&mut self.sends, slot, header, &[]);
        let (id, to) = (Work::DatagramSend(index).id(), (MULTICAST_QPN, self.qkey));
        let Tail { lease, range } = tail;
        self.qp.send_datagram_with(head, (&lease, range), id, &group.handle, to)?;
        self.sends_from[index as usize] = Some(lease);
        Ok(true)
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
        if self.idle.is_some() {
            // It would be flushed.
            return Ok(true);
        }
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
    /// A completion of the slot's send was polled, and this is the first time that it is told.
    pub unsafe fn sent(&mut self, slot: u32) {
        if let Some(lease) = self.sends_from[slot as usize].take() {
            // SAFETY: promised by the caller.
            unsafe { lease.completed() };
        }
        // SAFETY: promised by the caller.
        let slot = unsafe { self.sends.reclaim(slot) };
        self.free.push(slot);
    }

    /// A receive has ended.
    ///
    /// # Safety
    /// A completion of the slot's receive was polled, and this is the first time that it is told.
    pub unsafe fn arrived(&mut self, slot: u32) {
        if let Some(lease) = self.receives_into[slot as usize].take() {
            // SAFETY: promised by the caller.
            unsafe { lease.completed() };
        }
        // SAFETY: promised by the caller.
        self.received[slot as usize] = Some(unsafe { self.receives.reclaim(slot) });
    }

    /// The bytes behind the GRH of a received datagram of `len` bytes in all.
    pub fn bytes(&self, slot: u32, len: usize) -> &[u8] {
        let bytes = self.received[slot as usize].as_ref().map(|slot| self.receives.bytes(slot));
        bytes.and_then(|bytes| bytes.get(GRH_LEN..len)).unwrap_or_default()
    }

    /// Puts a payload that was received elsewhere behind the header in a slot.
    pub fn move_in(&mut self, slot: u32, payload: &[u8]) {
        if let Some(slot) = &mut self.received[slot as usize] {
            let start = GRH_LEN + HEADER_LEN;
            let bytes = self.receives.bytes_mut(slot);
            bytes[start..start + payload.len()].copy_from_slice(payload);
        }
    }

    /// What the receive that is posted next will probably get; none while there is a flush.
    pub fn next_receive(&self) -> Option<(OpId, Fragment)> {
        self.prediction.next().filter(|_| self.idle.is_none())
    }

    /// Posts a receive again; with a tail, only the header goes into the slot.
    pub fn recycle(&mut self, slot: u32, tail: Option<Tail>) -> Result<()> {
        match (self.received[slot as usize].take(), &mut self.idle) {
            (Some(slot), Some(idle)) => {
                idle.push(slot);
                Ok(())
            }
            (Some(slot), None) => self.post(slot, tail),
            (None, _) => Ok(()),
        }
    }

    /// Whether sends from a message's memory are under way.
    pub fn sends_from(&self, lease: &Arc<Lease>) -> bool {
        self.sends_from.iter().flatten().any(|one| Arc::ptr_eq(one, lease))
    }

    /// Ends all requests, so that their memory can be had back. Once their completions were taken and
    /// it [is flushed](Self::is_flushed), the QP can be [restarted](Self::restart).
    pub fn flush(&mut self) -> Result<()> {
        self.idle.get_or_insert_default();
        self.qp.give_up()
    }

    /// Whether no requests are under way.
    pub fn is_flushed(&self) -> bool {
        let sends = self.free.len() == self.send_depth && self.ring_room == self.ring_depth;
        sends && self.prediction.outstanding() == 0
    }

    /// Makes the QP work again, and posts its receives.
    pub fn restart(&mut self) -> Result<()> {
        self.qp.reset()?;
        self.qp.ready_datagrams(self.port, self.qkey)?;
        let idle = self.idle.take().unwrap_or_default();
        idle.into_iter().try_for_each(|slot| self.post(slot, None))
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
