//! The words that all protocols share: aborts and farewells.

use super::{Driver, Failure, Identity};
use crate::protocol::{Core, Token, Via};
use crate::rank::{Fragment, Rank};
use crate::time::Instant;
use crate::transport::{Arrival, Buffer, Payload, Transport, TransportError};
use crate::wire::{HEADER_LEN, Header, Kind, Notice};
use std::sync::Arc;

/// A notice to one rank that is not delivered.
#[derive(Debug)]
pub(super) struct Owed {
    to: Rank,
    token: Token,
    header: [u8; HEADER_LEN],
    payload: Arc<[u8]>,
    is_sent: bool,
}

impl<C: Core, T: Transport> Driver<C, T> {
    /// Takes note of the first failure and tells the others, who pass it on.
    pub(super) fn fail(&mut self, failure: Failure) -> Failure {
        if let Some(first) = &self.failure {
            return first.clone();
        }
        self.failure = Some(failure.clone());
        let notice = failure.notice().emit();
        // A device that fails here leaves the others to find out by themselves.
        let _ = self.notify(Kind::Abort, &notice);
        failure
    }

    /// Sends a notice to every peer and every other rank that is connected, where it can be reached;
    /// an abort goes to the group too, which is faster where it arrives.
    pub(super) fn notify(&mut self, kind: Kind, payload: &[u8]) -> Result<(), TransportError> {
        let op = self.core.next_op();
        let Identity { rank: source, key, payload_crc, mac, .. } = self.identity;
        let (fragment, message_len) = (Fragment(0), 0);
        let header =
            Header { kind, source, key, op, fragment, message_len, report: 0, asks: false };
        let header = header.emit_as(payload, payload_crc, mac.as_ref());
        let broken = self.broken.as_ref().map(|failure| failure.rank);
        let mut told = self.transport.connected();
        told.extend(self.core.peers());
        told.sort_unstable();
        told.dedup();
        told.retain(|rank| !self.departed.contains(rank) && broken != Some(*rank));
        let shared: Arc<[u8]> = payload.into();
        self.owed.extend(told.into_iter().map(|to| Owed {
            to,
            token: Token { kind, op, fragment },
            header,
            payload: Arc::clone(&shared),
            is_sent: false,
        }));
        if kind == Kind::Abort && self.transport.multicast_room() > 0 {
            self.transport.multicast(&header, Payload::Bytes(payload))?;
        }
        self.send_notices()
    }

    /// Takes reports until there are none, so that what is owed to others gets delivered even after a
    /// failure, and what others say of one is [heard](Self::failure); whether there were any.
    pub fn linger(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Ok(Some(arrival)) = self.next_arrival(now) {
            any = true;
            match arrival {
                Arrival::Delivered { to, token } => self.paid(to, token.kind),
                Arrival::Broken { peer, .. } => self.needs_no_notice(peer),
                Arrival::Packet { via, buffer } => {
                    self.hear_last(via, &buffer);
                    if self.transport.recycle(buffer).is_err() {
                        break;
                    }
                }
                Arrival::Fetched { buffer, .. } => {
                    if self.transport.recycle(buffer).is_err() {
                        break;
                    }
                }
                Arrival::Alive { .. } | Arrival::Reported { .. } | Arrival::WriteAcked { .. } => {}
            }
        }
        // As above.
        let _ = self.send_notices();
        any
    }

    /// Hears the last word of a rank, if a packet is one.
    fn hear_last(&mut self, via: Via, buffer: &Buffer) {
        let Identity { key, size, .. } = self.identity;
        let Ok(packet) = self.transport.packet(buffer, key) else { return };
        let header = *packet.header();
        if !via.admits(&header, size) {
            return;
        }
        match header.kind {
            Kind::Bye => self.needs_no_notice(header.source),
            // Who has left in good order needs to hear of none.
            Kind::Abort if self.failure.is_some() => {
                let notice = Notice::parse(packet.payload());
                self.hear_failure(notice.ok());
            }
            _ => {}
        }
    }

    /// Another rank says who has failed. Where several ranks are gone, those who notice at the same time may each name another one, so all
    /// take over the least of what is said: the lowest rank, and of different words about it those that come first.
    pub(super) fn hear_failure(&mut self, notice: Option<Notice>) {
        let Some(Notice { rank, kind, reason }) = notice else { return };
        if rank.0 >= self.identity.size {
            return;
        }
        let failure = Failure::new(rank, kind, reason);
        match &mut self.failure {
            Some(known) => {
                if (failure.rank, &failure.reason) < (known.rank, &known.reason) {
                    *known = failure;
                }
            }
            None => _ = self.fail(failure),
        }
    }

    /// Sends what is owed, as far as there is room.
    fn send_notices(&mut self) -> Result<(), TransportError> {
        for owed in self.owed.iter_mut().filter(|owed| !owed.is_sent) {
            if self.transport.notice_room() == 0 {
                break;
            }
            let Owed { to, token, header, payload, .. } = owed;
            self.transport.reliable(*to, header, Payload::Bytes(payload), *token)?;
            owed.is_sent = true;
        }
        self.transport.submit()
    }

    pub(super) fn paid(&mut self, to: Rank, kind: Kind) {
        if let Some(at) = self.owed.iter().position(|owed| owed.to == to && owed.token.kind == kind)
        {
            self.owed.swap_remove(at);
        }
    }

    /// A rank has left or is gone: nothing that it is told matters, nor may ever be acknowledged.
    pub(super) fn needs_no_notice(&mut self, rank: Rank) {
        self.owed.retain(|owed| owed.to != rank);
    }
}
