//! The multicast alone: each fragment is sent once, and what is lost is lost.
//!
//! The packets are the protocols' own, with header and CRC, over the same kind of transport, so that what
//! the others take longer is the price of their reliability.

use super::Contender;
use crate::bench::transport::open_transport;
use crate::launch::decide::blame;
use std::collections::VecDeque;
use std::ops::DerefMut;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Config, Endpoint};
use verbcast::clock::Clock;
use verbcast::rdma::{Agreed, Multicast, RdmaTransport};
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::{Bitmap, Fragments, Room};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Buffer, Faulty, Park, Payload, Transport, TransportError};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, MacKey};

/// How long a message that has not begun or stands still is waited for.
const PATIENCE: Duration = Duration::from_millis(250);
/// The same where a later message, of another root, has begun already.
const PATIENCE_OVERTAKEN: Duration = Duration::from_millis(5);
/// The least patience after waits in vain.
const MIN_PATIENCE: Duration = Duration::from_millis(5);
/// Packets of later messages that are kept at most.
const MAX_EARLY: usize = 16;

pub struct Raw {
    transport: Faulty<RdmaTransport>,
    key: Key,
    me: Rank,
    fragment_len: usize,
    payload_crc: bool,
    mac: Option<MacKey>,
    clock: Clock,
    next: OpId,
    /// Packets of later messages and their roots, in the order in which they came.
    early: VecDeque<(Rank, Buffer)>,
    /// Messages that were waited for in vain since anything came, or since all ranks met.
    in_vain: u32,
    counters: Statistics,
}

/// A message on its way to this rank.
struct Reception<'a> {
    op: OpId,
    root: Rank,
    fragments: Fragments,
    came: Bitmap,
    message: &'a mut [u8],
}

impl Raw {
    pub fn open(
        bootstrap: &mut dyn Bootstrap,
        endpoint: &Endpoint,
        config: &Config,
    ) -> Result<Raw, String> {
        let me = bootstrap.rank();
        let (transport, Agreed { key, mac, .. }, _) =
            open_transport(bootstrap, endpoint, config, Multicast::Require)?;
        Ok(Raw {
            fragment_len: transport.packet_len() - HEADER_LEN,
            transport: Faulty::new(transport, config.faults.unwrap_or_default(), me),
            key,
            mac,
            me,
            payload_crc: config.device.payload_crc,
            clock: Clock::of_process(),
            next: OpId(0),
            early: VecDeque::new(),
            in_vain: 0,
            counters: Statistics::default(),
        })
    }

    fn send(
        &mut self,
        op: OpId,
        fragments: &Fragments,
        message: &[u8],
    ) -> Result<(), TransportError> {
        for number in 0..fragments.count() {
            let fragment = Fragment(number);
            let begun = self.clock.now();
            while self.transport.multicast_room() == 0 {
                if !self.drop_one()? {
                    self.transport.park(self.clock.now() - begun, PATIENCE)?;
                }
            }
            let payload = fragments.range(fragment).map_or(&[][..], |range| &message[range]);
            let (source, message_len) = (self.me, message.len() as u64);
            let (kind, key, report) = (Kind::Fragment, self.key, 0);
            let header =
                Header { kind, source, key, op, fragment, message_len, report, asks: false };
            let header = header.emit_as(payload, self.payload_crc, self.mac.as_ref());
            self.transport.multicast(&header, Payload::Bytes(payload))?;
            self.counters.multicast_sent += 1;
        }
        self.transport.submit()?;
        // Multicast comes back to its sender.
        while self.drop_one()? {}
        Ok(())
    }

    /// Gives back the next packet that is here, unread.
    fn drop_one(&mut self) -> Result<bool, TransportError> {
        let arrival = self.transport.poll(self.clock.now())?;
        match arrival {
            Some(Arrival::Packet { buffer, .. }) => self.transport.recycle(buffer).map(|()| true),
            other => Ok(other.is_some()),
        }
    }

    /// Receives until the message is whole, or hope is lost.
    fn receive(&mut self, reception: &mut Reception<'_>) -> Result<(), TransportError> {
        for (_, buffer) in std::mem::take(&mut self.early) {
            self.take(reception, buffer)?;
        }
        let mut last = self.clock.now();
        while !reception.came.is_full() {
            let now = self.clock.now();
            let patience = self.patience(reception.root);
            if patience.is_zero() {
                break;
            }
            match self.transport.poll(now)? {
                Some(Arrival::Packet { buffer, .. }) => {
                    (last, self.in_vain) = (now, 0);
                    self.take(reception, buffer)?;
                }
                Some(_) => {}
                None if now - last >= patience => {
                    self.in_vain = self.in_vain.saturating_add(1);
                    break;
                }
                None => self.transport.park(now - last, patience - (now - last))?,
            }
        }
        Ok(())
    }

    /// How long to wait for the next packet. What one rank sends comes in its order, so that nothing
    /// comes any more once a later message of the same root has begun.
    fn patience(&self, root: Rank) -> Duration {
        if self.early.is_empty() {
            patience_after(self.in_vain)
        } else if self.early.len() >= MAX_EARLY
            || self.early.iter().any(|(source, _)| *source == root)
        {
            Duration::ZERO
        } else {
            PATIENCE_OVERTAKEN
        }
    }

    /// Takes a packet, and puts it where it belongs.
    fn take(
        &mut self,
        reception: &mut Reception<'_>,
        buffer: Buffer,
    ) -> Result<(), TransportError> {
        let Ok(packet) = self.transport.packet(&buffer, self.key) else {
            return self.transport.recycle(buffer);
        };
        let Header { source, op, fragment, .. } = *packet.header();
        if source == self.me {
            return self.transport.recycle(buffer);
        }
        let age = op.after(reception.op);
        if age > 0 {
            self.early.push_back((source, buffer));
            return Ok(());
        }
        let range = reception.fragments.range(fragment);
        if age == 0
            && let Some(range) = range
            && range.len() == packet.payload().len()
        {
            self.counters.multicast_received += 1;
            if reception.came.insert(fragment.0) {
                reception.message[range].copy_from_slice(packet.payload());
            }
        } else {
            self.counters.late += 1;
        }
        self.transport.recycle(buffer)
    }
}

/// How long to wait for a message where so many before were waited for in vain: half as long each time. A root that
/// has sent all its messages while this rank had no receives for them is silent from then on.
fn patience_after(in_vain: u32) -> Duration {
    let halved = PATIENCE.checked_div(1_u32.checked_shl(in_vain).unwrap_or(0));
    halved.unwrap_or_default().max(MIN_PATIENCE)
}

impl Contender for Raw {
    fn buffer(&mut self, len: usize) -> Box<dyn DerefMut<Target = [u8]>> {
        Box::new(vec![0; len])
    }

    fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, String> {
        let op = self.next;
        self.next = op.next();
        self.counters.operations += 1;
        let fragments = Fragments::new(message.len() as u64, self.fragment_len);
        let fragments = fragments.ok_or_else(|| blame(self.me, "the message is too long"))?;
        if root == self.me {
            let sent = self.send(op, &fragments, message);
            return sent.map(|()| true).map_err(|error| blame(self.me, error));
        }
        let came = Bitmap::new(fragments.count());
        let mut reception = Reception { op, root, fragments, came, message };
        self.receive(&mut reception).map_err(|error| blame(self.me, error))?;
        self.counters.lost += u64::from(reception.came.clear());
        Ok(reception.came.is_full())
    }

    fn progress(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn settle(&mut self) -> Result<(), String> {
        self.in_vain = 0;
        Ok(())
    }

    fn counters(&self) -> Statistics {
        self.counters
    }

    fn abort(&mut self, _reason: &str) {}

    fn close(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_root_is_waited_for_less_and_less() {
        assert_eq!(patience_after(0), PATIENCE);
        assert_eq!(patience_after(1), PATIENCE / 2);
        assert_eq!((patience_after(31), patience_after(u32::MAX)), (MIN_PATIENCE, MIN_PATIENCE));
        let total: Duration = (0..2000).map(patience_after).sum();
        assert!(total < 2 * PATIENCE + 2000 * MIN_PATIENCE, "{total:?}");
    }
}
