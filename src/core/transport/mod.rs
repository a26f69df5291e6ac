//! The seam between a driver and whatever carries its packets: real verbs or a simulation.
//!
//! A transport never waits. Its capacity is visible through [`Room`], so that back-pressure stays
//! in the driver; a received buffer belongs to the caller until it is recycled; a receive queue
//! that overflows loses datagrams, and loss is normal.
//!
//! A transport may have been lent the memory of an operation's message, to send from it and to receive
//! into it without a copy: its [`LentMessages`]. Then the memory is reached through these alone until it is given back.

mod arrival;
mod error;
mod faults;
mod faulty;
mod lent;
mod liveness;
#[cfg(test)]
mod notes;
mod payload;
mod rails;
mod reserved;

pub use arrival::{Arrival, Buffer};
pub use error::TransportError;
pub use faults::{FaultError, Faults};
pub use faulty::Faulty;
pub use lent::LentMessages;
pub use liveness::Liveness;
pub use payload::{Origin, Payload, Purpose, Transfer};
pub use rails::Rails;
pub use reserved::Reserved;

use crate::protocol::{Counter, Room, Run, Token};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::wire::{HEADER_LEN, Key, Malformed, Packet};
use std::time::Duration;

/// Carries packets between the ranks of one communicator. What is asked for may wait, so that more of it
/// goes out together, until it is [submitted](Transport::submit) or a [`poll`](Transport::poll) has nothing to
/// report.
pub trait Transport: Room + Liveness {
    /// What holds the messages that are lent: the transport itself, or the one behind it.
    type Messages: LentMessages;

    /// The messages that are lent, to look at.
    fn messages(&self) -> &Self::Messages;

    /// The same, to lend one or to reach into it.
    fn messages_mut(&mut self) -> &mut Self::Messages;

    /// This rank has come to an operation, which has fragments of so many bytes: what comes of others is of ones near it. If
    /// its message is lent, that is next. Called once for the first operation before anything comes, and again as each
    /// begins. By default it does nothing.
    fn begin(&mut self, _op: OpId, _fragment_len: usize) {}

    /// Sends a datagram to the group.
    ///
    /// # Errors
    /// If the device fails, or the payload is of a message that was not lent.
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if the packet is too long.
    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError>;

    /// Sends a reliable message to `to`, connecting first where there is no connection.
    ///
    /// # Errors
    /// If the device fails, or the payload is of a message that was not lent. A failed connection is an
    /// [`Arrival::Broken`] instead.
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if the packet is too long.
    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError>;

    /// Writes a packet into a slot of this rank's ring of retained packets.
    ///
    /// # Errors
    /// If the device fails, or the payload is of a message that was not lent.
    ///
    /// # Panics
    /// May panic unless the slot [is idle](Room::is_idle), or if the packet is too long.
    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError>;

    /// Sends the packet that was just retained in a slot of the ring, which is this one, to the group, without a copy.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if nothing was retained there.
    fn multicast_retained(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError>;

    /// Sends the packet in a slot of the ring to `to`, reliably and without a copy. There is always room
    /// for it: a connection takes one send of each slot.
    ///
    /// # Errors
    /// As [`reliable`](Transport::reliable).
    ///
    /// # Panics
    /// May panic if nothing was retained there, or it is on its way to `to` already.
    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError>;

    /// Writes a number into the memory of `to`, connecting first where there is no connection. Later
    /// values replace earlier ones. Whether it is there already; if not, an [`Arrival::WriteAcked`] tells when it is.
    ///
    /// # Errors
    /// If the device fails. A failed connection is an [`Arrival::Broken`] instead.
    ///
    /// # Panics
    /// May panic without [`Room`] for it.
    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<bool, TransportError>;

    /// Reads a slot of the ring of `from`, connecting first where there is no connection. What it tells of is a packet that was
    /// there as a whole, or nothing.
    ///
    /// # Errors
    /// As [`report`](Transport::report).
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if the ring has no such slot.
    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError>;

    /// The communicator's ranks send this one at most so many reliable messages for operations that it has not begun;
    /// said once, before anything comes. They may take receives that would be [kept](Self::reserve).
    fn admit_eager(&mut self, _messages: u64) {}

    /// The caller is about to leave for something else, while so many reliable messages are still to come of operations
    /// before `next`. Keeps receives for them, in place of those that it kept before, or returns false where others who
    /// use the same receives have left too few; then the caller must stay. With none to come it always may leave. By
    /// default there are no others.
    fn reserve(&mut self, _messages: u64, _next: OpId) -> bool {
        true
    }

    /// Aborts and farewells that can be sent now, as [reliable](Self::reliable) messages: they have
    /// slots that nothing else takes. As many as wanted, where there are no slots.
    fn notice_room(&self) -> usize {
        usize::MAX
    }

    /// Lets everything that was asked for go out now. By default it has.
    ///
    /// # Errors
    /// If the device fails.
    fn submit(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    /// The next report, if there is one.
    ///
    /// # Errors
    /// If the device fails.
    fn poll(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError>;

    /// Takes the fragments of a run, the first first, as far as they are what a [poll](Self::poll) would report next, and came by
    /// multicast with nothing in their headers that the run does not say; how many. They are put into these bytes, which are
    /// the run's, or where there are none into the message that is lent. By default it takes none, and all are reported.
    ///
    /// # Errors
    /// If the device fails.
    fn take_run(&mut self, _run: &Run, _into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        Ok(0)
    }

    /// Takes the only fragment of a message, if a [poll](Self::poll) would report it next, and it came by multicast and
    /// [is all](Run::is_all) that the run says; whether it was taken. It is put into these bytes, which are as long. By
    /// default it is reported.
    ///
    /// # Errors
    /// If the device fails.
    fn take_only(&mut self, _run: &Run, _into: &mut [u8]) -> Result<bool, TransportError> {
        Ok(false)
    }

    /// Looks for what has come, and says whether that was nothing, and nothing is to be done besides: then a
    /// [poll](Self::poll) now would neither report nor do anything. It is asked where most answers are yes, and costs
    /// little then. By default it does not know.
    fn is_quiet(&mut self, _now: Instant) -> bool {
        false
    }

    /// Whether the numbers that others write for this rank may be of any use to it now. Where they are not, they need not
    /// be looked at: the latest values are still there when they are. By default they always are.
    fn expect_reports(&mut self, _are_expected: bool) {}

    /// The packet in a received buffer, checked; its payload may have been received into a lent message.
    ///
    /// # Errors
    /// If that is not a whole packet of the communicator with this key.
    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed>;

    /// Changes a bit of a received packet, any of those that `drawn` may choose from, which are checked when the packet is
    /// looked at: for tests. By default it does nothing.
    fn damage(&mut self, _buffer: &Buffer, _drawn: u32) {}

    /// Whether a datagram that has come before its operation may stay in its buffer, as others will do for what comes
    /// meanwhile. By default it may.
    fn may_stay(&self, _buffer: &Buffer) -> bool {
        true
    }

    /// Whether what else has come may wait for the next turn, as nobody depends on what this rank does with it. By default it
    /// may.
    fn may_wait(&self) -> bool {
        true
    }

    /// Takes a received buffer back and makes it ready for the next packet.
    ///
    /// # Errors
    /// If the device fails.
    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError>;
}

/// A transport that can let the calling thread wait for its next report.
pub trait Park {
    /// Waits, by the transport's policy, for at most `at_most` or until there may be something to
    /// poll. `idle` is how long the caller has had nothing to do. May return early.
    ///
    /// # Errors
    /// If a system call fails.
    fn park(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError>;

    /// Whether [`park`](Self::park) would let the thread sleep until something wakes it.
    fn will_sleep(&self, idle: Duration) -> bool;

    /// Prepares a wait by other means for what the transport's descriptor tells, after `idle` without anything
    /// to do; how long to wait at most, of `at_most`: zero where there is something to poll already.
    ///
    /// # Errors
    /// If a system call fails.
    fn arm(&mut self, idle: Duration, at_most: Duration) -> Result<Duration, TransportError>;

    /// The caller polls and parks from now on, and does nothing else until it [says so](Self::end_wait).
    fn begin_wait(&mut self);

    /// The caller goes on to something else, and polls again nobody knows when.
    fn end_wait(&mut self);
}
