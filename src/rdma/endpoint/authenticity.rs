//! Which packets are believed: those of ranks of the communicator, where it has authentication codes, and otherwise those
//! that are whole. With codes, nothing is done for a packet before its code was found right.

use super::Endpoint;
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::packet::own_header;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{
    Checks, HEADER_LEN, Key, Kind, MacKey, Malformed, Packet, ProcessMessage, RawHeader,
};

impl Endpoint {
    /// The key of a channel's codes, where it has any.
    fn mac(&self, channel: ChannelId) -> Option<&MacKey> {
        self.keys.as_ref()?;
        self.channels.get(channel)?.mac()
    }

    /// Whether a datagram for a channel, whose payload may be elsewhere, is whole and, with codes, of one of its ranks.
    pub(super) fn is_right(
        &self,
        channel: ChannelId,
        header: &RawHeader,
        head: &[u8; HEADER_LEN],
        rest: &[u8],
    ) -> bool {
        match self.mac(channel) {
            None => header.check_parts(head, rest, self.settings.checks()).is_ok(),
            Some(key) => header.authenticate_parts(head, rest, key).is_ok(),
        }
    }

    /// Whether a packet for a channel has to be dropped for its code.
    pub(super) fn is_forged(&self, channel: ChannelId, header: &RawHeader, bytes: &[u8]) -> bool {
        self.mac(channel).is_some_and(|key| header.authenticate(bytes, key).is_err())
    }

    /// A packet with the incarnation of this process as its key: what it says, if it may be believed.
    pub(super) fn process_message(
        &self,
        header: &RawHeader,
        bytes: &[u8],
    ) -> Result<(Kind, ProcessMessage), Malformed> {
        let packet: Packet<'_> = match &self.keys {
            None => header.check(bytes, Checks::Whole)?,
            Some(keys) => keys.authenticate(header, bytes)?,
        };
        let message = ProcessMessage::parse(packet.payload()).map_err(|_| Malformed::Damaged)?;
        Ok((packet.header().kind, message))
    }

    /// Counts a message that is forged.
    pub(super) fn note_forged<T>(&mut self, outcome: &Result<T, Malformed>) {
        if matches!(outcome, Err(Malformed::Forged)) {
            self.channels.count_forged();
        }
    }

    /// The header of a message of this process to another one.
    pub(super) fn header_to(
        &self,
        process: ProcessId,
        kind: Kind,
        payload: &[u8],
    ) -> [u8; HEADER_LEN] {
        let incarnation = self.connections.address(process).incarnation;
        let mac = self.keys.as_ref().and_then(|keys| keys.to(incarnation));
        own_header(kind, Key(incarnation), Rank(0), payload, mac)
    }
}
