//! What is received, and the way of a datagram to the memory of its message. A message is lent to the transport while a
//! broadcast sends it from, or receives it into, the memory of the program; a payload may then be received where it
//! belongs. The way stops eight times. The fifth, `RdmaTransport::poll`, takes one completion after the other through stops
//! one to four, until its communicator is told something:
//!
//! 1. [`Endpoint::next_packet`] (`complete.rs`) takes its completion, of those that [`Endpoint::pump`] has polled
//!    (`ibv_poll_cq`, in `src/verbs/completion.rs`).
//! 2. [`Endpoint::receive_datagram`] (here) parses its header, unchecked as yet, or makes it of a compact one
//!    (`compact.rs`), and finds its communicator by the key or the tag, if it may come from such a rank by multicast. A
//!    fragment that this rank has multicast itself ends here; and what has a wrong authentication code, where there are any
//!    (`authenticity.rs`), after the next stop.
//! 3. [`Endpoint::verify_place`] (here) keeps its payload where it was received, if that is the place of this fragment
//!    in a lent message and intact; else it moves it behind the header. What is not intact foretells nothing.
//! 4. What is intact and in its slot comes into the communicator's table of received packets at once, if it is the one that
//!    polls and waits for nothing else. [`Endpoint::deliver`] (`deliver.rs`) puts all else into the inbox of the communicator: by
//!    a copy, if that does not poll now and receives get short. An inbox that is full drops it, which counts as loss.
//! 5. `RdmaTransport::poll` (`../transport/poll.rs`, `absorb.rs`) enters what is in the inbox into that table too; the driver
//!    gets its number there. The fault injector may lose it here.
//! 6. `Driver::receive_packet` (`src/core/driver/receive.rs`) checks what is not known to be intact, and asks
//!    the protocol where the payload belongs. What comes before its broadcast has begun is held, and asked about again when it has.
//! 7. `RdmaTransport::place` (`../transport/direct_placement.rs`) copies it there, unless it was received there; where
//!    another datagram may still be received there, it is stashed until that has ended. The driver itself fills a message
//!    that the transport does not have.
//! 8. `RdmaTransport::recycle` (`../transport/packets.rs`) takes the slot back, to be posted with the next ones for the place
//!    of the fragment that it will probably get.
//!
//! Fragments that are the next ones of a [run](super::run), and one that is the [only](super::only) one of the message that is waited
//! for, go past all stops but the first and the last. What mates of a node have published is taken before any completion
//! (`node.rs`), and goes on from the fourth stop, or past all in the same cases.

use super::event::{Body, Event};
use super::rx_table::{RxPacket, RxTable};
use super::{Endpoint, failed};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::ud::{Extent, Place, Stream, UdPort};
use verbcast_core::protocol::Via;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{Buffer, TransportError};
use verbcast_core::wire::{Checks, Compact, Header, Key, Kind, ProcessMessage, RawHeader};
use verbcast_verbs::{Origin, Outcome, Slot};

/// A receive that has ended.
#[derive(Debug)]
pub struct Received {
    pub slot: Slot,
    pub outcome: Outcome,
    /// What came along with it.
    pub compact: Option<Compact>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Endpoint {
    /// A receive has ended, which may have been for the place of a fragment. Handshakes and relocations
    /// are the endpoint's own; the rest is handed on.
    pub(super) fn receive_datagram(
        &mut self,
        by: ChannelId,
        now: Instant,
        (received, place): (Received, Option<Place>),
        table: Option<&mut RxTable>,
    ) -> Result<Option<Buffer>, TransportError> {
        let Received { mut slot, outcome, compact, origin } = received;
        let Outcome::Done(len) = outcome else {
            return self.end_receive(now, slot, &outcome, place).map(|()| None);
        };
        let extent = Extent::new(len, compact.is_some());
        // Where a place was for the payload of the other kind of header, this one is in its place or behind.
        let place = match place {
            Some(place) if place.is_compact != compact.is_some() => {
                self.leave_place(&mut slot, place, len);
                None
            }
            place => place,
        };
        let (header, channel) = match compact {
            Some(compact) => {
                let sender = self.datagrams.sender(&slot, origin);
                self.expand(compact, sender, extent.payload_len()).unzip()
            }
            None => {
                let header = RawHeader::parse(self.datagrams.bytes(&slot, extent));
                let channel = header.and_then(|one| self.channels.receiver(Via::Multicast, &one));
                (header, channel)
            }
        };
        let (Some(header), Some(channel)) = (header, channel) else {
            if let Some(place) = place {
                self.leave_place(&mut slot, place, len);
            }
            return self.receive_other(now, (slot, extent), header).map(|()| None);
        };
        let is_from_here = self.is_from_here(channel, &header);
        // Most of what a root receives.
        if place.is_none() && is_from_here {
            self.datagrams.note_received(None);
            self.datagrams.note_work();
            return self.recycle_datagram(slot).map(|()| None);
        }
        let Header { kind, op, fragment, .. } = *header.unchecked();
        let is_fragment = kind == Kind::Fragment && !is_from_here;
        let fragment = is_fragment.then_some(((channel, op), fragment));
        let place = place.and_then(|place| {
            let came = fragment.map(|fragment| (fragment, header));
            self.verify_place(&mut slot, place, (len, extent), came)
        });
        // Only fragments foretell something; where there are codes, nothing is believed without.
        let is_to_check = is_fragment || (self.keys.is_some() && !is_from_here);
        let is_whole = || {
            let parts = self.datagrams.bytes(&slot, extent).split_first_chunk();
            parts.is_some_and(|(head, rest)| self.is_right(channel, &header, head, rest))
        };
        let is_intact = place.is_some() || (is_to_check && (compact.is_some() || is_whole()));
        let ran_out = self.datagrams.note_received(fragment.filter(|_| is_intact));
        self.datagrams.note_work();
        if kind == Kind::Probe {
            self.learn_sender(channel, &header, (&slot, extent), origin);
        }
        let (mut is_open, mut is_next) = (false, false);
        if let Some(own) = self.channels.get_mut(channel) {
            if ran_out {
                own.inbox.run_out();
            }
            (is_open, is_next) = (own.is_open(), own.inbox.is_empty());
        }
        if !is_open || is_from_here {
            return self.recycle_datagram(slot).map(|()| None);
        }
        if self.keys.is_some() && !is_intact {
            self.channels.count_forged();
            return self.recycle_datagram(slot).map(|()| None);
        }
        if place.is_none() && (is_intact || !is_to_check) {
            self.hand_on_from(channel, (&slot, extent), &header);
        }
        let body = Body::Datagram(slot, extent);
        if let Some(table) = table
            && is_next
            && by == channel
            && is_intact
            && is_fragment
            && place.is_none()
        {
            let header = Some(header);
            return Ok(Some(table.put(RxPacket { header, checks: None, body, in_place: None })));
        }
        let via = Via::Multicast;
        self.deliver(by, channel, Event::Packet { via, header, is_intact, body, place })?;
        Ok(None)
    }

    /// A receive has ended without a datagram.
    #[cold]
    fn end_receive(
        &mut self,
        now: Instant,
        mut slot: Slot,
        outcome: &Outcome,
        place: Option<Place>,
    ) -> Result<(), TransportError> {
        if let Some(place) = place {
            self.leave_place(&mut slot, place, 0);
        }
        self.datagrams.note_received(None);
        self.check_datagrams(now, outcome)?;
        self.recycle_datagram(slot)
    }

    /// A datagram came that is for no communicator here: for this process, or from strangers.
    fn receive_other(
        &mut self,
        now: Instant,
        (slot, extent): (Slot, Extent),
        header: Option<RawHeader>,
    ) -> Result<(), TransportError> {
        self.datagrams.note_received(None);
        self.datagrams.note_work();
        match header {
            Some(header) if self.is_own(&header) => {
                let message = self.process_message(&header, self.datagrams.bytes(&slot, extent));
                self.note_forged(&message);
                self.recycle_datagram(slot)?;
                match message {
                    Ok((Kind::Connect, ProcessMessage::Handshake(message))) => {
                        self.handle_handshake(now, &message)
                    }
                    Ok((Kind::Connect, ProcessMessage::Relocation(news))) => {
                        self.handle_relocation(&news)
                    }
                    // Others come over connections only.
                    _ => Ok(()),
                }
            }
            // A handshake of others, which went to the group.
            Some(header) if header.unchecked().kind == Kind::Connect => self.recycle_datagram(slot),
            _ => {
                self.channels.count_foreign();
                self.recycle_datagram(slot)
            }
        }
    }

    /// Whether a packet is for this process, rather than for a communicator.
    fn is_own(&self, header: &RawHeader) -> bool {
        header.unchecked().key == Key(self.site.address.incarnation)
    }

    /// A receive for the place of a fragment has ended, with a datagram of `len` bytes or none; what came seems to be a
    /// fragment. The payload stays in its place if it is what was expected there and intact, and then the place
    /// is returned; otherwise the datagram is made whole in its slot.
    ///
    /// Where payloads are not checked, a datagram of another broadcast is still known by its header, and overwrites
    /// nothing: a place for which a receive is posted has no bytes of its fragment yet, which wait in the stash.
    fn verify_place(
        &mut self,
        slot: &mut Slot,
        place: Place,
        (len, extent): (usize, Extent),
        came: Option<((Stream, Fragment), RawHeader)>,
    ) -> Option<(OpId, Fragment)> {
        let Place { stream, fragment, ref tail, is_compact } = place;
        let (channel, op) = stream;
        let received = UdPort::received_into(&place, len);
        let is_expected = |(came, header): ((Stream, Fragment), RawHeader)| {
            let is_whole = received == tail.range.len() && header.payload_len() == received;
            (is_whole && came == (stream, fragment)).then_some(header)
        };
        let (Some(header), true) = (came.and_then(is_expected), tail.lease.is_open()) else {
            self.leave_place(slot, place, len);
            return None;
        };
        // SAFETY: the lease ends only by the channel that lent, which waits for this completion or
        // ends it while nobody else has the endpoint; the receive that could write here has ended,
        // and no other was posted for the same place.
        let payload = unsafe { tail.lease.bytes(tail.range.clone()) };
        if !is_compact {
            let head = self.datagrams.bytes(slot, extent).first_chunk().copied();
            let intact = head.filter(|head| self.is_right(channel, &header, head, payload));
            let Some(head) = intact else {
                self.leave_place(slot, place, len);
                return None;
            };
            self.hand_on(channel, &head, payload);
        } else if self.node(channel).is_some() {
            self.hand_on(channel, &header.unchecked().emit(payload, false), payload);
        }
        // SAFETY: the request's completion is at hand, and is told nowhere else.
        unsafe { tail.lease.completed() };
        Some((op, fragment))
    }

    /// A receive for the place of a fragment has ended with something else, which is made whole in its slot.
    fn leave_place(&mut self, slot: &mut Slot, place: Place, len: usize) {
        let (tail, received) = (&place.tail, UdPort::received_into(&place, len));
        let moved = received > 0 && tail.lease.is_open();
        if moved {
            let start = tail.range.start;
            // SAFETY: as in `verify_place`.
            let received = unsafe { tail.lease.bytes(start..start + received) };
            self.datagrams.move_in(slot, &place, received, len);
        }
        // SAFETY: as there; each place comes to one of the two ends.
        unsafe { tail.lease.completed() };
        let ((channel, op), fragment) = (place.stream, place.fragment);
        self.channels.tell(channel, Event::Missed { op, fragment, moved });
    }

    /// Whether a packet seems to be one that this rank has multicast, or a node mate, who has published it: it comes back,
    /// and nobody has a use for it. A rank without mates lets its probes through.
    fn is_from_here(&self, channel: ChannelId, header: &RawHeader) -> bool {
        let Header { kind, source, .. } = *header.unchecked();
        self.channels.get(channel).is_some_and(|channel| {
            (kind == Kind::Fragment || channel.node.is_some()) && channel.is_local(source)
        })
    }

    fn recycle_datagram(&mut self, slot: Slot) -> Result<(), TransportError> {
        self.datagrams.recycle(slot).map_err(failed)
    }

    /// A reliable message came.
    pub(super) fn receive_message(
        &mut self,
        by: ChannelId,
        slot: Slot,
        len: usize,
    ) -> Result<(), TransportError> {
        let bytes = self.connections.bytes(&slot, len);
        let header = RawHeader::parse(bytes);
        let channel = header.and_then(|header| self.channels.receiver(Via::Reliable, &header));
        let (header, channel) = match (header, channel) {
            (Some(header), Some(channel)) => (header, channel),
            (Some(header), None) if self.is_own(&header) => {
                let message = self.process_message(&header, bytes);
                self.note_forged(&message);
                if let Ok((_, message)) = message {
                    self.receive_process_message(&message)?;
                }
                return self.connections.recycle(slot).map_err(failed);
            }
            _ => {
                self.channels.count_foreign();
                return self.connections.recycle(slot).map_err(failed);
            }
        };
        if self.is_forged(channel, &header, bytes) {
            self.channels.count_forged();
            return self.connections.recycle(slot).map_err(failed);
        }
        let is_intact = self.keys.is_some();
        if self.connections.are_opening()
            && (is_intact || header.check(bytes, Checks::Whole).is_ok())
            && let Some(process) = self.process(channel, header.unchecked().source)
        {
            self.connections.heard(process).map_err(failed)?;
        }
        let Header { kind, op, .. } = *header.unchecked();
        if kind == Kind::Fragment {
            self.reserved.arrived(channel, op);
        }
        let body = Body::Message(slot, len);
        if self.channels.get(channel).is_none_or(|channel| !channel.is_open()) {
            self.note_farewell(channel, &header, is_intact, &body);
            return self.free(body);
        }
        let (via, place) = (Via::Reliable, None);
        self.deliver(by, channel, Event::Packet { via, header, is_intact, body, place })
    }

    /// A message of a process came, which concerns no communicator or one that is closed.
    fn receive_process_message(&mut self, message: &ProcessMessage) -> Result<(), TransportError> {
        // It may be another process that tells of it.
        if let ProcessMessage::Relocation(news) = message {
            self.learn_relocation(news);
            return Ok(());
        }
        let process = self.connections.of_incarnation(message.from());
        let Some(process) = process else { return Ok(()) };
        self.connections.heard(process).map_err(failed)?;
        if let ProcessMessage::Inquiry(inquiry) = message {
            self.handle_inquiry(process, inquiry);
        }
        Ok(())
    }

    /// The process of a rank of a channel.
    pub(super) fn process(&self, channel: ChannelId, rank: Rank) -> Option<ProcessId> {
        self.channels.get(channel)?.processes().get(rank.index()).copied()
    }

    /// Takes note if a reliable message to a channel is the last of its sender.
    pub(super) fn note_farewell(
        &mut self,
        id: ChannelId,
        header: &RawHeader,
        is_intact: bool,
        body: &Body,
    ) {
        if is_farewell(header)
            && let Ok(packet) = body.check(header, is_intact, &self.pools())
        {
            self.farewell(id, packet.header().source);
        }
    }

    /// A rank has said its last to a channel.
    pub fn farewell(&mut self, id: ChannelId, from: Rank) {
        if let Some(process) = self.process(id, from) {
            self.channels.set_done(id, process);
        }
    }
}

/// Whether a packet seems to be the last of its sender.
pub fn is_farewell(header: &RawHeader) -> bool {
    matches!(header.unchecked().kind, Kind::Bye | Kind::Abort)
}
