//! Turns completions into what communicators are told.

use super::event::{Body, Event};
use super::{Endpoint, failed};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::rc::{Fetcher, Request, Sender};
use crate::rdma::settings::GRH_LEN;
use crate::rdma::ud::{Datagram, Place};
use crate::rdma::work::Work;
use verbcast_core::protocol::{Counter, Via};
use verbcast_core::rank::{Fragment, OpId};
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::handshake::Message;
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, Packet, ProcessMessage, key_of, peek};
use verbcast_verbs::{Outcome, Slot};

impl Endpoint {
    /// Hands to the device what waits, and takes completions on behalf of a channel; whether there were any.
    /// A failure of the device is kept, and requests that it still ends are taken note of.
    pub fn pull(&mut self, by: ChannelId, now: Instant) -> bool {
        let mut failure = self.submit().err();
        let (mut batch, polled) = self.device.poll();
        let any = matches!(polled, Ok(true));
        failure = failure.or(polled.err());
        for completion in batch.drain(..) {
            if let Some(work) = Work::of_id(completion.id) {
                let outcome = self.complete(by, now, work, completion.outcome);
                failure = failure.or(outcome.err());
            }
        }
        self.device.give_back(batch);
        if let Some(failure) = failure {
            self.device.fail(failure);
        }
        any
    }

    fn complete(
        &mut self,
        by: ChannelId,
        now: Instant,
        work: Work,
        outcome: Outcome,
    ) -> Result<(), TransportError> {
        match work {
            Work::DatagramReceive(slot) => {
                // SAFETY: the completion at hand is the request's.
                let (mut slot, place) = unsafe { self.datagrams.arrived(slot) };
                let len = if let Outcome::Done(len) = outcome { len } else { 0 };
                let place = self.land(&mut slot, place, len);
                match outcome {
                    Outcome::Done(len) => return self.datagram(by, now, slot, len, place),
                    Outcome::Failed(_) => return self.recycle_datagram(slot),
                    Outcome::Flushed if self.datagrams.is_flushing() => {
                        return self.recycle_datagram(slot);
                    }
                    Outcome::Flushed => {}
                }
            }
            Work::Receive(slot) => {
                // SAFETY: as above.
                let slot = unsafe { self.connections.arrived(slot) };
                match outcome {
                    Outcome::Done(len) => return self.message(by, slot, len),
                    Outcome::Failed(_) => return self.connections.recycle(slot).map_err(failed),
                    Outcome::Flushed => {}
                }
            }
            Work::Datagram(number) => {
                // SAFETY: as above.
                while let Some((datagram, _)) = unsafe { self.datagrams.sent(number) } {
                    if let Datagram::Ring(channel, slot) = datagram {
                        self.channels.tell(channel, Event::RingSent { slot, delivered: None });
                    }
                }
                return self.check_sent(outcome);
            }
            Work::Request(process, number) => {
                while let Some((request, is_it)) = self.connections.ended(process, number) {
                    let is_done = match outcome {
                        Outcome::Done(_) => true,
                        // What was before it has not failed.
                        Outcome::Failed(_) => !is_it,
                        Outcome::Flushed => false,
                    };
                    // SAFETY: as above; a later request of a queue completes after all before it.
                    unsafe { self.ended(by, process, request, is_done) }?;
                }
                self.connections.start(process).map_err(failed)?;
                self.check_connection(process, outcome);
            }
            Work::Probe(process) => {
                for channel in self.connections.probed(process) {
                    let peer = self.channels.get(channel).and_then(|one| one.rank_of(process));
                    if let (Some(peer), Outcome::Done(_)) = (peer, &outcome) {
                        self.channels.tell(channel, Event::Alive { peer });
                    }
                }
                self.check_connection(process, outcome);
            }
        }
        Ok(())
    }

    /// A request over a connection has ended, well or not.
    ///
    /// # Safety
    /// A completion of the request was polled, or of a later one on its queue, and this is the first time that
    /// it is told.
    unsafe fn ended(
        &mut self,
        by: ChannelId,
        process: ProcessId,
        request: Request,
        is_done: bool,
    ) -> Result<(), TransportError> {
        match request {
            Request::Message(slot) => {
                // SAFETY: promised by the caller.
                let sender = unsafe { self.connections.sent(slot) };
                if let Some(Sender { channel, to, token }) = sender.filter(|_| is_done) {
                    self.channels.tell(channel, Event::Delivered { to, token });
                }
            }
            Request::Ring(channel, slot) => {
                let delivered = self.connections.ring_sent(process).filter(|_| is_done);
                self.channels.tell(channel, Event::RingSent { slot, delivered });
            }
            Request::Report(channel, counter) => {
                self.tell_reported(channel, process, counter, is_done);
            }
            Request::Fetch(buffer) => {
                // SAFETY: promised by the caller.
                let (slot, fetcher) = unsafe { self.connections.fetched(buffer) };
                self.fetched(by, slot, fetcher.filter(|_| is_done))?;
            }
        }
        Ok(())
    }

    /// Tells a channel that a report has ended.
    pub fn tell_reported(
        &mut self,
        channel: ChannelId,
        process: ProcessId,
        counter: Counter,
        is_told: bool,
    ) {
        let to = self.channels.get(channel).and_then(|one| one.rank_of(process));
        if let Some(to) = to {
            self.channels.tell(channel, Event::Reported { to, counter, is_told });
        }
    }

    /// A connection is unusable if a request over it has failed.
    fn check_connection(&mut self, process: ProcessId, outcome: Outcome) {
        match outcome {
            Outcome::Failed(reason) => self.broke(process, &reason),
            // The failure that it follows from was told.
            Outcome::Done(_) | Outcome::Flushed => {}
        }
    }

    /// A datagram has left, or the device is of no use.
    fn check_sent(&self, outcome: Outcome) -> Result<(), TransportError> {
        match outcome {
            Outcome::Failed(reason) => {
                Err(TransportError::Send { device: self.device.name().to_owned(), reason })
            }
            Outcome::Done(_) | Outcome::Flushed => Ok(()),
        }
    }

    /// The channel of a fragment that came from another rank, its header and what it tells of its length.
    fn fragment(&self, head: &[u8; HEADER_LEN]) -> Option<(ChannelId, Header, usize)> {
        let key = key_of(head)?;
        let id = self.channels.of_key(key)?;
        let (header, told) = peek(head, key)?;
        let is_other = self.channels.get(id).is_some_and(|one| one.rank() != header.source);
        (header.kind == Kind::Fragment && is_other).then_some((id, header, told))
    }

    /// The receive of a slot has ended, with a datagram of `len` bytes or none. What was received into a
    /// place stays there if it is what was expected, and then its place is returned; otherwise the
    /// datagram is made whole in its slot.
    fn land(
        &mut self,
        slot: &mut Slot,
        place: Option<Place>,
        len: usize,
    ) -> Option<(OpId, Fragment)> {
        let head = self.datagrams.bytes(slot, len.min(GRH_LEN + HEADER_LEN));
        let seen = head.first_chunk().and_then(|head| self.fragment(head));
        let told = seen.map(|(_, _, told)| told);
        let fragment = seen.map(|(id, header, _)| ((id, header.op), header.fragment));
        self.datagrams.note_received(fragment);
        let Place { stream, fragment: expected, tail } = place?;
        let (channel, op) = stream;
        let received = len.saturating_sub(GRH_LEN + HEADER_LEN).min(tail.range.len());
        let is_whole = received == tail.range.len() && told == Some(received);
        let is_it = is_whole && fragment == Some((stream, expected));
        let is_there = received > 0 && tail.lease.is_open();
        if !is_it && is_there {
            let start = tail.range.start;
            // SAFETY: the lease ends only by the channel that lent, which waits for this completion or
            // ends it while nobody else has the endpoint; the receive that could write here has ended,
            // and no other was posted for the same place.
            let payload = unsafe { tail.lease.bytes(start..start + received) };
            self.datagrams.move_in(slot, payload);
        }
        // SAFETY: the request's completion is at hand, and is told nowhere else.
        unsafe { tail.lease.completed() };
        if !is_it {
            let missed = Event::Missed { op, fragment: expected, moved: is_there };
            self.channels.tell(channel, missed);
        }
        is_it.then_some((op, expected))
    }

    fn recycle_datagram(&mut self, slot: Slot) -> Result<(), TransportError> {
        self.datagrams.recycle(slot, None).map_err(failed)
    }

    /// A datagram came, whose payload may be at the place of a fragment. Handshakes are the endpoint's own;
    /// the rest is handed on.
    fn datagram(
        &mut self,
        by: ChannelId,
        now: Instant,
        slot: Slot,
        len: usize,
        place: Option<(OpId, Fragment)>,
    ) -> Result<(), TransportError> {
        let bytes = self.datagrams.bytes(&slot, len);
        let Some(key) = bytes.first_chunk().and_then(key_of) else {
            self.channels.count_foreign();
            return self.recycle_datagram(slot);
        };
        if key == Key(self.site.address.incarnation) {
            let packet = Packet::parse(bytes, key).ok();
            let packet = packet.filter(|packet| packet.header().kind == Kind::Connect);
            let message = packet.and_then(|packet| Message::parse(packet.payload()).ok());
            self.recycle_datagram(slot)?;
            return message.map_or(Ok(()), |message| self.handle_handshake(now, &message));
        }
        match self.channels.of_key(key) {
            Some(channel) => {
                let body = Body::Datagram(slot, len);
                if self.channels.get(channel).is_none_or(|channel| !channel.is_open()) {
                    return self.free(body);
                }
                self.deliver(by, channel, Event::Packet { via: Via::Multicast, body, place })
            }
            None => {
                self.channels.count_foreign();
                self.recycle_datagram(slot)
            }
        }
    }

    /// A reliable message came.
    fn message(&mut self, by: ChannelId, slot: Slot, len: usize) -> Result<(), TransportError> {
        let bytes = self.connections.bytes(&slot, len);
        let key = bytes.first_chunk().and_then(key_of);
        if key == Some(Key(self.site.address.incarnation)) {
            let packet = Packet::parse(bytes, Key(self.site.address.incarnation)).ok();
            let message = packet.and_then(|packet| ProcessMessage::parse(packet.payload()).ok());
            if let Some(message) = message
                && let Some(process) = self.connections.of_incarnation(message.from())
            {
                self.connections.heard(process).map_err(failed)?;
                if let ProcessMessage::Inquiry(inquiry) = message {
                    self.handle_inquiry(process, &inquiry);
                }
            }
            return self.connections.recycle(slot).map_err(failed);
        }
        let Some(channel) = key.and_then(|key| self.channels.of_key(key)) else {
            self.channels.count_foreign();
            return self.connections.recycle(slot).map_err(failed);
        };
        if self.connections.are_opening()
            && let Some(one) = self.channels.get(channel)
            && let Ok(packet) = Packet::parse(bytes, one.key())
            && let Some(process) = one.processes().get(packet.header().source.index())
        {
            let process = *process;
            self.connections.heard(process).map_err(failed)?;
        }
        let body = Body::Message(slot, len);
        if self.channels.get(channel).is_none_or(|channel| !channel.is_open()) {
            let bytes = body.bytes(&self.pools()).to_vec();
            self.note_farewell(channel, &bytes);
            return self.free(body);
        }
        self.deliver(by, channel, Event::Packet { via: Via::Reliable, body, place: None })
    }

    /// A read has ended, well where there is a fetcher.
    fn fetched(
        &mut self,
        by: ChannelId,
        slot: Slot,
        fetcher: Option<Fetcher>,
    ) -> Result<(), TransportError> {
        let is_there =
            |one: &Fetcher| self.channels.get(one.channel).is_some_and(|one| one.is_open());
        match fetcher.filter(is_there) {
            Some(Fetcher { channel, from, token, len, span }) => {
                tracing::trace!(parent: &span, len, "has been read");
                let body = Body::Read(slot, len);
                self.deliver(by, channel, Event::Fetched { from, token, body })
            }
            None => {
                self.connections.recycle_fetched(slot);
                Ok(())
            }
        }
    }
}
