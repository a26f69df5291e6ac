//! Segments of long messages, which are written from the memory of one rank into that of the next.
//!
//! A rank lets others write into a message that it was lent, for as long as it is lent. It posts no receives for that
//! message, so that the device writes nothing else there.

use super::RdmaTransport;
use crate::rdma::endpoint::failed;
use crate::rdma::memory::{Tail, remote};
use crate::rdma::rc::Sender;
use std::ops::Range;
use std::sync::Arc;
use verbcast_core::protocol::Token;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::transport::{Purpose, TransportError};
use verbcast_core::wire::{HEADER_LEN, Region};
use verbcast_verbs::Remote;

impl RdmaTransport {
    /// Lets others write into a message until it is given back.
    pub(super) fn expose_message(&mut self, op: OpId) -> Option<Region> {
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

    /// Writes a part of a message into the memory of a rank, and says so.
    pub(super) fn write_part(
        &mut self,
        to: Rank,
        packet: (&[u8; HEADER_LEN], &[u8]),
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
        let written = endpoint.connections.write(process, packet, (tail, there), sender);
        match written.map_err(failed)? {
            true => Ok(()),
            false => Err(TransportError::NoRoom(format!("a write to {to}"))),
        }
    }
}
