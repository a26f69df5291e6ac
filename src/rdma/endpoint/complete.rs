//! Turns completions into what communicators are told.

use super::event::Event;
use super::receive::Received;
use super::rx_table::RxTable;
use super::{Endpoint, failed};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::rc::{Request, Sender};
use crate::rdma::ud::Datagram;
use crate::rdma::work::Work;
use std::net::Ipv6Addr;
use verbcast_core::protocol::Counter;
use verbcast_core::time::Instant;
use verbcast_core::transport::{Buffer, TransportError};
use verbcast_core::wire::{Compact, ProcessAddress};
use verbcast_verbs::{Completion, Outcome};

impl Endpoint {
    /// Hands to the device what waits, and tells all communicators of all completions, on behalf of one; whether there were
    /// any. A failure of the device is kept, and requests that it still ends are taken note of.
    pub fn pull(&mut self, by: ChannelId, now: Instant) -> bool {
        let mut any = self.device.has_polled();
        self.tell_all(by, now);
        any |= self.submit_and_poll();
        self.tell_all(by, now);
        any
    }

    /// Hands to the device what waits, and polls for completions; whether there are any.
    pub(super) fn submit_and_poll(&mut self) -> bool {
        if let Err(error) = self.submit() {
            self.device.fail(error);
        }
        self.poll()
    }

    /// Polls for completions; whether there are any.
    #[inline]
    pub(super) fn poll(&mut self) -> bool {
        let is_new = !self.device.has_polled();
        let any = self.device.poll();
        if any && is_new && self.device.was_empty() {
            self.datagrams.know_all();
        }
        any
    }

    /// Takes note of what mates have published, and of the completions that were polled, on behalf of a channel, until that is
    /// told something: a packet that it needs nothing but to have comes into its table at once, and all else into its inbox.
    #[inline]
    pub fn next_packet(
        &mut self,
        by: ChannelId,
        now: Instant,
        table: &mut RxTable,
    ) -> Option<Buffer> {
        // Mates first, so that it is known what they have when something is handed on.
        if self.is_seated(by)
            && let Some(packet) = self.next_published(by, now, table)
        {
            return Some(packet);
        }
        while self.channels.get(by).is_none_or(|own| own.inbox.is_empty())
            && let Some(completion) = self.device.next()
        {
            let Some(work) = Work::of_id(completion.id) else { continue };
            match self.complete(by, now, work, completion, Some(table)) {
                Ok(None) => {}
                Ok(packet) => return packet,
                Err(error) => self.device.fail(error),
            }
        }
        None
    }

    /// Takes note of all completions that were polled, on behalf of a channel.
    fn tell_all(&mut self, by: ChannelId, now: Instant) {
        while let Some(completion) = self.device.next() {
            if let Some(work) = Work::of_id(completion.id)
                && let Err(error) = self.complete(by, now, work, completion, None)
            {
                self.device.fail(error);
            }
        }
    }

    /// Takes note of a completion, on behalf of a channel; a packet for that one that is in its table now, if it is given.
    fn complete(
        &mut self,
        by: ChannelId,
        now: Instant,
        work: Work,
        completion: Completion,
        table: Option<&mut RxTable>,
    ) -> Result<Option<Buffer>, TransportError> {
        let Completion { outcome, immediate, origin, .. } = completion;
        match work {
            Work::DatagramReceive(slot) => {
                // SAFETY: the completion at hand is the request's.
                let (slot, place) = unsafe { self.datagrams.arrived(slot) };
                let compact = immediate.map(Compact::of);
                let received = Received { slot, outcome, compact, origin };
                return self.receive_datagram(by, now, (received, place), table);
            }
            Work::Receive(slot) => {
                // SAFETY: as above.
                let slot = unsafe { self.connections.arrived(slot) };
                match outcome {
                    Outcome::Done(len) => self.receive_message(by, slot, len)?,
                    // Some devices end the receive that was in use when its connection failed, though the others stay.
                    Outcome::Failed(_) | Outcome::Flushed => {
                        self.connections.recycle(slot).map_err(failed)?;
                    }
                }
            }
            Work::Datagram(number) => {
                // SAFETY: as above.
                while let Some((datagram, _)) = unsafe { self.datagrams.sent(number) } {
                    if let Datagram::Ring(channel, slot) = datagram {
                        self.channels.tell(channel, Event::RingSent { slot, delivered: None });
                    }
                }
                self.check_datagrams(now, &outcome)?;
            }
            Work::Request(process, number) => {
                while let Some((request, is_it)) = self.connections.ended(process, number) {
                    let is_done = match outcome {
                        Outcome::Done(_) => true,
                        // What was before it has not failed.
                        Outcome::Failed(_) => !is_it,
                        Outcome::Flushed => false,
                    };
                    // SAFETY: as above; a later request of a queue completes after all before it.
                    unsafe { self.ended(by, process, request, is_done) }?;
                }
                self.connections.start(process).map_err(failed)?;
                self.check_connection(now, process, outcome);
            }
            Work::Probe(process) => {
                for channel in self.connections.probed(process) {
                    let peer = self.channels.get(channel).and_then(|one| one.rank_of(process));
                    if let (Some(peer), Outcome::Done(_)) = (peer, &outcome) {
                        self.channels.tell(channel, Event::Alive { peer });
                    }
                }
                self.check_connection(now, process, outcome);
            }
        }
        Ok(None)
    }

    /// A request over a connection has ended, well or not.
    ///
    /// # Safety
    /// A completion of the request was polled, or of a later one on its queue, and this is the first time that
    /// it is told.
    unsafe fn ended(
        &mut self,
        by: ChannelId,
        process: ProcessId,
        request: Request,
        is_done: bool,
    ) -> Result<(), TransportError> {
        match request {
            Request::Message(slot) => {
                // SAFETY: promised by the caller.
                let sender = unsafe { self.connections.sent(slot) };
                if let Some(Sender { channel, to, token }) = sender.filter(|_| is_done) {
                    self.channels.tell(channel, Event::Delivered { to, token });
                }
            }
            Request::Ring(channel, slot) => {
                let delivered = self.connections.ring_sent(process).filter(|_| is_done);
                self.channels.tell(channel, Event::RingSent { slot, delivered });
            }
            Request::Report(channel, counter) => {
                self.tell_reported(channel, process, counter, is_done);
            }
            // The message behind it, or before it, tells.
            Request::Write | Request::Echo | Request::EchoRead => {}
            Request::Fetch(buffer) => {
                // SAFETY: promised by the caller.
                if let Some(look) = unsafe { self.connections.fetched(buffer, is_done) } {
                    self.looked(by, look)?;
                }
            }
        }
        Ok(())
    }

    /// Tells a channel that a report has ended.
    pub fn tell_reported(
        &mut self,
        channel: ChannelId,
        process: ProcessId,
        counter: Counter,
        is_told: bool,
    ) {
        let to = self.channels.get(channel).and_then(|one| one.rank_of(process));
        if let Some(to) = to {
            self.channels.tell(channel, Event::Reported { to, counter, is_told });
        }
    }

    /// A connection is unusable if a request over it has failed.
    fn check_connection(&mut self, now: Instant, process: ProcessId, outcome: Outcome) {
        match &outcome {
            Outcome::Done(_) => {}
            Outcome::Failed(reason) => self.lose(now, process, reason),
            // Mostly after a failure that was told, or where the connection was given up here.
            Outcome::Flushed if self.connections.is_broken(process) => {}
            Outcome::Flushed => self.suspect(now, process),
        }
    }

    /// A connection has failed.
    pub(super) fn lose(&mut self, now: Instant, process: ProcessId, reason: &str) {
        if self.connections.is_broken(process) {
            return;
        }
        if self.channels.iter().any(|channel| channel.has(process)) {
            let ProcessAddress { gid, datagrams, .. } = self.connections.address(process);
            let (peer, qpn) = (Ipv6Addr::from(gid), datagrams.qpn);
            tracing::info!(%peer, qpn, reason, "the connection with a process has failed");
            self.blame_port(now);
        }
        self.broke(process, reason);
    }

    /// A datagram has come or left, or the UD QP has failed. Where requests were flushed that nobody gave up, it has
    /// failed otherwise than by one of them.
    pub(super) fn check_datagrams(
        &mut self,
        now: Instant,
        outcome: &Outcome,
    ) -> Result<(), TransportError> {
        match outcome {
            Outcome::Done(_) => {
                self.datagrams.note_work();
                Ok(())
            }
            Outcome::Failed(reason) => self.fail_datagrams(now, reason),
            Outcome::Flushed => self.fail_datagrams(now, "its requests were flushed"),
        }
    }
}
