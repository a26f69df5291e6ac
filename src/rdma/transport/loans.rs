//! Messages whose memory the transport was lent.

use super::owned::Owned;
use super::places::Places;
use crate::rdma::endpoint::Incidents;
use crate::rdma::memory::{Source, Tail};
use crate::rdma::node::NodeCounters;
use std::iter::Sum;
use std::ops::Range;
use std::sync::Arc;
use verbcast_core::numbers::NumberMap;
use verbcast_core::rank::OpId;
use verbcast_core::transport::{Payload, Purpose, TransportError};
use verbcast_verbs::Lease;

/// What was done for messages without a copy, and with their memory; and what came for nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams received where another fragment was expected, and moved away.
    pub moved: u64,
    /// Flushes of the receive queue.
    pub receive_flushes: u64,
    /// Times that memory was registered.
    pub registrations: u64,
    /// Times that memory was found registered.
    pub registration_hits: u64,
    /// Packets of other communicators, or of no verbcast at all.
    pub foreign: u64,
    /// Packets with a wrong authentication code.
    pub forged: u64,
    /// Datagrams dropped because they came while nobody polled this communicator, and others of its
    /// endpoint were polled.
    pub overflowed: u64,
    /// Times that no receives were posted for what others multicast.
    pub ran_out: u64,
    /// What the endpoint has come through since this communicator was made.
    pub incidents: Incidents,
    /// What went through the memory of its node.
    pub node: NodeCounters,
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(all: I) -> Counters {
        all.fold(Counters::default(), |sum, one| Counters {
            moved: sum.moved + one.moved,
            receive_flushes: sum.receive_flushes + one.receive_flushes,
            registrations: sum.registrations + one.registrations,
            registration_hits: sum.registration_hits + one.registration_hits,
            foreign: sum.foreign + one.foreign,
            forged: sum.forged + one.forged,
            overflowed: sum.overflowed + one.overflowed,
            ran_out: sum.ran_out + one.ran_out,
            incidents: sum.incidents.and(one.incidents),
            node: sum.node.and(one.node),
        })
    }
}

/// A lent message.
#[derive(Debug)]
pub struct Loan {
    pub lease: Arc<Lease>,
    pub places: Places,
    pub purpose: Purpose,
    /// The message itself, where the transport owns it. Nobody looks at it before the lease has ended.
    pub owned: Option<Owned>,
}

impl Loan {
    /// Keeps what is here where it is: no receive is posted for it from now on. Whether none is, so that nobody writes it.
    pub fn settle(&mut self) -> bool {
        if self.places.armed() > 0 {
            return false;
        }
        self.places.close();
        true
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        // Before the message is freed.
        self.lease.end();
    }
}

/// All lent messages of a communicator.
#[derive(Debug, Default)]
pub struct Loans {
    pub by_op: NumberMap<OpId, Loan>,
    pub counters: Counters,
}

impl Loans {
    /// Has the message of `op`, which was lent, with its memory.
    pub fn own(&mut self, op: OpId, message: Owned) {
        if let Some(loan) = self.by_op.get_mut(&op) {
            loan.owned = Some(message);
        }
    }

    /// A part of a lent message that is here.
    pub fn bytes(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        let loan = self.by_op.get(&op)?;
        // SAFETY: the lease ends when the loan is removed, which needs `self` alone. A part that is
        // here is not written any more: its place is taken, so that no receive is posted for it; and
        // if one was posted before, the part is in the stash.
        let in_place = || unsafe { loan.lease.bytes(range.clone()) };
        Some(loan.places.stashed(&range).unwrap_or_else(in_place))
    }

    /// A payload that is here, to be sent.
    pub fn source<'a>(&'a self, payload: Payload<'a>) -> Result<Source<'a>, TransportError> {
        let (op, range) = match payload {
            Payload::Bytes(bytes) => return Ok(Source::Bytes(bytes)),
            Payload::Lent(op, range) => (op, range),
        };
        let loan = self.by_op.get(&op).ok_or_else(|| TransportError::NotLent(op))?;
        Ok(match loan.places.stashed(&range) {
            Some(bytes) => Source::Bytes(bytes),
            None => Source::Place(Tail { lease: Arc::clone(&loan.lease), range }),
        })
    }

    /// The bytes of a payload that is here.
    pub fn bytes_of<'a>(&'a self, payload: &Payload<'a>) -> Result<&'a [u8], TransportError> {
        match payload {
            Payload::Bytes(bytes) => Ok(bytes),
            Payload::Lent(op, range) => {
                self.bytes(*op, range.clone()).ok_or_else(|| TransportError::NotLent(*op))
            }
        }
    }
}
