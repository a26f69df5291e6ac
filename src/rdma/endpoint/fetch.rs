//! What becomes of reads of other processes' rings.

use super::event::{Body, Event};
use super::{Endpoint, failed};
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::rc::{Fetcher, Next};
use verbcast_core::transport::TransportError;
use verbcast_verbs::Slot;

impl Endpoint {
    /// A read of a process's ring has ended, well where there is a fetcher.
    pub(super) fn fetched(
        &mut self,
        by: ChannelId,
        process: ProcessId,
        slot: Slot,
        fetcher: Option<Fetcher>,
    ) -> Result<(), TransportError> {
        let is_there =
            |one: &Fetcher| self.channels.get(one.channel).is_some_and(|one| one.is_open());
        let Some(mut fetcher) = fetcher.filter(is_there) else {
            self.connections.recycle_fetched(slot);
            return Ok(());
        };
        let next = fetcher.take(self.connections.read_pool().bytes(&slot));
        let Fetcher { channel, from, token, .. } = fetcher;
        // Its owner may give the memory back once either side has said its last words.
        let may_read = self.channels.get(channel).is_some_and(|one| one.may_read(process));
        let body = match next {
            Next::Read(into, at) if may_read => {
                let read = self.connections.fetch_more(process, slot, fetcher, (into, at));
                return read.map_err(failed);
            }
            Next::Packet(len) => {
                tracing::trace!(parent: &fetcher.span, len, "has been read");
                Body::Read(slot, len)
            }
            Next::Read(..) | Next::Nothing => {
                tracing::trace!(parent: &fetcher.span, "is not there, or not read any more");
                self.connections.recycle_fetched(slot);
                Body::Copy(Box::default())
            }
        };
        self.deliver(by, channel, Event::Fetched { from, token, body })
    }
}
