//! Handing what came to the communicators, so that none of them takes the buffers of the others.
//!
//! The one that polls takes its packets at once, in the buffers that they came in. What comes for another
//! is copied: nobody knows when that one will poll. Datagrams are copied up to a bound, since they may be
//! lost. Reliable messages always are: their senders wait for nothing else, and the protocols bound how far
//! a rank runs ahead of another.

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
        match self.copied(to, event)? {
            Some(event) => self.channels.tell(to, event),
            None => tracing::trace!("a datagram for a communicator that nobody polls is dropped"),
        }
        Ok(())
    }

    /// Copies what other channels than `by` have not taken, so that its buffers can be used.
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
                match self.copied(id, event)? {
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

    /// The event without buffers of the endpoint, for a channel; none if it is dropped.
    fn copied(&mut self, to: ChannelId, event: Event) -> Result<Option<Event>, TransportError> {
        let most = self.settings.depths.max_held() as usize;
        Ok(match event {
            Event::Packet { via, header, is_intact, body, place }
                if !matches!(body, Body::Copy(_)) =>
            {
                let channel = self.channels.get_mut(to);
                let is_full = via == Via::Multicast
                    && channel.as_ref().is_none_or(|channel| channel.inbox.copies() >= most);
                if !is_full {
                    let body = self.copy(body)?;
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
            Body::Datagram(slot, _) => self.datagrams.recycle(slot, None).map_err(failed),
            Body::Message(slot, _) => self.connections.recycle(slot).map_err(failed),
            Body::Read(slot, _) => {
                self.connections.recycle_fetched(slot);
                Ok(())
            }
            Body::Copy(_) => Ok(()),
        }
    }
}
