//! Broadcasts that are over as soon as they begin: [`Core::is_short`], and at their root [`Core::send_short`].

use super::rest::Rest;
use super::{Driver, Failure, Lent, LentBytes};
use crate::protocol::{Core, Packets, Run, Transmit, Via};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::transport::{Arrival, Transport, TransportError};
use crate::wire::{Malformed, Packet};

impl<C: Core, T: Transport> Driver<C, T> {
    /// Whether a broadcast of `len` bytes that `root` begins need not be [started](Self::start) if its message is the next thing
    /// that comes: then [`take_short`](Self::take_short) ends it.
    pub fn is_short(&self, now: Instant, root: Rank, len: usize) -> bool {
        self.transport.may_wait() && self.rests(now) && self.core.is_short(now, root, len as u64)
    }

    /// Whether nothing is known that is to be done before the next broadcast.
    fn rests(&self, now: Instant) -> bool {
        let is_disturbed = self.failure.is_some()
            || self.broken.is_some()
            || self.pending.is_some()
            || !self.connecting.is_empty();
        !is_disturbed && self.rest.lasts(now)
    }

    /// Multicasts the message of a broadcast of this rank, if that is over then; which broadcast it was. If not, it is to be
    /// [started](Self::start): now and then one is, so that this rank looks at what comes.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub fn send_short(&mut self, now: Instant, message: &[u8]) -> Result<Option<OpId>, Failure> {
        // What is kept may be of others' broadcasts before.
        let has_begun = self.held.has_begun(self.core.next_op().next());
        if !self.looked.is_recent() || !self.rests(now) || has_begun {
            return Ok(None);
        }
        let len = message.len() as u64;
        let fragment_len = self.core.fragment_len(len);
        let sent = self.core.send_short(now, self.looked.at, len, &self.transport);
        let Some((op, packets)) = sent else { return Ok(None) };
        self.transport.begin(op, fragment_len);
        let sent = self.multicast_short(now, op, packets, message);
        self.settle(sent).map(|()| Some(op))
    }

    fn multicast_short(
        &mut self,
        now: Instant,
        op: OpId,
        packets: Packets,
        message: &[u8],
    ) -> Result<(), TransportError> {
        let mut lent = Some(Lent { op, bytes: LentBytes::Send(message) });
        self.carry_out(Transmit::Retain { packets, is_multicast: true }, &mut lent)?;
        self.looked.sent();
        self.end_unbegun(op);
        self.in_flight += 1;
        self.watch.progress(now);
        self.transport.expect_reports(self.core.hears_reports());
        self.transport.submit()?;
        self.rest = Rest::Until(self.first_timeout());
        Ok(())
    }

    /// A broadcast is over that was not started.
    fn end_unbegun(&mut self, op: OpId) {
        self.left = op.next();
        // Nothing is expected of others, so nothing keeps the caller here.
        self.transport.reserve(0, self.left);
        self.statistics.operations += 1;
        self.statistics.short += 1;
    }

    /// Takes the message of a broadcast that [is short](Self::is_short), and was `called` when it was first looked for, if that is the
    /// next thing that comes; which broadcast it was. What comes instead is left to the next [`turn`](Self::turn).
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub fn take_short(
        &mut self,
        (now, called): (Instant, Instant),
        root: Rank,
        message: &mut [u8],
    ) -> Result<Option<OpId>, Failure> {
        let taken = self.try_short((now, called), root, message);
        self.settle(taken)
    }

    fn try_short(
        &mut self,
        (now, called): (Instant, Instant),
        root: Rank,
        message: &mut [u8],
    ) -> Result<Option<OpId>, TransportError> {
        let (op, first, fragment_len) = (self.core.next_op(), Fragment(0), message.len());
        let only = Run { op, source: root, first, count: 1, fragment_len };
        if self.held.finds_begun(op.next()) {
            let is_taken = self.take_held(&only, message)?;
            return Ok(is_taken.then(|| self.end_short((now, called), root, fragment_len)));
        }
        if self.transport.is_quiet(now) {
            return Ok(None);
        }
        if self.transport.take_only(&only, message)? {
            return Ok(Some(self.end_short((now, called), root, fragment_len)));
        }
        match self.transport.poll(now)? {
            Some(Arrival::Packet { via: Via::Multicast, buffer })
                if is_message(
                    self.transport.packet(&buffer, self.identity.key),
                    &only,
                    message,
                ) =>
            {
                self.transport.recycle(buffer)?;
                Ok(Some(self.end_short((now, called), root, fragment_len)))
            }
            None => Ok(None),
            other => {
                self.pending = other;
                self.rest = Rest::Disturbed;
                Ok(None)
            }
        }
    }

    /// Takes the message of the next broadcast, if it was kept, and nothing else of it or those before is in front of it; whether
    /// it did. If not, that is left to the next turn.
    fn take_held(&mut self, only: &Run, message: &mut [u8]) -> Result<bool, TransportError> {
        let key = self.identity.key;
        let is_first = self.held.front().is_some_and(|(via, stored)| {
            via == Via::Multicast && is_message(stored.packet(&self.transport, key), only, message)
        });
        let taken = if is_first { self.held.take_begun(only.op.next()) } else { None };
        match taken {
            Some((_, stored)) => self.give_back(stored).map(|()| true),
            None => {
                self.rest = Rest::Disturbed;
                Ok(false)
            }
        }
    }

    fn end_short(&mut self, (now, called): (Instant, Instant), root: Rank, len: usize) -> OpId {
        let fragment_len = self.core.fragment_len(len as u64);
        let op = self.core.handle_short(now, called, root, len as u64);
        self.transport.begin(op, fragment_len);
        self.end_unbegun(op);
        self.statistics.multicast_received += 1;
        self.rest = Rest::Until(self.first_timeout());
        op
    }
}

/// Whether a packet is all of a message, and nothing else. If so, that is copied.
fn is_message(packet: Result<Packet<'_>, Malformed>, only: &Run, message: &mut [u8]) -> bool {
    let Ok(packet) = packet else { return false };
    let is_it = only.is_all(packet.header(), packet.payload().len());
    if is_it {
        message.copy_from_slice(packet.payload());
    }
    is_it
}
