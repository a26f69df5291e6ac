//! The words that all protocols share: aborts and farewells.

use super::{Driver, Failure};
use crate::protocol::{Core, Token};
use crate::rank::{Fragment, Rank};
use crate::transport::{Transport, TransportError};
use crate::wire::{Header, Kind, Notice};

impl<C: Core, T: Transport> Driver<C, T> {
    /// Takes note of the first failure and tells the peers, who pass it on.
    pub(super) fn fail(&mut self, failure: Failure) -> Failure {
        if let Some(first) = &self.failure {
            return first.clone();
        }
        self.failure = Some(failure.clone());
        let Failure { rank, reason } = failure.clone();
        let notice = Notice { rank, reason }.emit();
        // A device that fails here leaves the peers to find out by themselves.
        let _ = self.notify(Kind::Abort, &notice);
        failure
    }

    /// Sends a notice to every peer and every other rank that is connected, where it can be reached; an abort goes to the group too, which is
    /// faster where it arrives.
    pub(super) fn notify(&mut self, kind: Kind, payload: &[u8]) -> Result<(), TransportError> {
        let op = self.core.next_op();
        let super::Identity { rank: source, key, payload_crc, .. } = self.identity;
        let (fragment, message_len) = (Fragment(0), 0);
        let header = Header { kind, source, key, op, fragment, message_len, report: 0 };
        let header = header.emit(payload, payload_crc);
        let broken = self.broken.as_ref().map(|failure| failure.rank);
        let mut told = self.transport.connected();
        told.extend(self.core.peers());
        told.sort_unstable();
        told.dedup();
        for peer in told {
            if !self.departed.contains(&peer) && broken != Some(peer) {
                self.transport.reliable(peer, &header, payload, Token { kind, op, fragment })?;
                self.owed.push((peer, kind));
            }
        }
        if kind == Kind::Abort && self.transport.multicast_room() > 0 {
            self.transport.multicast(&header, payload)?;
        }
        Ok(())
    }

    pub(super) fn paid(&mut self, to: Rank, kind: Kind) {
        if let Some(at) = self.owed.iter().position(|owed| *owed == (to, kind)) {
            self.owed.swap_remove(at);
        }
    }
}
