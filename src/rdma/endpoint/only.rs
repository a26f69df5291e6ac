//! A message of one fragment that comes when its broadcast is called: most do. Its header says nothing that is not known then,
//! so that it is only compared with that, and the payload goes from its slot to the message at once. Any other is left to the
//! [way](super::receive) of all.

use super::receive::Received;
use super::{Endpoint, failed};
use crate::rdma::ids::ChannelId;
use crate::rdma::ud::Extent;
use crate::rdma::work::Work;
use verbcast_core::protocol::Run;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{HEADER_LEN, RawHeader};
use verbcast_verbs::{Completion, Outcome};

impl Endpoint {
    /// Copies the only fragment of a message to it, if that is what has come next for a channel; whether it was.
    pub fn take_only(
        &mut self,
        by: ChannelId,
        now: Instant,
        run: &Run,
        into: &mut [u8],
    ) -> Result<bool, TransportError> {
        if self.is_published_for(by, run.source) {
            return Ok(self.take_only_published(by, now, run, into));
        }
        let is_plain = !self.checks_fragments();
        let Endpoint { device, datagrams, channels, .. } = self;
        // For mates it would have to be published.
        let channel = channels.get_mut(by).filter(|channel| {
            is_plain && channel.is_open() && channel.inbox.is_empty() && channel.node.is_none()
        });
        let Some(channel) = channel else { return Ok(false) };
        let len = Extent::received(HEADER_LEN + into.len());
        let mut next = None;
        let may_be_it = |completion: &Completion| {
            let is_it = completion.immediate.is_none() && completion.outcome == Outcome::Done(len);
            next = match Work::of_id(completion.id) {
                Some(Work::DatagramReceive(slot)) if is_it && !datagrams.has_place(slot) => {
                    Some(slot)
                }
                _ => None,
            };
            next.is_some()
        };
        let (Some(completion), Some(slot)) = (device.next_if(may_be_it), next) else {
            return Ok(false);
        };
        // SAFETY: the completion at hand is the request's.
        let slot = unsafe { datagrams.arrived_in_slot(slot) };
        let bytes = datagrams.bytes(&slot, Extent::new(len, false));
        // As it says nothing else, its CRC would tell nothing more.
        let is_it = RawHeader::parse(bytes).is_some_and(|header| {
            let fields = header.unchecked();
            fields.key == channel.key() && run.is_all(fields, header.payload_len())
        });
        if !is_it {
            let Completion { outcome, origin, .. } = completion;
            let received = Received { slot, outcome, compact: None, origin };
            return self.receive_datagram(by, now, (received, None), None).map(|_| false);
        }
        into.copy_from_slice(&bytes[HEADER_LEN..]);
        if datagrams.note_received(Some(((by, run.op), run.first))) {
            channel.inbox.run_out();
        }
        datagrams.note_work();
        datagrams.recycle(slot).map_err(failed)?;
        Ok(true)
    }
}
