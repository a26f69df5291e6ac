//! Messages whose memory a transport was lent.

use super::{Origin, Purpose, Transfer, TransportError};
use crate::protocol::Token;
use crate::rank::{OpId, Rank};
use crate::wire::{HEADER_LEN, Region};
use std::ops::Range;

/// The messages that a transport was lent. One that is lent nothing has nothing to do for it.
pub trait LentMessages {
    /// Takes the message of an operation, to send or receive it without a copy, until it is
    /// [taken back](Self::take_back); returns it where that is not to be. By default it never is.
    fn lend(&mut self, _op: OpId, message: Vec<u8>, _purpose: Purpose) -> Option<Vec<u8>> {
        Some(message)
    }

    /// Returns a message that was [lent](Self::lend). Nothing reaches its memory any more.
    fn take_back(&mut self, _op: OpId) -> Option<Vec<u8>> {
        None
    }

    /// A part of a lent message that is here; `None` if the message was not lent.
    fn lent(&self, _op: OpId, _range: Range<usize>) -> Option<&[u8]> {
        None
    }

    /// Lets other ranks write into a lent message until it is taken back, and says where it is; `None` where it was not lent
    /// to be received into, or they cannot. By default they never can.
    fn expose(&mut self, _op: OpId) -> Option<Region> {
        None
    }

    /// Whether a message [is exposed](Self::expose).
    fn is_exposed(&self, _op: OpId) -> bool {
        false
    }

    /// Whether parts of a lent message that are here can be [written](Self::write) elsewhere. By default they never can.
    fn can_write(&mut self, _op: OpId) -> bool {
        false
    }

    /// Writes a part of a lent message into the memory of `to`, where `into` is the whole message, then sends it a reliable
    /// message of `header` and `note`, which comes when the part is there. It is delivered when the part is, too.
    ///
    /// # Errors
    /// As [`reliable`](super::Transport::reliable).
    ///
    /// # Panics
    /// May panic without [`Room`](crate::protocol::Room) for a reliable message, or if the part
    /// [cannot be written](Self::can_write).
    fn write(
        &mut self,
        _to: Rank,
        _header: &[u8; HEADER_LEN],
        _note: &[u8],
        (op, _range): (OpId, Range<usize>),
        _into: Region,
        _token: Token,
    ) -> Result<(), TransportError> {
        Err(TransportError::NotLent(op))
    }

    /// Puts a payload into a lent message; `None` if the message was not lent.
    ///
    /// # Errors
    /// If the part is not a fragment of the message.
    fn place(
        &mut self,
        _op: OpId,
        _range: Range<usize>,
        _from: Origin<'_>,
    ) -> Result<Option<Transfer>, TransportError> {
        Ok(None)
    }
}
