//! The handshakes that make connections: over datagrams, and confirmed over the connections themselves.

use super::{Endpoint, failed};
use crate::rdma::ids::ProcessId;
use crate::rdma::memory::Source;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::handshake::Message;
use verbcast_core::wire::{HEADER_LEN, Kind};

impl Endpoint {
    /// Begins to connect with a process, unless it is connected.
    pub fn open(&mut self, now: Instant, process: ProcessId) -> Result<(), TransportError> {
        self.connections.open(now, process).map_err(failed)
    }

    /// Sends what is due of the handshakes under way.
    pub(super) fn drive_handshakes(&mut self, now: Instant) -> Result<(), TransportError> {
        if !self.connections.are_opening() {
            return Ok(());
        }
        for (process, message, is_for_all) in self.connections.poll_handshakes(now) {
            self.send_handshake(process, &message)?;
            if is_for_all {
                self.multicast_handshake(process, &message)?;
            }
        }
        self.send_confirms()
    }

    /// A message of a handshake came.
    pub(super) fn handle_handshake(
        &mut self,
        now: Instant,
        message: &Message,
    ) -> Result<(), TransportError> {
        // A process that is not known yet repeats it.
        let Some(process) = self.connections.of_incarnation(message.from) else { return Ok(()) };
        let answer = self.connections.handle_handshake(now, process, message).map_err(failed)?;
        let Some(answer) = answer else { return Ok(()) };
        self.send_confirms()?;
        self.send_handshake(process, &answer)
    }

    /// Why the address of a process was not found, if it was not when it was looked for last.
    pub fn unresolved(&self, process: ProcessId) -> Option<&str> {
        self.datagrams.unresolved(process).or_else(|| self.connections.unresolved(process))
    }

    /// Confirms handshakes over their connections, as far as there are slots: there it cannot be lost,
    /// and this process may do something else for long.
    fn send_confirms(&mut self) -> Result<(), TransportError> {
        while let Some((process, message)) = self.connections.to_confirm() {
            let payload = message.emit();
            let header = self.handshake_header(process, &payload);
            let payload = Source::Bytes(&payload);
            if !self.connections.send(process, &header, payload, None).map_err(failed)? {
                break;
            }
            self.connections.confirmed(process);
        }
        Ok(())
    }

    /// The header of a packet of a handshake with a process.
    fn handshake_header(&self, process: ProcessId, payload: &[u8]) -> [u8; HEADER_LEN] {
        self.header_to(process, Kind::Connect, payload)
    }

    fn send_handshake(
        &mut self,
        process: ProcessId,
        message: &Message,
    ) -> Result<(), TransportError> {
        let payload = message.emit();
        let header = self.handshake_header(process, &payload);
        let qpn = self.connections.address(process).datagrams.qpn;
        let to = (process, qpn, self.connections.path(process));
        // Without a slot it is as if the datagram were lost: it will be repeated.
        self.datagrams.unicast(to, &header, &payload).map_err(failed).map(drop)
    }

    /// Sends to a process whose UD QP may be another one now; other processes pass it over.
    fn multicast_handshake(
        &mut self,
        process: ProcessId,
        message: &Message,
    ) -> Result<(), TransportError> {
        if self.datagrams.is_flushing() {
            return Ok(());
        }
        let payload = message.emit();
        let header = self.handshake_header(process, &payload);
        let groups: Vec<_> = self.datagrams.groups().iter().map(|(id, _)| id).collect();
        groups.into_iter().try_for_each(|group| {
            let sent = self.datagrams.multicast(group, &header, Source::Bytes(&payload));
            sent.map_err(failed).map(drop)
        })
    }
}
