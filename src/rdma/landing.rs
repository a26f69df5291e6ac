//! Receives into place: posting them for the fragments that they will probably get, and putting
//! right what came otherwise.

use super::datagrams::Tail;
use super::places::Destination;
use super::settings::GRH_LEN;
use super::transport::{RdmaTransport, failed};
use crate::rank::OpId;
use crate::transport::{Origin, Placed, Transport, TransportError};
use crate::wire::{HEADER_LEN, Kind, peek};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// How long a device may take to end all requests of a QP.
pub(super) const FLUSH_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks for requests that ended.
const FLUSH_PAUSE: Duration = Duration::from_micros(20);

impl RdmaTransport {
    /// Posts the receive of a slot again, for the place of the fragment that it will probably get if
    /// that is known and free.
    pub(super) fn recycle_datagram(&mut self, slot: u32) -> Result<(), TransportError> {
        let loans = &mut self.loans;
        loans.in_place[slot as usize] = None;
        let tail = self.datagrams.next_receive().and_then(|(op, fragment)| {
            let loan = loans.by_op.get_mut(&op)?;
            let range = loan.places.arm(fragment)?;
            loans.armed[slot as usize] = Some((op, fragment));
            Some(Tail { lease: Arc::clone(&loan.lease), range })
        });
        self.datagrams.recycle(slot, tail).map_err(failed)
    }

    /// The receive of a slot has ended, with a datagram of `len` bytes or none. What was received into
    /// a place stays there if it is what was expected; otherwise the datagram is made whole in its slot.
    pub(super) fn landed(&mut self, slot: u32, len: usize) {
        let head = self.datagrams.bytes(slot, len.min(GRH_LEN + HEADER_LEN));
        let seen =
            head.first_chunk().and_then(|head| peek(head, self.place.key)).filter(|(header, _)| {
                header.kind == Kind::Fragment && header.source != self.place.rank
            });
        let fragment = seen.map(|(header, _)| (header.op, header.fragment));
        self.datagrams.prediction.complete(fragment);
        let Some((op, expected)) = self.loans.armed[slot as usize].take() else { return };
        let Some(loan) = self.loans.by_op.get_mut(&op) else { return };
        let fragment_len = self.place.packet_len - HEADER_LEN;
        let received = len.saturating_sub(GRH_LEN + HEADER_LEN).min(fragment_len);
        let start = expected.index() * fragment_len;
        let is_whole = received == fragment_len && seen.is_some_and(|(_, told)| told == received);
        let is_it =
            is_whole && fragment == Some((op, expected)) && !loan.places.is_stashed(expected);
        let stashed = loan.places.disarm(expected, is_it);
        if is_it {
            self.loans.in_place[slot as usize] = Some((op, start..start + received));
            return;
        }
        if received > 0 {
            // SAFETY: the lease ends only when its loan is removed; the receive that could write here
            // has ended, and no other was posted for the same place.
            let payload = unsafe { loan.lease.bytes(start..start + received) };
            self.datagrams.move_in(slot, payload);
            self.loans.counters.moved += 1;
        }
        if let Some(bytes) = stashed {
            // SAFETY: as above; what was read before is not borrowed any more, and nothing is sent from
            // a place whose fragment is in the stash.
            unsafe { loan.lease.write(start, &bytes) };
        }
    }

    /// The payload that was received into a message with the slot of a datagram.
    pub(super) fn landed_payload(&self, slot: u32) -> Option<&[u8]> {
        let (op, range) = self.loans.in_place.get(slot as usize)?.as_ref()?;
        self.loans.bytes(*op, range.clone())
    }

    /// Moves what was received into a message and not taken from there yet into slots.
    pub(super) fn move_out(&mut self, op: OpId) {
        for slot in 0..self.loans.in_place.len() {
            if self.loans.in_place[slot].as_ref().is_some_and(|(known, _)| *known == op) {
                if let Some(payload) = self.landed_payload(slot as u32) {
                    let payload = payload.to_vec();
                    self.datagrams.move_in(slot as u32, &payload);
                }
                self.loans.in_place[slot] = None;
            }
        }
    }

    /// Puts a payload into a lent message, unless it was received there.
    pub(super) fn place_payload(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Placed>, TransportError> {
        if let Origin::Received(buffer) = from
            && let Some(Some((there, part))) = self.loans.in_place.get(buffer.index as usize)
            && (*there, part) == (op, &range)
        {
            return Ok(Some(Placed::Already));
        }
        let Some(loan) = self.loans.by_op.get_mut(&op) else { return Ok(None) };
        let Some(destination) = loan.places.place(&range) else {
            let what = format!("bytes {range:?} of {op} are no fragment");
            return Err(TransportError { what });
        };
        let payload = match from {
            Origin::Bytes(bytes) => bytes,
            Origin::Received(buffer) => match self.landed_payload(buffer.index) {
                Some(payload) => payload,
                None => &self.bytes(buffer)[HEADER_LEN..][..range.len()],
            },
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
        Ok(Some(Placed::Copied))
    }

    /// Takes back all receives that are posted, and posts them anew for slots alone. Datagrams under
    /// way are lost.
    ///
    /// # Errors
    /// If the device fails, or does not end its requests.
    pub fn flush_receives(&mut self) -> Result<(), TransportError> {
        self.loans.counters.receive_flushes += 1;
        self.is_flushing = true;
        let flushed = self.try_flush();
        self.is_flushing = false;
        flushed
    }

    fn try_flush(&mut self) -> Result<(), TransportError> {
        self.datagrams.flush().map_err(failed)?;
        let begun = std::time::Instant::now();
        while !self.datagrams.is_flushed() {
            if self.pull(self.now)? {
                continue;
            }
            if begun.elapsed() > FLUSH_PATIENCE {
                let what = "the device does not end the requests of a QP in the error state";
                return Err(TransportError { what: what.to_owned() });
            }
            std::thread::sleep(FLUSH_PAUSE);
        }
        self.datagrams.restart().map_err(failed)
    }
}
