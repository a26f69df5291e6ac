//! Fragments that fill their datagrams, as one communicator sends them.

use super::RdmaTransport;
use verbcast_core::rank::OpId;
use verbcast_core::wire::{Compact, HEADER_LEN, RawHeader, Tag};

/// After how many operations the endpoint is told where this rank is: far less than a compact header tells apart.
const TOLD_EVERY: i32 = 256;

impl RdmaTransport {
    /// Takes a tag, for fragments that fill their datagrams; false where another communicator has it. Others may send with it
    /// as soon as all ranks have said that they have taken it.
    pub(in crate::rdma) fn take_tag(&mut self, tag: Tag) -> bool {
        let packet_len = self.seat.packet_len;
        let is_taken = self.endpoint.hold().take_tag(self.channel, tag, packet_len);
        self.tag = is_taken.then_some(tag);
        is_taken
    }

    /// Not all ranks have taken it.
    pub(in crate::rdma) fn give_tag_back(&mut self) {
        if self.tag.take().is_some() {
            self.endpoint.hold().give_tag_back(self.channel);
        }
    }

    /// An operation has begun.
    pub(super) fn begin_operation(&mut self, op: OpId, fragment_len: usize) {
        self.fragment_len = fragment_len;
        if self.tag.is_some() && !(0..TOLD_EVERY).contains(&op.after(self.near)) {
            self.near = op;
            self.endpoint.look().set_near(self.channel, op);
        }
    }

    /// What stands for the header of a fragment whose payload fills its datagram.
    pub(super) fn compact(&self, header: &[u8; HEADER_LEN], payload_len: usize) -> Option<Compact> {
        let packet_len = self.seat.packet_len;
        if HEADER_LEN + payload_len <= packet_len {
            return None;
        }
        let header = RawHeader::parse(header)?;
        Some(Compact::new(self.tag?, header.unchecked(), payload_len, packet_len))
    }
}
