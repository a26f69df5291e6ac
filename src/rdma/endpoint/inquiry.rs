//! Asking a process whether it may still reach into the memory of a communicator that is closed here.
//!
//! A process that has the communicator says its last when it closes it, but not to one that has left before,
//! nor where there was no connection yet. So it is asked, and answers when it has closed the communicator or
//! heard that the asker has left it.

use super::{Endpoint, failed};
use crate::rdma::ids::ProcessId;
use crate::rdma::memory::Source;
use crate::rdma::packet::own_header;
use verbcast_core::rank::Rank;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{Key, Kind};

/// A question, or the answer that a process is done with a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// The [life](crate::rdma::process::Station::life) of the process that it is from.
    pub from: u64,
    /// The communicator's key.
    pub key: Key,
    pub is_answer: bool,
}

impl Inquiry {
    const WIRE_LEN: usize = 17;

    pub fn emit(&self) -> [u8; Self::WIRE_LEN] {
        let mut bytes = [0; Self::WIRE_LEN];
        bytes[..8].copy_from_slice(&self.from.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.key.0.to_be_bytes());
        bytes[16] = u8::from(self.is_answer);
        bytes
    }

    /// Nothing that a message of a handshake is, which has another length.
    pub fn parse(bytes: &[u8]) -> Option<Inquiry> {
        let bytes: &[u8; Self::WIRE_LEN] = bytes.try_into().ok()?;
        let (from, rest) = bytes.split_first_chunk()?;
        let (key, rest) = rest.split_first_chunk()?;
        let (from, key) = (u64::from_be_bytes(*from), Key(u64::from_be_bytes(*key)));
        Some(Inquiry { from, key, is_answer: rest == [1] })
    }
}

impl Endpoint {
    /// Will ask a process, or answer it.
    pub(super) fn inquire(&mut self, process: ProcessId, key: Key, is_answer: bool) {
        let from = self.site.station.life;
        self.inquiries.push_back((process, Inquiry { from, key, is_answer }));
    }

    /// Sends what is to be asked and answered, as far as there is room.
    pub(super) fn send_inquiries(&mut self) -> Result<(), TransportError> {
        while self.connections.room() > 0
            && let Some((process, inquiry)) = self.inquiries.pop_front()
        {
            let payload = inquiry.emit();
            let kind = if inquiry.is_answer { Kind::Bye } else { Kind::Connect };
            let key = Key(self.connections.station(process).life);
            let header = own_header(kind, key, Rank(0), &payload);
            let sent = self.connections.send(process, &header, Source::Bytes(&payload), None);
            sent.map_err(failed)?;
        }
        Ok(())
    }

    /// A process asks or answers.
    pub(super) fn handle_inquiry(&mut self, process: ProcessId, inquiry: &Inquiry) {
        let channel = self.channels.of_key(inquiry.key);
        match (inquiry.is_answer, channel) {
            (true, Some(id)) => self.channels.is_done(id, process),
            (true, None) => {}
            (false, id) => match id.and_then(|id| self.channels.get_mut(id)) {
                Some(channel) if channel.has(process) => {
                    channel.inquirers.insert(process);
                }
                _ => self.inquire(process, inquiry.key, true),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inquiries_survive_the_wire() {
        for is_answer in [false, true] {
            let inquiry =
                Inquiry { from: 0x0102_0304_0506_0708, key: Key(u64::MAX - 1), is_answer };
            assert_eq!(Inquiry::parse(&inquiry.emit()), Some(inquiry));
        }
        assert_eq!(Inquiry::parse(&[0; 28]), None);
    }
}
