//! Packets as the driver sends and receives them.

use super::RdmaTransport;
use crate::rdma::endpoint::{Body, failed};
use crate::rdma::rc::{Sender, is_last};
use verbcast_core::protocol::{Counter, Run, Token};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::{Arrival, Buffer, Payload, Transfer, Transport, TransportError};
use verbcast_core::wire::{Checks, HEADER_LEN, Key, Malformed, Packet};

impl Transport for RdmaTransport {
    type Messages = Self;

    fn messages(&self) -> &Self {
        self
    }

    fn messages_mut(&mut self) -> &mut Self {
        self
    }

    fn begin(&mut self, op: OpId, fragment_len: usize) {
        self.begin_operation(op, fragment_len);
    }

    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError> {
        let mut endpoint = self.endpoint.hold();
        if self.is_seated {
            let payload = self.loans.bytes_of(&payload)?;
            if endpoint.publish(self.channel, header, payload) {
                return Ok(Transfer::Copied);
            }
        }
        let Some(group) = self.group else { return Err(no_slot("a datagram")) };
        let payload = self.loans.source(payload)?;
        let transfer = payload.transfer();
        match endpoint.datagrams.multicast(group, header, payload).map_err(failed)? {
            // Where another thread has taken the slot, it is as if the datagram were lost.
            false if !endpoint.is_shared => Err(no_slot("a datagram")),
            false => Ok(Transfer::Copied),
            true => Ok(transfer),
        }
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError> {
        if !self.is_usable(to)? {
            return Ok(Transfer::Copied);
        }
        let (process, channel) = (self.process(to), self.channel);
        let payload = self.loans.source(payload)?;
        let transfer = payload.transfer();
        let sender = Some(Sender { channel, to, token });
        let mut endpoint = self.endpoint.hold();
        if is_last(header)
            && let Some(own) = endpoint.channels.get_mut(channel)
        {
            own.is_leaving = true;
        }
        match endpoint.connections.send(process, header, payload, sender).map_err(failed)? {
            true => Ok(transfer),
            false => Err(no_slot(&format!("a message to {to}"))),
        }
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        let payload = self.loans.bytes_of(&payload)?;
        let compact = self.compact(header, payload.len());
        self.memory.ring.retain(slot, header, payload, compact);
        Ok(())
    }

    fn multicast_retained(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        self.multicast_slot(slot, header, &payload)
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        self.send_slot(to, slot, token)
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<bool, TransportError> {
        self.write_report(to, counter, value)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        self.read_slot(from, slot, token)
    }

    fn admit_eager(&mut self, messages: u64) {
        self.endpoint.hold().reserved.open(self.channel, messages);
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        if messages == 0 && !self.is_reserved {
            return true;
        }
        let may_leave = self.endpoint.hold().reserved.reserve(self.channel, messages, next);
        if may_leave {
            self.is_reserved = messages > 0;
        }
        may_leave
    }

    fn notice_room(&self) -> usize {
        self.endpoint.see().connections.free_slots()
    }

    fn submit(&mut self) -> Result<(), TransportError> {
        self.endpoint.hold().submit_sends()
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        self.next_arrival(now)
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        self.receive_run(run, into)
    }

    fn take_only(&mut self, run: &Run, into: &mut [u8]) -> Result<bool, TransportError> {
        self.endpoint.hold().take_only(self.channel, self.now, run, into)
    }

    fn is_quiet(&mut self, now: Instant) -> bool {
        self.has_nothing(now)
    }

    fn expect_reports(&mut self, are_expected: bool) {
        self.expects_reports = are_expected;
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        let packet = self.rx_table.get(buffer).ok_or(Malformed::Foreign)?;
        let header = packet.header.filter(|header| header.unchecked().key == key);
        let header = header.ok_or(Malformed::Foreign)?;
        let Some(checks) = packet.checks else {
            return header.known_intact(self.payload_of(packet));
        };
        let head = packet.body.bytes(&self.pools).first_chunk().ok_or(Malformed::Foreign)?;
        match &self.seat.mac {
            None => header.check_parts(head, self.payload_of(packet), checks),
            Some(key) => header.authenticate_parts(head, self.payload_of(packet), key),
        }
    }

    fn damage(&mut self, buffer: &Buffer, drawn: u32) {
        let RdmaTransport { rx_table, pools, settings, seat, .. } = self;
        let Some(packet) = rx_table.get_mut(buffer) else { return };
        let checks = settings.checks();
        // A payload in the message is not behind its header.
        let is_covered = checks == Checks::Whole || seat.mac.is_some();
        let len = match is_covered && packet.in_place.is_none() {
            true => packet.header.map_or(HEADER_LEN, |header| HEADER_LEN + header.payload_len()),
            false => HEADER_LEN,
        };
        packet.body.damage(pools, len, drawn);
        packet.checks = Some(checks);
    }

    /// Mates wait for what this rank hands on, if it receives for them.
    fn may_wait(&self) -> bool {
        !self.is_seated
            || self.endpoint.see().node(self.channel).is_none_or(|seat| !seat.is_listening())
    }

    fn may_stay(&self, buffer: &Buffer) -> bool {
        let is_copy =
            self.rx_table.get(buffer).is_some_and(|packet| matches!(packet.body, Body::Copy(_)));
        is_copy || self.endpoint.see().can_spare_receives()
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        match self.rx_table.take(buffer) {
            Some(Body::Datagram(slot, _)) => self.recycle_datagram(slot),
            Some(body) => self.give_back(body),
            None => Ok(()),
        }
    }
}

fn no_slot(what: &str) -> TransportError {
    TransportError::NoRoom(what.to_owned())
}
