//! Asking a process whether it may still reach into the memory of a communicator that is closed here.
//!
//! A process that has the communicator says its last when it closes it, but not to one that has left before,
//! nor where there was no connection yet. So it is asked, and answers when it has closed the communicator or
//! heard that the asker has left it.

use super::{Endpoint, failed};
use crate::rdma::ids::ProcessId;
use crate::rdma::memory::Source;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{Inquiry, Key, Kind};

impl Endpoint {
    /// Will ask a process, or answer it.
    pub(super) fn inquire(&mut self, process: ProcessId, key: Key, is_answer: bool) {
        let from = self.site.address.incarnation;
        self.lifetimes.inquire(process, Inquiry { from, key, is_answer });
    }

    /// Sends what is to be asked and answered, as far as there is room.
    pub(super) fn send_inquiries(&mut self) -> Result<(), TransportError> {
        while self.connections.room() > 0
            && let Some((process, inquiry)) = self.lifetimes.next_inquiry()
        {
            let payload = inquiry.emit();
            let kind = if inquiry.is_answer { Kind::Bye } else { Kind::Connect };
            let header = self.header_to(process, kind, &payload);
            let sent = self.connections.send(process, &header, Source::Bytes(&payload), None);
            sent.map_err(failed)?;
        }
        Ok(())
    }

    /// A process asks or answers.
    pub(super) fn handle_inquiry(&mut self, process: ProcessId, inquiry: &Inquiry) {
        let channel = self.channels.of_key(inquiry.key);
        match (inquiry.is_answer, channel) {
            (true, Some(id)) => self.channels.set_done(id, process),
            (true, None) => {}
            (false, id) => match id.and_then(|id| self.channels.get_mut(id)) {
                Some(channel) if channel.has(process) => {
                    channel.lifetime.add_inquirer(process);
                }
                _ => self.inquire(process, inquiry.key, true),
            },
        }
    }
}
