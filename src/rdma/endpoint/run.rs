//! Fragments that come one behind the other, as most do. What would be asked of each of them on its
//! [way](super::receive) has one answer for all, but whether it is the next one: so that alone is asked, of its completion and
//! its source, and it goes from its slot to its message at once. Any other is left to that way.

use super::receive::Received;
use super::{Endpoint, failed};
use crate::rdma::ids::ChannelId;
use crate::rdma::ud::{Extent, Sender};
use crate::rdma::work::Work;
use verbcast_core::protocol::Run;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{Compact, Key};
use verbcast_verbs::{Completion, Outcome};

/// What the fragments of a run are known by.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// What comes along with the first.
    first: Compact,
    sender: Sender,
    /// Of a datagram, GRH included.
    len: usize,
    /// Of the communicator.
    key: Key,
}

impl Expected {
    /// The slot of a completion, if it seems to be that of the fragment so many behind the first, which is not the last and
    /// does not ask.
    #[inline]
    fn slot(&self, behind: u32, completion: &Completion) -> Option<u32> {
        let is_it = completion.immediate == Some(self.first.behind(behind).immediate())
            && completion.outcome == Outcome::Done(self.len);
        match Work::of_id(completion.id) {
            Some(Work::DatagramReceive(slot)) if is_it => Some(slot),
            _ => None,
        }
    }
}

impl Endpoint {
    /// Copies the fragments of a run that have come for a channel to their places, as long as nothing else comes between. How
    /// many they were.
    pub fn take_run(
        &mut self,
        by: ChannelId,
        now: Instant,
        run: &Run,
        into: &mut [u8],
    ) -> Result<u32, TransportError> {
        if self.is_published_for(by, run.source) {
            return Ok(self.take_published_run(by, now, run, into));
        }
        let Some(expected) = self.expect(by, run) else { return Ok(0) };
        let (mut count, mut other) = (0, None);
        while count < run.count && self.has_more(count > 0) {
            let Endpoint { device, datagrams, channels, .. } = self;
            let mut next = None;
            let is_next = |completion: &Completion| {
                let slot = expected.slot(count, completion);
                next = slot.filter(|slot| !datagrams.has_place(*slot));
                next.is_some()
            };
            let (Some(completion), Some(slot)) = (device.next_if(is_next), next) else { break };
            let Completion { outcome, origin, .. } = completion;
            // SAFETY: the completion at hand is the request's.
            let slot = unsafe { datagrams.arrived_in_slot(slot) };
            if !datagrams.is_from(&expected.sender, &slot, origin) {
                let compact = completion.immediate.map(Compact::of);
                other = Some((Received { slot, outcome, compact, origin }, None));
                break;
            }
            let payload = datagrams.payload(&slot, run.fragment_len);
            into[count as usize * run.fragment_len..][..run.fragment_len].copy_from_slice(payload);
            if let Some(seat) = channels.get_mut(by).and_then(|channel| channel.node.as_mut()) {
                let header = run.header(count, expected.key);
                seat.hand_on(&header.emit(payload, false), payload);
            }
            datagrams.recycle(slot).map_err(failed)?;
            count += 1;
        }
        if count > 0 {
            self.datagrams.note_run(count);
            self.datagrams.note_work();
        }
        if let Some(received) = other {
            self.receive_datagram(by, now, received, None)?;
        }
        Ok(count)
    }

    /// What the fragments of a run are known by, if the first of them may come next for a channel, and what is done with it is
    /// what was done with the one before it.
    fn expect(&self, by: ChannelId, run: &Run) -> Option<Expected> {
        let channel = self.channels.get(by)?;
        let compact = channel.compact.as_ref()?;
        let is_alone = channel.inbox.is_empty() && channel.is_open();
        let is_whole = compact.fragment_len == run.fragment_len
            && run.first.0 + run.count <= Compact::MAX_FRAGMENTS;
        let stream = (by, run.op);
        let is_next = self.datagrams.is_next(stream, run.first);
        let process = *channel.processes().get(run.source.index())?;
        let (sender, len) = (self.senders.last_of(process)?, Extent::received(run.fragment_len));
        (is_alone && is_whole && is_next).then(|| {
            let first = Compact::plain(compact.tag, run.op, run.first);
            Expected { first, sender, len, key: channel.key() }
        })
    }

    /// Whether there is a completion. The device is asked for more only if it had more than was polled.
    fn has_more(&mut self, may_poll: bool) -> bool {
        self.device.has_polled() || (may_poll && !self.device.is_empty() && self.poll())
    }
}
