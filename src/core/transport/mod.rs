//! The seam between a driver and whatever carries its packets: real verbs or a simulation.
//!
//! A transport never waits. Its capacity is visible through [`Room`], so that back-pressure stays
//! in the driver; a received buffer belongs to the caller until it is recycled; a receive queue
//! that overflows loses datagrams, and loss is normal.
//!
//! A transport may have been lent the memory of an operation's message, to send from it and to receive
//! into it without a copy. Then the memory is reached through the transport alone until it is given
//! back. One that is lent nothing has nothing to do for it.

mod faults;
mod faulty;

pub use faults::{FaultError, Faults};
pub use faulty::Faulty;

use crate::protocol::{Counter, Room, Token, Via};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::wire::HEADER_LEN;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// A received buffer, to be given back by [`Transport::recycle`].
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The transport's own number for it.
    pub index: u32,
}

/// What a transport reports.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet, header first.
    Packet {
        /// How it came.
        via: Via,
        /// Where it is.
        buffer: Buffer,
    },
    /// The adapter of `to` has acknowledged a reliable message: it will be received unless that
    /// rank fails.
    Delivered {
        /// The receiver.
        to: Rank,
        /// What the sender gave along.
        token: Token,
    },
    /// `from` has written a number into this rank's memory. Only the latest value is reported.
    Reported {
        /// The rank that wrote.
        from: Rank,
        /// Which number.
        counter: Counter,
        /// Its value.
        value: u64,
    },
    /// The adapter of `to` has acknowledged a [report](Transport::report).
    Told {
        /// The rank that was told.
        to: Rank,
        /// Which number.
        counter: Counter,
    },
    /// A [fetch](Transport::fetch) has read what the slot held, whatever it was.
    Fetched {
        /// Whose ring was read.
        from: Rank,
        /// What the fetcher gave along.
        token: Token,
        /// Where the bytes are.
        buffer: Buffer,
    },
    /// The adapter of `peer` has answered a [`Transport::probe`].
    Alive {
        /// The rank that was asked.
        peer: Rank,
    },
    /// The connection with `peer` is broken; whatever it had sent before has been reported.
    Broken {
        /// The other side.
        peer: Rank,
        /// What the adapter says.
        reason: String,
    },
}

/// Where the payload of a packet is that goes into a lent message.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// In a received buffer, or where that buffer's payload was received.
    Received(&'a Buffer),
    /// Elsewhere.
    Bytes(&'a [u8]),
}

/// How a payload came into a lent message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// It was received there.
    Already,
    /// By a copy.
    Copied,
}

/// The device or a system call failed; the transport is of no more use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// What failed, and where.
    pub what: String,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for TransportError {}

/// Carries packets between the ranks of one communicator. What is asked for may wait, so that more of it
/// goes out together, until it is [submitted](Transport::submit) or a [`poll`](Transport::poll) has nothing to
/// report.
pub trait Transport: Room {
    /// Most bytes of a packet, header included, by multicast and over a connection alike.
    fn packet_len(&self) -> usize;

    /// Sends a datagram to the group; the bytes are taken before it returns.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if the packet is too long.
    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<(), TransportError>;

    /// Sends a reliable message to `to`, connecting first where there is no connection; the bytes
    /// are taken before it returns.
    ///
    /// # Errors
    /// If the device fails. A failed connection is an [`Arrival::Broken`] instead.
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if the packet is too long.
    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
        token: Token,
    ) -> Result<(), TransportError>;

    /// Slots of this rank's ring of retained packets, a power of two; every rank has as many.
    fn ring_len(&self) -> u32;

    /// Writes a packet into a slot of the ring.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// May panic unless the slot [is idle](Room::is_idle), or if the packet is too long.
    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: &[u8],
    ) -> Result<(), TransportError>;

    /// Sends the packet in a slot of the ring to the group, without a copy.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if nothing was retained there.
    fn multicast_retained(&mut self, slot: u32) -> Result<(), TransportError>;

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
    /// values replace earlier ones.
    ///
    /// # Errors
    /// As [`reliable`](Transport::reliable).
    ///
    /// # Panics
    /// May panic without [`Room`] for it.
    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<(), TransportError>;

    /// Reads a slot of the ring of `from`, connecting first where there is no connection.
    ///
    /// # Errors
    /// As [`reliable`](Transport::reliable).
    ///
    /// # Panics
    /// May panic without [`Room`] for it, or if the ring has no such slot.
    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError>;

    /// Aborts and farewells that can be sent now, as [reliable](Self::reliable) messages: they have
    /// slots that nothing else takes. As many as wanted, where there are no slots.
    fn notice_room(&self) -> usize {
        usize::MAX
    }

    /// Begins to connect with `peer`, unless there is a connection. By default there always is.
    ///
    /// # Errors
    /// If the device fails.
    fn connect(&mut self, _peer: Rank) -> Result<(), TransportError> {
        Ok(())
    }

    /// Whether a connection with `peer` can be used by either side without the other's CPU.
    fn is_connected(&self, _peer: Rank) -> bool {
        true
    }

    /// `peer` has left in good order: what is under way to it is given up, at the latest soon, since it
    /// may never be answered; and none of it is reported. By default everything is answered.
    fn disconnect(&mut self, _now: Instant, _peer: Rank) {}

    /// The ranks that a reliable connection was made with, by either side.
    fn connected(&self) -> Vec<Rank>;

    /// Asks the adapter of `peer`, not its CPU, whether it is there. The answer is
    /// [`Arrival::Alive`] or [`Arrival::Broken`]; while one is due, asking again does nothing.
    ///
    /// # Errors
    /// If the device fails.
    fn probe(&mut self, peer: Rank) -> Result<(), TransportError>;

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

    /// The bytes of a received buffer; where its payload [was received elsewhere](Self::payload_elsewhere),
    /// only the header.
    fn bytes(&self, buffer: &Buffer) -> &[u8];

    /// Takes a received buffer back and makes it ready for the next packet.
    ///
    /// # Errors
    /// If the device fails.
    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError>;

    /// The payload of a received buffer that the device put right into a lent message.
    fn payload_elsewhere(&self, buffer: &Buffer) -> Option<&[u8]> {
        let _ = buffer;
        None
    }

    /// A part of a lent message that is here; `None` if the message was not lent.
    fn lent(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        let _ = (op, range);
        None
    }

    /// As [`multicast`](Self::multicast) of a part of a lent message, which the device may read until
    /// the message is given back; whether it was sent without a copy.
    ///
    /// # Errors
    /// If the device fails, or the message was not lent.
    ///
    /// # Panics
    /// As [`multicast`](Self::multicast).
    fn multicast_lent(
        &mut self,
        header: &[u8; HEADER_LEN],
        op: OpId,
        range: Range<usize>,
    ) -> Result<bool, TransportError> {
        let _ = (header, range);
        Err(not_lent(op))
    }

    /// As [`reliable`](Self::reliable) of a part of a lent message, which the device may read until
    /// the message is given back; whether it was sent without a copy.
    ///
    /// # Errors
    /// If the device fails, or the message was not lent.
    ///
    /// # Panics
    /// As [`reliable`](Self::reliable).
    fn reliable_lent(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        op: OpId,
        range: Range<usize>,
        token: Token,
    ) -> Result<bool, TransportError> {
        let _ = (to, header, range, token);
        Err(not_lent(op))
    }

    /// As [`retain`](Self::retain) of a part of a lent message.
    ///
    /// # Errors
    /// If the device fails, or the message was not lent.
    ///
    /// # Panics
    /// As [`retain`](Self::retain).
    fn retain_lent(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        op: OpId,
        range: Range<usize>,
    ) -> Result<(), TransportError> {
        let _ = (slot, header, range);
        Err(not_lent(op))
    }

    /// Puts a payload into a lent message; `None` if the message was not lent.
    ///
    /// # Errors
    /// If the part is no fragment of the message.
    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Placed>, TransportError> {
        let _ = (op, range, from);
        Ok(None)
    }
}

/// The error of a transport that was asked for bytes of a message that was not lent.
pub fn not_lent(op: OpId) -> TransportError {
    TransportError { what: format!("{op} is in flight, but its message was not lent") }
}

/// A transport that can let the calling thread wait for its next report.
pub trait Park {
    /// Waits, by the transport's policy, for at most `at_most` or until there may be something to
    /// poll. `idle` is how long the caller has had nothing to do. May return early.
    ///
    /// # Errors
    /// If a system call fails.
    fn park(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError>;
}
