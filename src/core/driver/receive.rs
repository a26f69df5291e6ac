//! Takes what the transport reports, and hands it to the core.

use super::held::{Early, Stored};
use super::{Driver, Failure, FailureKind, Lent};
use crate::protocol::{Core, Disposition, Incoming, Token, Via};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::transport::{
    Arrival, Buffer, LentMessages, Origin, Transfer, Transport, TransportError,
};
use crate::wire::{Header, Kind, Malformed, Notice, Offer, Written};
use std::ops::Range;

/// Reports taken from the transport in one turn, so that a flood cannot keep a turn from ending.
const ARRIVALS_PER_TURN: u32 = 256;

impl<C: Core, T: Transport> Driver<C, T> {
    pub(super) fn receive(
        &mut self,
        now: Instant,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<bool, TransportError> {
        let mut worked = false;
        while let Some((via, stored)) = self.held.take_begun(self.core.next_op()) {
            worked = true;
            self.progressed = true;
            self.receive_packet(now, via, stored, lent)?;
        }
        if worked {
            // That may be all that the caller waits for. The transport is asked in the next turn.
            return Ok(true);
        }
        let waits = !self.core.has_all() && self.transport.may_wait();
        let mut left = ARRIVALS_PER_TURN;
        // What comes behind the last that is needed is mostly of broadcasts that have not begun: it need not be kept for them.
        while left > 0 && !(waits && self.core.has_all()) {
            let taken = self.receive_run(now, left, lent)?;
            if taken > 0 {
                worked = true;
                left -= taken;
                continue;
            }
            left -= 1;
            let Some(arrival) = self.next_arrival(now)? else { break };
            self.progressed |= is_progress(&arrival);
            match arrival {
                Arrival::Packet { via, buffer } => {
                    self.receive_packet(now, via, Stored::Buffer(buffer), lent)?;
                }
                Arrival::Delivered { to, token } => {
                    self.paid(to, token.kind);
                    self.core.handle_delivered(now, to, token);
                }
                Arrival::Reported { from, counter, value } => {
                    self.core.handle_report(now, from, counter, value);
                }
                Arrival::WriteAcked { to, counter } => {
                    self.core.handle_write_acked(now, to, counter)
                }
                Arrival::Fetched { from, token, buffer } => {
                    self.receive_fetched(now, from, token, buffer, lent)?;
                }
                Arrival::Broken { peer, reason } => {
                    self.core.handle_broken(now, peer);
                    self.broke(peer, reason);
                }
                Arrival::Alive { .. } => continue,
            }
            worked = true;
        }
        Ok(worked)
    }

    pub(super) fn next_arrival(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        match self.pending.take() {
            Some(arrival) => Ok(Some(arrival)),
            None => self.transport.poll(now),
        }
    }

    /// Takes the next fragments of a message, so many at most, if they came one behind the other; how many.
    fn receive_run(
        &mut self,
        now: Instant,
        most: u32,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<u32, TransportError> {
        let Some(run) = self.core.coming(now).filter(|_| self.pending.is_none()) else {
            return Ok(0);
        };
        let run = run.up_to(most);
        let message = self.messages.get_mut(lent, run.op);
        let count = self.transport.take_run(&run, message.map(|bytes| &mut bytes[run.range()]))?;
        if count > 0 {
            self.progressed = true;
            self.statistics.multicast_received += u64::from(count);
            self.core.handle_run(now, count);
        }
        Ok(count)
    }

    fn receive_packet(
        &mut self,
        now: Instant,
        via: Via,
        stored: Stored,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<(), TransportError> {
        let packet = match stored.packet(&self.transport, self.identity.key) {
            Ok(packet) => packet,
            Err(malformed) => return self.drop_malformed(stored, &malformed),
        };
        let header = *packet.header();
        if !via.admits(&header, self.identity.size) {
            return self.reject(stored);
        }
        if header.source == self.identity.rank {
            // Multicast comes back to its sender, unless the transport keeps it from that.
            return self.give_back(stored);
        }
        let incoming = incoming(via, &header, packet.payload().len());
        match header.kind {
            Kind::Abort => return self.receive_abort(stored),
            Kind::Bye => return self.receive_farewell(now, &header, stored),
            Kind::Offer => return self.receive_offer(now, incoming, &header, stored),
            Kind::Written => return self.receive_written(now, incoming, &header, stored),
            _ => {}
        }
        let disposition = self.core.handle_packet(now, &incoming);
        if let Disposition::Place(range) = &disposition {
            match self.messages.get_mut(lent, header.op) {
                Some(message) => message[range.clone()].copy_from_slice(packet.payload()),
                None => self.place(header.op, range.clone(), stored.origin())?,
            }
        }
        self.end(via, &header, &disposition, stored)
    }

    /// What the core has decided of a packet is done, but for keeping it.
    fn end(
        &mut self,
        via: Via,
        header: &Header,
        disposition: &Disposition,
        stored: Stored,
    ) -> Result<(), TransportError> {
        if *disposition == Disposition::Hold {
            return self.hold(via, header, stored);
        }
        self.progressed |= matches!(disposition, Disposition::Place(_) | Disposition::InPlace(_));
        self.count(via, disposition);
        self.give_back(stored)
    }

    /// Keeps a packet of an operation that has not begun here, if it may be kept.
    fn hold(&mut self, via: Via, header: &Header, stored: Stored) -> Result<(), TransportError> {
        let Ok(packet) = stored.packet(&self.transport, self.identity.key) else {
            return self.reject(stored);
        };
        let (is_copy, may_stay) = match &stored {
            Stored::Copy(..) => (true, false),
            Stored::Buffer(buffer) => (false, self.transport.may_stay(buffer)),
        };
        let early = self.held.admit(via, &packet, is_copy, may_stay);
        self.progressed |= early != Early::Refused;
        self.statistics.overflowed = self.held.refused();
        match early {
            Early::Kept => {
                self.held.keep(via, header, stored);
                Ok(())
            }
            Early::Copied | Early::Refused => self.give_back(stored),
        }
    }

    #[cold]
    fn drop_malformed(
        &mut self,
        stored: Stored,
        malformed: &Malformed,
    ) -> Result<(), TransportError> {
        match malformed {
            Malformed::Foreign => self.statistics.foreign += 1,
            Malformed::Damaged => self.statistics.damaged += 1,
            Malformed::Forged => self.statistics.forged += 1,
        }
        self.give_back(stored)
    }

    /// A rank has failed, or has heard of one that has.
    fn receive_abort(&mut self, stored: Stored) -> Result<(), TransportError> {
        let packet = stored.packet(&self.transport, self.identity.key);
        let notice = packet.ok().and_then(|packet| Notice::parse(packet.payload()).ok());
        self.give_back(stored)?;
        self.hear_failure(notice);
        Ok(())
    }

    /// A rank has left in good order.
    fn receive_farewell(
        &mut self,
        now: Instant,
        header: &Header,
        stored: Stored,
    ) -> Result<(), TransportError> {
        self.departed.insert(header.source);
        self.needs_no_notice(header.source);
        self.transport.disconnect(now, header.source);
        self.core.handle_departed(now, header.source, header.op);
        self.give_back(stored)
    }

    /// A rank tells where its message is, to be written there.
    fn receive_offer(
        &mut self,
        now: Instant,
        mut incoming: Incoming,
        header: &Header,
        stored: Stored,
    ) -> Result<(), TransportError> {
        // What can be sent on from where it is stays there from now on, so the transport is changed.
        let can_write = self.transport.messages_mut().can_write(header.op);
        let packet = stored.packet(&self.transport, self.identity.key);
        let offer = packet.ok().and_then(|packet| Offer::parse(packet.payload()).ok());
        let Some(offer) = offer else { return self.reject(stored) };
        incoming.memory = offer.memory.filter(|_| can_write);
        let disposition = self.core.handle_packet(now, &incoming);
        self.end(incoming.via, header, &disposition, stored)
    }

    /// A rank has written a part of a message here.
    fn receive_written(
        &mut self,
        now: Instant,
        mut incoming: Incoming,
        header: &Header,
        stored: Stored,
    ) -> Result<(), TransportError> {
        let packet = stored.packet(&self.transport, self.identity.key);
        let note = packet.ok().and_then(|packet| Written::parse(packet.payload()).ok());
        let note = note.filter(|_| self.transport.messages().is_exposed(header.op));
        let Some(note) = note else { return self.reject(stored) };
        incoming.payload_len = note.len as usize;
        let disposition = self.core.handle_packet(now, &incoming);
        if let Disposition::InPlace(range) = &disposition {
            let here = self.transport.messages().lent(header.op, range.clone());
            if !here.is_some_and(|here| note.is_of(here)) {
                let Header { op, source: rank, .. } = *header;
                let reason = format!("what it wrote of {op} is not what came there");
                self.fail(Failure::new(rank, FailureKind::Erroneous, reason));
            }
        }
        self.end(incoming.via, header, &disposition, stored)
    }

    /// A fetch has read a slot, which may have held anything: what is hoped for, or what was there before or comes after it.
    fn receive_fetched(
        &mut self,
        now: Instant,
        from: Rank,
        token: Token,
        buffer: Buffer,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<(), TransportError> {
        let found = self.transport.packet(&buffer, self.identity.key).ok();
        let wanted = found.filter(|packet| {
            let Header { kind, op, fragment, source, .. } = *packet.header();
            (Token { kind, op, fragment }) == token && source == from
        });
        match wanted {
            Some(packet) => {
                self.progressed = true;
                let incoming = incoming(Via::Fetched, packet.header(), packet.payload().len());
                let disposition = self.core.handle_packet(now, &incoming);
                if let Disposition::Place(range) = &disposition {
                    match self.messages.get_mut(lent, token.op) {
                        Some(message) => message[range.clone()].copy_from_slice(packet.payload()),
                        None => self.place(token.op, range.clone(), Origin::Received(&buffer))?,
                    }
                }
                self.count(Via::Fetched, &disposition);
            }
            None => {
                self.statistics.missed += 1;
                self.core.handle_missed(now, from, token);
            }
        }
        self.transport.recycle(buffer)
    }

    /// Puts a payload into a message that was lent to the transport.
    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<(), TransportError> {
        let placed = self.transport.messages_mut().place(op, range, from)?;
        self.statistics.received_in_place += u64::from(placed == Some(Transfer::InPlace));
        Ok(())
    }

    fn reject(&mut self, stored: Stored) -> Result<(), TransportError> {
        self.statistics.rejected += 1;
        self.give_back(stored)
    }

    pub(super) fn give_back(&mut self, stored: Stored) -> Result<(), TransportError> {
        match stored {
            Stored::Buffer(buffer) => self.transport.recycle(buffer),
            Stored::Copy(_, copy) => {
                self.held.give_back(copy);
                Ok(())
            }
        }
    }

    fn count(&mut self, via: Via, disposition: &Disposition) {
        let statistics = &mut self.statistics;
        match via {
            Via::Multicast => statistics.multicast_received += 1,
            Via::Reliable => statistics.reliable_received += 1,
            Via::Fetched => statistics.fetched += 1,
        }
        match disposition {
            Disposition::Place(_) => statistics.repaired += u64::from(via != Via::Multicast),
            Disposition::InPlace(_) => {
                statistics.repaired += 1;
                statistics.received_in_place += 1;
            }
            Disposition::Redundant => statistics.redundant += 1,
            Disposition::Duplicate => statistics.duplicates += 1,
            Disposition::Late => statistics.late += 1,
            Disposition::Reject => statistics.rejected += 1,
            Disposition::Consumed | Disposition::Hold => {}
        }
    }
}

/// Whether an arrival shows by itself that others go on. An answer does not, nor does a fetch, which may find nothing, nor a
/// datagram, which anybody may record and send again: what is done with these tells.
fn is_progress(arrival: &Arrival) -> bool {
    let tells_later = matches!(
        arrival,
        Arrival::Alive { .. }
            | Arrival::Fetched { .. }
            | Arrival::Packet { via: Via::Multicast, .. }
    );
    !tells_later
}

fn incoming(via: Via, header: &Header, payload_len: usize) -> Incoming {
    let Header { kind, source, op, fragment, message_len, report, asks, .. } = *header;
    let memory = None;
    Incoming { via, source, kind, op, fragment, message_len, payload_len, report, asks, memory }
}
