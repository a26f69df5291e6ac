//! Handing what came to the communicators, so that none of them takes the buffers of the others.
//!
//! The one that polls takes its packets at once, in the buffers that they came in. Nobody knows when another will poll.
//! Datagrams for it stay in their buffers as long as the endpoint [can spare
//! them](Endpoint::can_spare_receives), are copied then, and dropped beyond a bound, since they may be lost. Reliable messages
//! are always copied: their senders wait for nothing else, and the protocols bound how far a rank runs ahead of another.

use super::event::{Body, Event};
use super::{Endpoint, failed};
use crate::rdma::ids::ChannelId;
use verbcast_core::protocol::Via;
use verbcast_core::transport::TransportError;

impl Endpoint {
    /// Hands a channel what came for it, on behalf of another one or itself.
    pub(super) fn deliver(
        &mut self,
        by: ChannelId,
        to: ChannelId,
        event: Event,
    ) -> Result<(), TransportError> {
        if by == to {
            self.channels.set_slots();
            self.channels.tell(to, event);
            return Ok(());
        }
        match self.kept(to, event)? {
            Some(event) => self.channels.tell(to, event),
            None => tracing::trace!("a datagram for a communicator that nobody polls is dropped"),
        }
        Ok(())
    }

    /// Makes others than `by` keep what they have not taken as if it came now.
    pub(super) fn free_slots_of_others(&mut self, by: ChannelId) -> Result<(), TransportError> {
        if !self.channels.take_slots() {
            return Ok(());
        }
        for id in self.channels.ids() {
            let Some(channel) = self.channels.get_mut(id) else { continue };
            if channel.inbox.is_empty() {
                continue;
            }
            if id == by {
                self.channels.set_slots();
                continue;
            }
            for event in channel.inbox.take() {
                match self.kept(id, event)? {
                    Some(event) => {
                        if let Some(channel) = self.channels.get_mut(id) {
                            channel.inbox.push(event);
                        }
                    }
                    None => tracing::trace!("a datagram that nobody took is dropped"),
                }
            }
        }
        Ok(())
    }

    /// The event in memory where it can wait for a channel; none if it is dropped.
    fn kept(&mut self, to: ChannelId, event: Event) -> Result<Option<Event>, TransportError> {
        let most = self.settings.depths.max_held() as usize;
        Ok(match event {
            Event::Packet { via, header, is_intact, body, place }
                if !matches!(body, Body::Copy(_)) =>
            {
                let may_stay = via == Via::Multicast && self.can_spare_receives();
                let channel = self.channels.get_mut(to);
                let is_full = via == Via::Multicast
                    && channel.as_ref().is_none_or(|channel| channel.inbox.datagrams() >= most);
                if !is_full {
                    let body = if may_stay { body } else { self.copy(body)? };
                    return Ok(Some(Event::Packet { via, header, is_intact, body, place }));
                }
                if let Some(channel) = channel {
                    channel.inbox.overflow();
                }
                self.free(body)?;
                place.map(|(op, fragment)| Event::Missed { op, fragment, moved: false })
            }
            Event::Fetched { from, token, body } => {
                let body = self.copy(body)?;
                Some(Event::Fetched { from, token, body })
            }
            event => Some(event),
        })
    }

    /// A copy of a body, whose buffer is free again.
    fn copy(&mut self, body: Body) -> Result<Body, TransportError> {
        if matches!(body, Body::Copy(_)) {
            return Ok(body);
        }
        let copy = Body::Copy(body.bytes(&self.pools()).into());
        self.free(body)?;
        Ok(copy)
    }

    /// Makes the buffer of a body free again.
    pub(in crate::rdma) fn free(&mut self, body: Body) -> Result<(), TransportError> {
        match body {
            Body::Datagram(slot, _) => self.datagrams.recycle(slot).map_err(failed),
            Body::Message(slot, _) => self.connections.recycle(slot).map_err(failed),
            Body::Read(slot, _) => {
                self.connections.recycle_fetched(slot);
                Ok(())
            }
            Body::Copy(buffer) => {
                self.spares.put(buffer);
                Ok(())
            }
        }
    }
}
