//! Does what the core asks for.

use super::rest::NotedRoom;
use super::{Driver, Identity, Lent};
use crate::protocol::{Core, Piece, Target, Transmit};
use crate::transport::{LentMessages, Payload, Transfer, Transport, TransportError};
use crate::wire::{HEADER_LEN, Header, Kind, Offer, Written};

/// What a turn has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub any: bool,
    /// There was no room for something.
    pub is_refused: bool,
}

impl<C: Core, T: Transport> Driver<C, T> {
    pub(super) fn transmit(&mut self, lent: &mut Option<Lent<'_>>) -> Result<Sent, TransportError> {
        let mut any = false;
        loop {
            let room = NotedRoom::new(&self.transport);
            let Some(transmit) = self.core.poll_transmit(&room) else {
                return Ok(Sent { any, is_refused: room.is_refused() });
            };
            any = true;
            self.progressed |= !matches!(transmit, Transmit::Fetch { .. });
            self.await_connection(&transmit);
            self.carry_out(transmit, lent)?;
        }
    }

    /// A message to a rank that is not connected yet leaves this rank only when both CPUs have made the
    /// connection, so nothing completes before.
    fn await_connection(&mut self, transmit: &Transmit) {
        if let Transmit::Send { target: Target::Rank(to), .. }
        | Transmit::Resend { to, .. }
        | Transmit::Offer { to, .. }
        | Transmit::Write { to, .. } = transmit
            && !self.transport.is_connected(*to)
            && !self.connecting.contains(to)
        {
            self.connecting.push(*to);
        }
    }

    pub(super) fn carry_out(
        &mut self,
        transmit: Transmit,
        lent: &mut Option<Lent<'_>>,
    ) -> Result<(), TransportError> {
        let Driver { core, identity, messages, statistics, transport, .. } = self;
        let now = self.looked.at;
        match transmit {
            Transmit::Send { target, piece, range } => {
                let payload = messages.payload(lent, piece.op, range);
                let bytes = bytes(&payload, transport)?;
                let header = header(identity, &piece, bytes, identity.payload_crc);
                let sent = match target {
                    Target::Group => {
                        statistics.multicast_sent += u64::from(piece.kind == Kind::Fragment);
                        transport.multicast(&header, payload)?
                    }
                    Target::Rank(to) => {
                        statistics.reliable_sent += 1;
                        transport.reliable(to, &header, payload, piece.token())?
                    }
                };
                statistics.sent_in_place += u64::from(sent == Transfer::InPlace);
                Ok(())
            }
            Transmit::Retain { packets, is_multicast } => {
                for (slot, piece, range) in packets.iter() {
                    let payload = messages.payload(lent, piece.op, range);
                    let bytes = bytes(&payload, transport)?;
                    let header = header(identity, &piece, bytes, identity.payload_crc);
                    transport.retain(slot, &header, payload.clone())?;
                    if is_multicast {
                        statistics.multicast_sent += 1;
                        transport.multicast_retained(slot, &header, payload)?;
                    }
                }
                Ok(())
            }
            Transmit::Resend { to, slot, token } => {
                statistics.reliable_sent += 1;
                transport.reliable_retained(to, slot, token)
            }
            Transmit::Offer { to, piece } => {
                // What is written there would have no authentication code.
                let memory = match identity.mac {
                    None => transport.messages_mut().expose(piece.op),
                    Some(_) => None,
                };
                let offer = Offer { memory }.emit();
                let header = header(identity, &piece, &offer, identity.payload_crc);
                statistics.reliable_sent += 1;
                transport.reliable(to, &header, Payload::Bytes(&offer), piece.token()).map(drop)
            }
            Transmit::Write { to, piece, range, into } => {
                let payload = Payload::Lent(piece.op, range.clone());
                let note = Written::new(bytes(&payload, transport)?, identity.payload_crc).emit();
                let header = header(identity, &piece, &note, identity.payload_crc);
                statistics.reliable_sent += 1;
                statistics.sent_in_place += 1;
                let part = (piece.op, range);
                transport.messages_mut().write(to, &header, &note, part, into, piece.token())
            }
            Transmit::Report { to, counter, value } => {
                statistics.reports_written += 1;
                if transport.report(to, counter, value)? {
                    statistics.node_reported += 1;
                    core.handle_write_acked(now, to, counter);
                }
                Ok(())
            }
            Transmit::Fetch { from, slot, token } => {
                statistics.fetches += 1;
                transport.fetch(from, slot, token)
            }
        }
    }
}

/// The bytes of a payload, for its CRC.
fn bytes<'a>(
    payload: &Payload<'a>,
    transport: &'a impl Transport,
) -> Result<&'a [u8], TransportError> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        Payload::Lent(op, range) => transport
            .messages()
            .lent(*op, range.clone())
            .ok_or_else(|| TransportError::NotLent(*op)),
    }
}

fn header(
    identity: &Identity,
    piece: &Piece,
    payload: &[u8],
    payload_crc: bool,
) -> [u8; HEADER_LEN] {
    let Identity { rank: source, key, .. } = *identity;
    let Piece { kind, op, fragment, message_len, report, asks } = *piece;
    let header = Header { kind, source, key, op, fragment, message_len, report, asks };
    header.emit_as(payload, payload_crc, identity.mac.as_ref())
}
