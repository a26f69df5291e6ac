//! What becomes of communicators when a connection breaks.

use super::Endpoint;
use super::event::Event;
use crate::rdma::ids::ProcessId;
use crate::rdma::rc::Pending;

impl Endpoint {
    /// A connection is unusable: every communicator with that process is told, if that is news.
    pub fn broke(&mut self, process: ProcessId, reason: &str) {
        if !self.give_up_on(process) {
            return;
        }
        for id in self.channels.ids() {
            let Some(channel) = self.channels.get_mut(id) else { continue };
            if channel.has(process)
                && let Some(rank) = channel.rank_of(process)
            {
                channel.inbox.push_broken(rank, reason);
            }
        }
    }

    /// Gives up a connection, and frees what waited for it; whether that is news.
    pub(super) fn give_up_on(&mut self, process: ProcessId) -> bool {
        let waiting = self.connections.broke(process);
        let is_news = waiting.is_some();
        for id in self.channels.ids() {
            self.channels.set_done(id, process);
        }
        self.drop_pending(process, waiting.unwrap_or_default());
        is_news
    }

    /// Ends what waited for a connection in vain.
    pub(super) fn drop_pending(&mut self, process: ProcessId, waiting: Vec<Pending>) {
        for pending in waiting {
            match pending {
                Pending::Ring(channel, slot, _) => {
                    self.channels.tell(channel, Event::RingSent { slot, delivered: None });
                }
                Pending::Report(channel, counter, ..) => {
                    self.tell_reported(channel, process, counter, false);
                }
                // Their slots are free already.
                Pending::Message(..)
                | Pending::Write(..)
                | Pending::Last(..)
                | Pending::Fetch(..) => {}
            }
        }
    }
}
