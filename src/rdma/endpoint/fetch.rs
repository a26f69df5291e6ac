//! What becomes of looks at other processes' rings.

use super::event::{Body, Event};
use super::{Endpoint, failed};
use crate::rdma::ids::ChannelId;
use crate::rdma::rc::{Look, Place, Stage, Wanted};
use verbcast_core::transport::TransportError;

impl Endpoint {
    /// Begins the looks that wait, as far as there is room.
    pub(super) fn begin_looks(&mut self) -> Result<(), TransportError> {
        while let Some(look) = self.connections.next_look() {
            let Place { channel, .. } = look.place;
            self.go_on(channel, look)?;
        }
        Ok(())
    }

    /// Nothing is being read any more for a look.
    pub(super) fn looked(&mut self, by: ChannelId, mut look: Look) -> Result<(), TransportError> {
        let channel = self.channels.get(look.place.channel);
        if !look.is_sound || channel.is_none_or(|one| !one.is_open()) {
            self.connections.give_up_look(look);
            return Ok(());
        }
        if look.stage != Stage::Payloads {
            for gone in self.connections.take_headers(&mut look) {
                self.tell_fetched(by, &look.place, gone, false)?;
            }
        }
        if look.stage != Stage::HeadersAgain && !look.wanted.is_empty() {
            return self.go_on(by, look);
        }
        for wanted in std::mem::take(&mut look.wanted) {
            self.tell_fetched(by, &look.place, wanted, true)?;
        }
        self.connections.give_up_look(look);
        Ok(())
    }

    /// Reads what is to be read next for a look, if its owner does not give the memory back: it may once either side has said
    /// its last words.
    fn go_on(&mut self, by: ChannelId, mut look: Look) -> Result<(), TransportError> {
        let Place { process, channel, .. } = look.place;
        let channel = self.channels.get(channel).filter(|one| one.is_open());
        if channel.is_some_and(|one| one.may_read(process)) {
            return self.connections.go_on(look).map_err(failed);
        }
        if channel.is_some() {
            for wanted in std::mem::take(&mut look.wanted) {
                self.tell_fetched(by, &look.place, wanted, false)?;
            }
        }
        self.connections.give_up_look(look);
        Ok(())
    }

    /// Tells whoever wants a packet of it, or that it is not there.
    fn tell_fetched(
        &mut self,
        by: ChannelId,
        place: &Place,
        mut wanted: Wanted,
        is_there: bool,
    ) -> Result<(), TransportError> {
        let Place { channel, from, .. } = *place;
        let (span, token) = (wanted.span.clone(), wanted.token);
        let mut body = Body::Copy(Vec::new());
        if !is_there {
            tracing::trace!(parent: &span, "is not there, or not read any more");
            if let Some(buffer) = wanted.buffer.take() {
                self.connections.recycle_fetched(buffer);
            }
        } else if let Some((buffer, len)) = self.connections.packet(wanted) {
            tracing::trace!(parent: &span, len, "has been read");
            body = Body::Read(buffer, len);
        }
        self.deliver(by, channel, Event::Fetched { from, token, body })
    }
}
