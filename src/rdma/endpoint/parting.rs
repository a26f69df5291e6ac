//! Parting: a process leaves a communicator, or a communicator is closed here.

use super::Endpoint;
use super::event::Event;
use super::failed;
use crate::rdma::ids::{ChannelId, ProcessId};
use std::collections::HashSet;
use verbcast_core::protocol::Via;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_verbs::Span;

impl Endpoint {
    /// A process has left a channel, or the channel is closed here: what is under way to it is given up
    /// soon, unless another channel needs the connection.
    pub fn part(&mut self, now: Instant, channel: ChannelId, process: ProcessId) {
        if let Some(channel) = self.channels.get_mut(channel) {
            let key = channel.key();
            if channel.lifetime.depart(process) {
                self.inquire(process, key, true);
            }
        }
        if self.connections.exists(process) && self.is_stranger(process) {
            self.lifetimes.depart(now, process);
        }
    }

    /// Gives up what is under way to a process that has left every channel. Where it may come back in
    /// another one, its adapter is asked first whether it is still there.
    pub(super) fn retire(
        &mut self,
        now: Instant,
        process: ProcessId,
    ) -> Result<(), TransportError> {
        if !self.is_stranger(process) || self.connections.is_broken(process) {
            return Ok(());
        }
        if !self.is_shared {
            self.give_up_on(process);
            return Ok(());
        }
        if !self.connections.is_connected(process) {
            let waiting = self.connections.drain(process);
            self.drop_pending(process, waiting);
        } else if !self.connections.is_idle(process) {
            self.connections.probe(process, None).map_err(failed)?;
            self.lifetimes.depart(now, process);
        }
        Ok(())
    }

    /// A channel is closed here. `memory` is what requests of it may use, and others may reach into unless
    /// they never could.
    pub fn close(&mut self, now: Instant, id: ChannelId, memory: Vec<Span>, is_reached: bool) {
        let Some(channel) = self.channels.get_mut(id) else { return };
        let key = channel.key();
        let inquirers = channel.lifetime.take_inquirers();
        let events = channel.inbox.take();
        let own = channel.processes()[channel.rank().index()];
        let others: Vec<_> =
            channel.processes().iter().copied().filter(|process| *process != own).collect();
        for event in events {
            if let Event::Packet { via: Via::Reliable, header, is_intact, body, .. } = &event {
                self.note_farewell(id, header, *is_intact, body);
            }
            if let Event::Packet { body, .. } | Event::Fetched { body, .. } = event
                && let Err(error) = self.free(body)
            {
                tracing::warn!("while closing a communicator: {error}");
            }
        }
        let may_reach = |process: &ProcessId| {
            let connections = &self.connections;
            is_reached && connections.exists(*process) && !connections.is_broken(*process)
        };
        let awaited: HashSet<_> = others.iter().copied().filter(may_reach).collect();
        self.give_tag_back(id);
        self.channels.close(id, memory, &awaited);
        self.reserved.release(id);
        inquirers.into_iter().for_each(|process| self.inquire(process, key, true));
        awaited.into_iter().for_each(|process| self.inquire(process, key, false));
        // Nobody may poll for long.
        if let Err(error) = self.send_inquiries().and_then(|()| self.submit()) {
            tracing::warn!("while closing a communicator: {error}");
        }
        for process in others {
            self.part(now, id, process);
        }
    }

    /// Whether a process is in no channel that is in use here.
    fn is_stranger(&self, process: ProcessId) -> bool {
        !self.channels.iter().any(|channel| channel.has(process))
    }
}
