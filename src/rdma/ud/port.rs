//! The UD QP: datagrams to groups and to single processes, and the receives posted for both.

use super::deferred_drop::DeferredDrop;
use super::extent::{Extent, GRH};
use super::prediction::{Prediction, Stream};
use super::restarts::Restarts;
use super::sender::Sender;
use crate::rdma::group::{AddressKind, DEFAULT_QKEY, Group, GroupId, Groups, Joined, ProvenAmong};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::{Kept, Source, Tail};
use crate::rdma::outstanding::Outstanding;
use crate::rdma::packet::fill;
use crate::rdma::settings::{RESERVED_SLOTS, Settings};
use crate::rdma::work::Work;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;
use verbcast_core::rank::Fragment;
use verbcast_core::time::Instant;
use verbcast_core::wire::{GroupAddress, HEADER_LEN};
use verbcast_verbs::{
    AddressHandle, CompletionQueue, Lease, MAX_TOGETHER, Origin, PathTo, Pool, PortPartition,
    ProtectionDomain, QueuePair, Result, Slot,
};

/// The UD QP and its memory.
#[derive(Debug)]
pub struct UdPort {
    domain: ProtectionDomain,
    cq: CompletionQueue,
    qp: QueuePair,
    qkey: u32,
    /// The groups that communicators are in.
    groups: Groups,
    /// The kind of their addresses, once there was one: it is the same for all.
    kind: Option<AddressKind>,
    handles: HashMap<ProcessId, AddressHandle>,
    /// Processes whose addresses were not found, and why.
    unresolved: HashMap<ProcessId, String>,
    receives: Pool,
    sends: Pool,
    free: Vec<Slot>,
    /// Further sends from rings that the send queue takes.
    ring_room: usize,
    /// The places that posted receives are for, by slot.
    receives_into: Vec<Option<Place>>,
    /// Memory of messages that sends use, by slot.
    sends_from: Vec<Option<Arc<Lease>>>,
    outstanding: Outstanding<Datagram>,
    deferred_drop: DeferredDrop<Unused>,
    prediction: Prediction,
    /// Receives to be posted when the flush under way has ended.
    idle: Option<Vec<Slot>>,
    restarts: Restarts,
    at: PortPartition,
    /// Requests that the QP's queues take.
    depths: QueueDepths,
    send_depth: usize,
    ring_depth: usize,
}

/// Requests that may be outstanding.
#[derive(Clone, Copy, Debug)]
struct QueueDepths {
    send: u32,
    receive: u32,
}

/// A datagram on its way out.
#[derive(Clone, Copy, Debug)]
pub enum Datagram {
    /// From a slot.
    Slot(u32),
    /// From a slot of a channel's ring.
    Ring(ChannelId, u32),
}

/// What sends that are posted may still use.
#[derive(Debug)]
enum Unused {
    /// A group that a communicator has left.
    Group(GroupId),
    /// The way to a group that has another one now.
    Handle(AddressHandle),
}

/// The place of a fragment, for which a receive is posted.
#[derive(Debug)]
pub struct Place {
    pub stream: Stream,
    pub fragment: Fragment,
    pub tail: Tail,
    /// Its payload comes right behind the GRH.
    pub is_compact: bool,
}

impl Place {
    /// What is received into the slot in front of its payload.
    fn head(&self) -> Range<usize> {
        GRH.start..GRH.end + if self.is_compact { 0 } else { HEADER_LEN }
    }
}

impl UdPort {
    /// Makes the QP, which is to be in so many groups at most, and posts all its receives.
    pub fn new(
        domain: &ProtectionDomain,
        cq: &CompletionQueue,
        at: PortPartition,
        packet_len: usize,
        most_groups: usize,
        settings: &Settings,
    ) -> Result<Self> {
        let (receives, to_post) = Pool::new(domain, settings.depths.receive, GRH.end + packet_len)?;
        let (sends, free) = Pool::new(domain, settings.depths.send, packet_len)?;
        let depths =
            QueueDepths { send: settings.datagram_requests(), receive: settings.depths.receive };
        let mut qp =
            QueuePair::datagram(domain, cq, (&sends, depths.send), (&receives, depths.receive))?;
        qp.ready_datagrams(at, DEFAULT_QKEY)?;
        let mut datagrams = UdPort {
            domain: domain.clone(),
            cq: cq.clone(),
            qp,
            qkey: DEFAULT_QKEY,
            groups: Groups::new(most_groups),
            kind: None,
            handles: HashMap::new(),
            unresolved: HashMap::new(),
            receives,
            sends,
            free,
            ring_room: settings.depths.ring as usize,
            receives_into: (0..settings.depths.receive).map(|_| None).collect(),
            sends_from: vec![None; settings.depths.send as usize],
            outstanding: Outstanding::new(settings.datagram_requests()),
            deferred_drop: DeferredDrop::default(),
            prediction: Prediction::new(settings.depths.receive),
            idle: None,
            restarts: Restarts::default(),
            at,
            depths,
            send_depth: settings.depths.send as usize,
            ring_depth: settings.depths.ring as usize,
        };
        to_post.into_iter().try_for_each(|slot| datagrams.post(slot))?;
        datagrams.submit()?;
        Ok(datagrams)
    }

    #[inline]
    fn post(&mut self, slot: Slot) -> Result<()> {
        let id = Work::DatagramReceive(slot.index()).id();
        self.qp.post_receive(slot, GRH.start, id)?;
        self.prediction.post();
        Ok(())
    }

    /// The memory of received datagrams.
    pub fn pool(&self) -> &Pool {
        &self.receives
    }

    /// The number of its QP.
    pub fn qpn(&self) -> u32 {
        self.qp.number()
    }

    /// Takes in a group that the port has joined, to send to it.
    pub fn enter(&mut self, joined: Joined) -> std::result::Result<GroupId, String> {
        self.kind = Some(joined.kind());
        Ok(self.groups.add(Group::new(joined, &self.domain)?))
    }

    /// A communicator receives what is sent to a group: the QP is attached to it, if it is not.
    pub fn listen(&mut self, id: GroupId) -> Result<()> {
        match self.groups.get_mut(id) {
            Some(group) => group.listen(&self.qp),
            None => Ok(()),
        }
    }

    /// A communicator that [listened](Self::listen) to a group does so no more.
    pub fn unlisten(&mut self, id: GroupId) {
        if let Some(group) = self.groups.get_mut(id) {
            group.unlisten();
        }
    }

    /// The groups that communicators are in.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The groups, to look after their memberships.
    pub fn groups_mut(&mut self) -> impl Iterator<Item = (GroupId, &mut Group)> {
        self.groups.iter_mut()
    }

    /// A membership of the port was made anew: datagrams go that way from now on.
    pub fn renew(&mut self, id: GroupId, joined: Joined) -> Result<()> {
        if joined.qkey() != self.qkey {
            self.set_qkey(joined.qkey())?;
        }
        if let Some(group) = self.groups.get_mut(id) {
            let former = group.renew(joined, &self.domain, &self.qp)?;
            self.deferred_drop.add(Unused::Handle(former));
            self.drop_unused();
        }
        Ok(())
    }

    /// A communicator uses a group that another one is in already, if there is one of that address.
    pub fn share(&mut self, address: GroupAddress) -> Option<GroupId> {
        self.groups.share(address)
    }

    /// A group was proven among all processes of a communicator.
    pub fn note_proof(&mut self, id: GroupId, proof: ProvenAmong) {
        self.groups.note_proof(id, proof);
    }

    /// The Q_Key in use.
    pub fn qkey(&self) -> u32 {
        self.qkey
    }

    /// Uses a Q_Key from now on.
    pub fn set_qkey(&mut self, qkey: u32) -> Result<()> {
        self.qp.set_qkey(qkey)?;
        self.qkey = qkey;
        Ok(())
    }

    /// Datagrams of the protocol that can be sent to a group now, from slots and from rings alike.
    pub fn room(&self) -> usize {
        match self.idle {
            // It would be flushed.
            Some(_) => 0,
            None => self.free.len().saturating_sub(RESERVED_SLOTS as usize).min(self.ring_room),
        }
    }

    /// Whether a packet of a ring can be sent to a group.
    pub fn has_ring_room(&self) -> bool {
        self.ring_room > 0
    }

    /// Sends what is kept in a slot of a channel's ring to a group.
    pub fn multicast_from(
        &mut self,
        group: GroupId,
        (channel, slot): (ChannelId, u32),
        kept: Kept,
    ) -> Result<()> {
        let id = self.begin(Datagram::Ring(channel, slot));
        self.ring_room -= 1;
        let (handle, to) = (&self.groups.get(group).handle, (MULTICAST_QPN, self.qkey));
        match kept {
            Kept::Whole(packet) => self.qp.send_datagram_from(&packet, id, handle, to),
            Kept::Payload(payload, compact) => {
                self.qp.send_datagram_numbered((&payload, compact.immediate()), id, handle, to)
            }
        }
    }

    /// A send begins; the id of its request.
    fn begin(&mut self, datagram: Datagram) -> u64 {
        self.deferred_drop.post();
        Work::Datagram(self.outstanding.push(datagram)).id()
    }

    /// Sends to a group; false where there is no slot.
    pub fn multicast(
        &mut self,
        group: GroupId,
        header: &[u8; HEADER_LEN],
        payload: Source<'_>,
    ) -> Result<bool> {
        let Some(slot) = self.free.pop() else { return Ok(false) };
        let (index, to) = (slot.index(), (MULTICAST_QPN, self.qkey));
        let id = self.begin(Datagram::Slot(index));
        let handle = &self.groups.get(group).handle;
        match payload {
            Source::Bytes(bytes) => {
                let (slot, len) = fill(&mut self.sends, slot, header, bytes);
                self.qp.send_datagram(slot, len, id, handle, to)?;
            }
            Source::Place(Tail { lease, range }) => {
                let head = fill(&mut self.sends, slot, header, &[]);
                self.qp.send_datagram_with(head, (&lease, range), id, handle, to)?;
                self.sends_from[index as usize] = Some(lease);
            }
        }
        Ok(true)
    }

    /// Sends to the UD QP of one process; false where there is no slot. A datagram to an address that the kernel has
    /// [not found](Self::unresolved) is lost.
    pub fn unicast(
        &mut self,
        (process, qpn, path): (ProcessId, u32, PathTo),
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<bool> {
        if self.idle.is_some() {
            // It would be flushed.
            return Ok(true);
        }
        if let Entry::Vacant(entry) = self.handles.entry(process) {
            match AddressHandle::new(&self.domain, &path) {
                Ok(handle) => _ = entry.insert(handle),
                Err(error) if error.is_unresolved() => {
                    tracing::debug!("{error}");
                    self.unresolved.insert(process, error.to_string());
                    return Ok(true);
                }
                Err(error) => return Err(error),
            }
            self.unresolved.remove(&process);
        }
        let Some(slot) = self.free.pop() else { return Ok(false) };
        let (slot, len) = fill(&mut self.sends, slot, header, payload);
        let id = self.begin(Datagram::Slot(slot.index()));
        self.qp.send_datagram(slot, len, id, &self.handles[&process], (qpn, self.qkey))?;
        Ok(true)
    }

    /// Why the address of a process was not found, if it was not when it was looked for last.
    pub fn unresolved(&self, process: ProcessId) -> Option<&str> {
        self.unresolved.get(&process).map(String::as_str)
    }

    /// Gives a group up, for this user of it.
    pub fn leave(&mut self, group: GroupId) {
        self.deferred_drop.add(Unused::Group(group));
        self.drop_unused();
    }

    fn drop_unused(&mut self) {
        while let Some(unused) = self.deferred_drop.next_unused() {
            match unused {
                Unused::Group(group) => self.groups.release(group),
                Unused::Handle(handle) => drop(handle),
            }
        }
    }

    /// Hands to the device what waits to be sent, and the receives that wait to be posted.
    pub fn submit(&mut self) -> Result<()> {
        self.qp.submit()?;
        self.qp.submit_receives()
    }

    /// Hands to the device what waits to be sent. Receives wait until they are a batch, where a ring that is sent at once finds
    /// enough of them even so.
    pub fn submit_sends(&mut self) -> Result<()> {
        self.qp.submit()?;
        let may_wait = self.depths.receive as usize >= self.ring_depth + MAX_TOGETHER;
        if may_wait { Ok(()) } else { self.qp.submit_receives() }
    }

    /// The first send that has ended, up to the one of a number, and whether it is that one; its slot is free.
    ///
    /// # Safety
    /// A completion of that number was polled.
    pub unsafe fn sent(&mut self, number: u32) -> Option<(Datagram, bool)> {
        let ended = self.outstanding.pop_until(number)?;
        self.deferred_drop.end();
        self.drop_unused();
        match ended.0 {
            Datagram::Ring(..) => self.ring_room += 1,
            Datagram::Slot(slot) => {
                if let Some(lease) = self.sends_from[slot as usize].take() {
                    // SAFETY: promised by the caller; a request is outstanding only once.
                    unsafe { lease.completed() };
                }
                // SAFETY: as above.
                self.free.push(unsafe { self.sends.reclaim(slot) });
            }
        }
        Some(ended)
    }

    /// A receive has ended; its slot, and the place that it was for. The place's lease is still to be told
    /// that the request has completed.
    ///
    /// # Safety
    /// A completion of the slot's receive was polled, and this is the first time that it is told.
    pub unsafe fn arrived(&mut self, slot: u32) -> (Slot, Option<Place>) {
        let place = self.receives_into[slot as usize].take();
        // SAFETY: promised by the caller.
        (unsafe { self.receives.reclaim(slot) }, place)
    }

    /// Whether the receive of a slot is for the place of a fragment.
    #[inline]
    pub fn has_place(&self, slot: u32) -> bool {
        self.receives_into[slot as usize].is_some()
    }

    /// A receive has ended that was for [no place](Self::has_place); its slot.
    ///
    /// # Safety
    /// As [`arrived`](Self::arrived).
    #[inline]
    pub unsafe fn arrived_in_slot(&self, slot: u32) -> Slot {
        // SAFETY: promised by the caller.
        unsafe { self.receives.reclaim(slot) }
    }

    /// So many bytes of a received datagram, behind the GRH.
    #[inline]
    pub fn payload<'a>(&'a self, slot: &'a Slot, len: usize) -> &'a [u8] {
        &self.receives.bytes(slot)[GRH.end..GRH.end + len]
    }

    /// A received datagram, its header first.
    pub fn bytes<'a>(&'a self, slot: &'a Slot, extent: Extent) -> &'a [u8] {
        extent.of(self.receives.bytes(slot))
    }

    /// Who has sent a received datagram to a group; none before the first group, and where its adapter does not tell.
    #[inline]
    pub fn sender(&self, slot: &Slot, origin: Origin) -> Option<Sender> {
        Sender::new(self.kind?, self.front(slot), origin)
    }

    /// Whether it is this one.
    #[inline]
    pub fn is_from(&self, sender: &Sender, slot: &Slot, origin: Origin) -> bool {
        self.kind.is_some_and(|kind| sender.has_sent(kind, self.front(slot), origin))
    }

    /// What is in front of a received datagram.
    #[inline]
    fn front<'a>(&'a self, slot: &'a Slot) -> &'a [u8; 40] {
        self.receives.bytes(slot)[GRH].first_chunk().expect("a GRH is so long")
    }

    /// Puts what was received into a place to where it would be without it in the slot, with what there was no room for there
    /// behind it. So many bytes came in all, GRH included.
    pub fn move_in(&mut self, slot: &mut Slot, place: &Place, received: &[u8], len: usize) {
        let start = place.head().end;
        let more = (GRH.start + len).saturating_sub(start + received.len());
        let bytes = self.receives.bytes_mut(slot);
        bytes.copy_within(start..start + more, start + received.len());
        bytes[start..start + received.len()].copy_from_slice(received);
    }

    /// Bytes of a datagram of `len` bytes, GRH included, that were received into a place.
    pub fn received_into(place: &Place, len: usize) -> usize {
        (GRH.start + len).saturating_sub(place.head().end).min(place.tail.range.len())
    }

    /// The first receive under way has ended; with a fragment of another rank, or with something else. Whether there had been
    /// no receive for what should have come before.
    pub fn note_received(&mut self, seen: Option<(Stream, Fragment)>) -> bool {
        self.prediction.complete(seen)
    }

    /// Whether a fragment comes in order behind the latest one if the first receive under way gets it.
    pub fn is_next(&self, stream: Stream, fragment: Fragment) -> bool {
        self.prediction.is_next(stream, fragment)
    }

    /// The first receives under way have ended with the fragments that [came in order](Self::is_next).
    pub fn note_run(&mut self, count: u32) {
        self.prediction.complete_run(count);
    }

    /// All completions before those that are taken note of next were known.
    pub fn know_all(&mut self) {
        self.prediction.know_all();
    }

    /// What the receive that is posted next will probably get; none while there is a flush.
    pub fn next_receive(&self) -> Option<(Stream, Fragment)> {
        self.prediction.next().filter(|_| self.idle.is_none())
    }

    /// Posts a receive again.
    #[inline]
    pub fn recycle(&mut self, slot: Slot) -> Result<()> {
        match &mut self.idle {
            None => self.post(slot),
            Some(idle) => {
                idle.push(slot);
                Ok(())
            }
        }
    }

    /// Posts a receive again, for the place of a fragment: only the header goes into the slot. While there is a flush, no
    /// place is [known](Self::next_receive).
    pub fn recycle_for(&mut self, slot: Slot, place: Place) -> Result<()> {
        let index = slot.index();
        let id = Work::DatagramReceive(index).id();
        let Tail { lease, range } = &place.tail;
        let head = (slot, place.head());
        self.qp.post_receive_with(head, (lease, range.clone()), id)?;
        self.receives_into[index as usize] = Some(place);
        self.prediction.post();
        Ok(())
    }

    /// Whether sends from a message's memory are under way.
    pub fn sends_from(&self, lease: &Arc<Lease>) -> bool {
        self.sends_from.iter().flatten().any(|one| Arc::ptr_eq(one, lease))
    }

    /// Ends all requests, so that their memory can be had back. Once their completions were taken and
    /// it [is flushed](Self::is_flushed), the QP can be [restarted](Self::restart).
    pub fn flush(&mut self) -> Result<()> {
        self.submit()?;
        self.idle.get_or_insert_default();
        self.qp.give_up()
    }

    /// Receives that are posted.
    pub fn posted_receives(&self) -> u64 {
        self.prediction.outstanding()
    }

    /// Puts the QP in the error state.
    pub fn give_up(&mut self) -> Result<()> {
        self.qp.give_up()
    }

    /// The QP has failed: it is flushed, and restarted when that [is due](Self::is_restart_due).
    pub fn fail(&mut self, now: Instant, what: &str) -> Result<()> {
        self.restarts.fail(now, what);
        self.flush()
    }

    /// A datagram came or left.
    pub fn note_work(&mut self) {
        if !self.is_flushing() {
            self.restarts.work();
        }
    }

    /// The failures of the QP, and when it is restarted after them.
    pub fn restarts(&self) -> &Restarts {
        &self.restarts
    }

    /// Whether all requests have ended, and the QP may be restarted now.
    pub fn is_restart_due(&self, now: Instant) -> bool {
        self.is_flushing() && self.is_flushed() && self.restarts.is_due(now)
    }

    /// Whether a flush is under way.
    pub fn is_flushing(&self) -> bool {
        self.idle.is_some()
    }

    /// Whether sends are under way.
    pub fn is_sending(&self) -> bool {
        self.outstanding.len() > 0
    }

    /// Whether no requests are under way.
    pub fn is_flushed(&self) -> bool {
        let sends = self.free.len() == self.send_depth && self.ring_room == self.ring_depth;
        sends && self.prediction.outstanding() == 0
    }

    /// Makes the QP work again, or another one in its place, and posts its receives. It is attached to its groups anew:
    /// some adapters may forget that when a QP is reset.
    pub fn restart(&mut self) -> Result<()> {
        self.groups.iter_mut().for_each(|(_, group)| group.detach());
        if let Err(refused) = self.reset() {
            self.replace()?;
            tracing::warn!("{refused}: the UD QP is another one now, {}", self.qp.number());
        }
        self.groups.iter_mut().try_for_each(|(_, group)| group.attach(&self.qp))?;
        let idle = self.idle.take().unwrap_or_default();
        idle.into_iter().try_for_each(|slot| self.post(slot))?;
        self.submit()
    }

    fn reset(&mut self) -> Result<()> {
        self.qp.reset()?;
        self.qp.ready_datagrams(self.at, self.qkey)
    }

    /// Takes a new QP: not every adapter lets one work again that has failed.
    fn replace(&mut self) -> Result<()> {
        let sends = (&self.sends, self.depths.send);
        let receives = (&self.receives, self.depths.receive);
        self.qp = QueuePair::datagram(&self.domain, &self.cq, sends, receives)?;
        self.qp.ready_datagrams(self.at, self.qkey)
    }
}

/// The QP number that stands for all QPs of a group.
const MULTICAST_QPN: u32 = 0xff_ffff;
