//! The messages that a communicator was lent, as the driver reaches them.
//!
//! A rank lets others write segments into a message that it was lent, for as long as it is lent. It posts no receives for
//! that message, so that the device writes nothing else there.

use super::RdmaTransport;
use super::loans::Loan;
use super::owned::Owned;
use crate::rdma::endpoint::failed;
use crate::rdma::memory::{Tail, remote};
use crate::rdma::rc::Sender;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_core::protocol::Token;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::transport::{LentMessages, Origin, Purpose, Transfer, TransportError};
use verbcast_core::wire::{HEADER_LEN, Region};
use verbcast_verbs::Remote;

impl LentMessages for RdmaTransport {
    fn lend(&mut self, op: OpId, mut message: Vec<u8>, purpose: Purpose) -> Option<Vec<u8>> {
        if !self.gains_by(message.len(), purpose) {
            return Some(message);
        }
        // SAFETY: the message becomes the loan's, which frees it after the lease has ended, and
        // touches it no earlier.
        if unsafe { self.accept(op, NonNull::from(&mut message[..]), purpose) }.is_none() {
            return Some(message);
        }
        self.loans.own(op, Owned::Vec(message));
        None
    }

    fn take_back(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.take_owned(op).map(Owned::into_vec)
    }

    fn lent(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        self.loans.bytes(op, range)
    }

    fn expose(&mut self, op: OpId) -> Option<Region> {
        let loan = self.loans.by_op.get_mut(&op)?;
        if loan.purpose != Purpose::Receive || !loan.settle() {
            return None;
        }
        let is_new = !loan.lease.is_exposed();
        let exposed = loan.lease.expose(&self.domain);
        let exposed =
            exposed.inspect_err(|error| tracing::debug!("{op} comes in packets: {error}"));
        let Remote { address, key } = exposed.ok()?;
        self.loans.counters.registrations += u64::from(is_new);
        Some(Region { address, key })
    }

    fn is_exposed(&self, op: OpId) -> bool {
        self.loans.by_op.get(&op).is_some_and(|loan| loan.lease.is_exposed())
    }

    fn can_write(&mut self, op: OpId) -> bool {
        self.loans.by_op.get_mut(&op).is_some_and(Loan::settle)
    }

    fn write(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        note: &[u8],
        (op, range): (OpId, Range<usize>),
        into: Region,
        token: Token,
    ) -> Result<(), TransportError> {
        if !self.is_usable(to)? {
            return Ok(());
        }
        let loan = self.loans.by_op.get(&op).ok_or_else(|| TransportError::NotLent(op))?;
        let there = remote(into).at(range.start);
        let tail = Tail { lease: Arc::clone(&loan.lease), range };
        let sender = Sender { channel: self.channel, to, token };
        let process = self.process(to);
        let mut endpoint = self.endpoint.hold();
        let written = endpoint.connections.write(process, (header, note), (tail, there), sender);
        match written.map_err(failed)? {
            true => Ok(()),
            false => Err(TransportError::NoRoom(format!("a write to {to}"))),
        }
    }

    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Transfer>, TransportError> {
        self.place_payload(op, range, from)
    }
}
