//! Direct placement: receives posted for the fragments that they will probably get, and putting right what came
//! otherwise.

use super::RdmaTransport;
use super::places::Destination;
use crate::rdma::endpoint::{Body, Event, RxPacket, failed};
use crate::rdma::memory::Tail;
use crate::rdma::ud::Place;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use verbcast_core::rank::{Fragment, OpId};
use verbcast_core::transport::{Buffer, Origin, Transfer, TransportError};
use verbcast_core::wire::HEADER_LEN;
use verbcast_verbs::Slot;

/// How long a device may take to end all requests of a QP.
pub const FLUSH_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks for requests that ended.
const FLUSH_PAUSE: Duration = Duration::from_micros(20);

/// What became of a payload that was received at the place of its fragment.
#[derive(Debug, PartialEq, Eq)]
pub enum Placement {
    /// It stays there.
    InPlace(OpId, Range<usize>),
    /// It was moved behind its header.
    Moved,
    /// Its memory was given back before.
    Lost,
}

impl RdmaTransport {
    /// Posts the receive of a slot again, for the place of the fragment that it will probably get if
    /// that is known, this communicator's, and free.
    #[inline]
    pub(super) fn recycle_datagram(&mut self, slot: Slot) -> Result<(), TransportError> {
        let mut endpoint = self.endpoint.hold();
        if self.loans.by_op.is_empty() {
            return endpoint.datagrams.recycle(slot).map_err(failed);
        }
        let place = endpoint.next_receive(self.channel).and_then(|(op, fragment)| {
            let loan = self.loans.by_op.get_mut(&op)?;
            let range = loan.places.arm(fragment)?;
            let is_compact = range.len() + HEADER_LEN > self.seat.packet_len;
            let tail = Tail { lease: Arc::clone(&loan.lease), range };
            Some(Place { stream: (self.channel, op), fragment, tail, is_compact })
        });
        match place {
            Some(place) => endpoint.datagrams.recycle_for(slot, place).map_err(failed),
            None => endpoint.datagrams.recycle(slot).map_err(failed),
        }
    }

    /// A payload was received at the place of its fragment. It stays there unless the fragment came
    /// otherwise before.
    pub(super) fn settle(&mut self, body: &mut Body, op: OpId, fragment: Fragment) -> Placement {
        let Some(loan) = self.loans.by_op.get_mut(&op) else { return Placement::Lost };
        let range = loan.places.range(fragment);
        if !loan.places.is_stashed(fragment) {
            loan.places.disarm(fragment, true);
            return Placement::InPlace(op, range);
        }
        // SAFETY: the lease ends only when its loan is removed; the receive that could write here
        // has ended, and no other was posted for the same place.
        let payload = unsafe { loan.lease.bytes(range) };
        body.move_in(&mut self.pools, payload);
        self.loans.counters.moved += 1;
        self.miss(op, fragment);
        Placement::Moved
    }

    /// The receive for the place of a fragment has ended otherwise.
    pub(super) fn miss(&mut self, op: OpId, fragment: Fragment) {
        let Some(loan) = self.loans.by_op.get_mut(&op) else { return };
        if let Some(bytes) = loan.places.disarm(fragment, false) {
            let start = loan.places.range(fragment).start;
            // SAFETY: as above; what was received there is not borrowed any more, and nothing is sent
            // from a place whose fragment is in the stash.
            unsafe { loan.lease.write(start, &bytes) };
        }
    }

    /// What was received behind the header of a packet, there or in a message.
    pub(super) fn payload(&self, buffer: &Buffer) -> &[u8] {
        self.rx_table.get(buffer).map_or(&[], |packet| self.payload_of(packet))
    }

    /// As [`payload`](Self::payload), of a packet that is at hand.
    #[inline]
    pub(super) fn payload_of<'a>(&'a self, packet: &'a RxPacket) -> &'a [u8] {
        let payload = match &packet.in_place {
            Some((op, range)) => self.loans.bytes(*op, range.clone()),
            None => packet.body.bytes(&self.pools).get(HEADER_LEN..),
        };
        payload.unwrap_or_default()
    }

    /// Moves what was received into a message and not taken from there yet behind its headers.
    pub(super) fn move_out(&mut self, op: OpId) {
        self.settle_waiting(op);
        let RdmaTransport { rx_table, loans, pools, .. } = self;
        for packet in rx_table.iter_mut() {
            if let Some((_, range)) = packet.in_place.take_if(|(known, _)| *known == op)
                && let Some(payload) = loans.bytes(op, range)
            {
                packet.body.move_in(pools, payload);
            }
        }
    }

    /// Does for an operation what events ask for that were not taken yet, and moves what was received into
    /// its message behind its headers.
    fn settle_waiting(&mut self, op: OpId) {
        let mut endpoint = self.endpoint.hold();
        let Some(channel) = endpoint.channels.get_mut(self.channel) else { return };
        let mut events = channel.inbox.take();
        drop(endpoint);
        events.retain_mut(|event| match event {
            Event::Packet { body, place, .. } => {
                if let Some((_, fragment)) = place.take_if(|(known, _)| *known == op)
                    && let Placement::InPlace(_, range) = self.settle(body, op, fragment)
                    && let Some(payload) = self.loans.bytes(op, range)
                {
                    body.move_in(&mut self.pools, payload);
                }
                true
            }
            Event::Missed { op: of, fragment, .. } if *of == op => {
                self.miss(op, *fragment);
                false
            }
            _ => true,
        });
        let mut endpoint = self.endpoint.hold();
        if let Some(channel) = endpoint.channels.get_mut(self.channel) {
            channel.inbox.put_back(events);
        }
    }

    /// Puts a payload into a lent message, unless it was received there.
    pub(super) fn place_payload(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Transfer>, TransportError> {
        if let Origin::Received(buffer) = from
            && let Some(packet) = self.rx_table.get(buffer)
            && let Some((there, part)) = &packet.in_place
            && (*there, part) == (op, &range)
        {
            return Ok(Some(Transfer::InPlace));
        }
        let Some(loan) = self.loans.by_op.get_mut(&op) else { return Ok(None) };
        let Some(destination) = loan.places.place(&range) else {
            return Err(TransportError::NotAFragment { op, range });
        };
        let payload = match from {
            Origin::Bytes(bytes) => bytes,
            Origin::Received(buffer) => &self.payload(buffer)[..range.len()],
        };
        match destination {
            Destination::Place => {
                let Some(loan) = self.loans.by_op.get(&op) else { return Ok(None) };
                // SAFETY: the lease ends only when its loan is removed. No receive is posted for a
                // place that is not armed, nothing is sent that was not here before, and a received
                // payload is in a slot, or at another place.
                unsafe { loan.lease.write(range.start, payload) };
            }
            Destination::Stash(fragment) => {
                let payload = payload.to_vec();
                if let Some(loan) = self.loans.by_op.get_mut(&op) {
                    loan.places.stash(fragment, &payload);
                }
            }
        }
        Ok(Some(Transfer::Copied))
    }

    /// Takes back all receives that are posted, and posts them anew for slots alone. Datagrams under
    /// way are lost.
    ///
    /// # Errors
    /// If the device fails, or does not end its requests.
    pub fn flush_receives(&mut self) -> Result<(), TransportError> {
        self.loans.counters.receive_flushes += 1;
        self.endpoint.hold().datagrams.flush().map_err(failed)?;
        let begun = std::time::Instant::now();
        loop {
            let mut endpoint = self.endpoint.hold();
            if !endpoint.datagrams.is_flushing() {
                return Ok(());
            }
            if endpoint.datagrams.is_flushed() {
                return endpoint.restart_datagrams(self.now);
            }
            let any = endpoint.pull(self.channel, self.now);
            drop(endpoint);
            if any {
                continue;
            }
            if begun.elapsed() > FLUSH_PATIENCE {
                return Err(self.endpoint.see().stuck());
            }
            std::thread::sleep(FLUSH_PAUSE);
        }
    }
}
