//! Does what the core asks for.

use super::{Driver, Identity, Lent};
use crate::protocol::{Core, Piece, Target, Transmit};
use crate::transport::{Transport, TransportError, not_lent};
use crate::wire::{HEADER_LEN, Header};
use std::ops::Range;

impl<C: Core, T: Transport> Driver<C, T> {
    pub(super) fn transmit(&mut self, lent: &mut Option<Lent<'_>>) -> Result<bool, TransportError> {
        let mut worked = false;
        while let Some(transmit) = self.core.poll_transmit(&self.transport) {
            worked = true;
            self.progressed |= !matches!(transmit, Transmit::Fetch { .. });
            self.await_connection(&transmit);
            self.carry_out(transmit, lent)?;
        }
        Ok(worked)
    }

    /// A message to a rank that is not connected yet leaves this rank only when both CPUs have made the
    /// connection, so nothing completes before.
    fn await_connection(&mut self, transmit: &Transmit) {
        if let Transmit::Send { target: Target::Rank(to), .. }
        | Transmit::Resend { target: Target::Rank(to), .. } = transmit
            && !self.transport.is_connected(*to)
            && !self.connecting.contains(to)
        {
            self.connecting.push(*to);
        }
    }

    fn carry_out(
        &mut self,
        transmit: Transmit,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<(), TransportError> {
        let (statistics, transport) = (&mut self.statistics, &mut self.transport);
        let payload_crc = self.identity.payload_crc;
        match transmit {
            Transmit::Send { target, piece, range } => {
                let owned = self.messages.get_mut(lent, piece.op);
                let payload = payload(owned.as_deref(), transport, &piece, range.clone())?;
                let header = header(&self.identity, &piece, payload, payload_crc);
                match target {
                    Target::Group => statistics.multicast_sent += 1,
                    Target::Rank(_) => statistics.reliable_sent += 1,
                }
                let is_lent = owned.is_none() && !range.is_empty();
                if is_lent {
                    let (op, token) = (piece.op, piece.token());
                    let sent = match target {
                        Target::Group => transport.multicast_lent(&header, op, range),
                        Target::Rank(to) => transport.reliable_lent(to, &header, op, range, token),
                    };
                    return sent.map(|in_place| statistics.sent_in_place += u64::from(in_place));
                }
                let payload = owned.map_or(&[][..], |message| &message[range]);
                match target {
                    Target::Group => transport.multicast(&header, payload),
                    Target::Rank(to) => transport.reliable(to, &header, payload, piece.token()),
                }
            }
            Transmit::Retain { slot, piece, range } => {
                let owned = self.messages.get_mut(lent, piece.op);
                let payload = payload(owned.as_deref(), transport, &piece, range.clone())?;
                // A read may find it half replaced by the next, which only the CRC tells.
                let header = header(&self.identity, &piece, payload, true);
                match owned {
                    None if !range.is_empty() => {
                        transport.retain_lent(slot, &header, piece.op, range)
                    }
                    owned => {
                        let payload = owned.map_or(&[][..], |message| &message[range]);
                        transport.retain(slot, &header, payload)
                    }
                }
            }
            Transmit::Resend { target: Target::Group, slot, .. } => {
                statistics.multicast_sent += 1;
                transport.multicast_retained(slot)
            }
            Transmit::Resend { target: Target::Rank(to), slot, token } => {
                statistics.reliable_sent += 1;
                transport.reliable_retained(to, slot, token)
            }
            Transmit::Report { to, counter, value } => {
                statistics.reports_written += 1;
                transport.report(to, counter, value)
            }
            Transmit::Fetch { from, slot, token } => {
                statistics.fetches += 1;
                transport.fetch(from, slot, token)
            }
        }
    }
}

/// The bytes of a message that a packet carries: of the driver's or the caller's, or lent to the
/// transport.
fn payload<'a>(
    message: Option<&'a [u8]>,
    transport: &'a impl Transport,
    piece: &Piece,
    range: Range<usize>,
) -> Result<&'a [u8], TransportError> {
    match message {
        Some(message) => Ok(&message[range]),
        None if range.is_empty() => Ok(&[]),
        None => transport.lent(piece.op, range).ok_or_else(|| not_lent(piece.op)),
    }
}

fn header(
    identity: &Identity,
    piece: &Piece,
    payload: &[u8],
    payload_crc: bool,
) -> [u8; HEADER_LEN] {
    let Identity { rank: source, key, .. } = *identity;
    let Piece { kind, op, fragment, message_len, report } = *piece;
    Header { kind, source, key, op, fragment, message_len, report }.emit(payload, payload_crc)
}
