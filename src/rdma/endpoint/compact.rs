//! Fragments that fill their datagrams: which communicators have them, and whose header a compact one stands for.

use super::Endpoint;
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::ud::{Extent, Sender};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::wire::{Checks, Compact, FreeTags, RawHeader, Tag};
use verbcast_verbs::{Origin, Slot};

/// What a communicator has for compact headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactHeaders {
    /// What stands for it in them.
    pub tag: Tag,
    /// An operation that others are near.
    pub near: OpId,
    /// Bytes of a fragment that fills its datagram.
    pub fragment_len: usize,
    /// Whose datagram came last, most often that of the next one too.
    last: Option<(ProcessId, Rank)>,
}

/// The communicators that have tags.
#[derive(Debug, Default)]
pub struct Tagged([Option<ChannelId>; Tag::COUNT]);

impl Tagged {
    /// Those that none has.
    pub fn free(&self) -> FreeTags {
        let free = self.0.iter().enumerate().filter(|(_, of)| of.is_none());
        FreeTags(free.fold(0, |tags, (tag, _)| tags | 1 << tag))
    }

    /// The communicator of a tag.
    pub fn of(&self, tag: Tag) -> Option<ChannelId> {
        self.0[tag.index()]
    }

    /// A communicator takes a tag; false where another one has it.
    pub fn take(&mut self, tag: Tag, channel: ChannelId) -> bool {
        let is_free = self.of(tag).is_none();
        if is_free {
            self.0[tag.index()] = Some(channel);
        }
        is_free
    }

    /// A communicator needs its tag no more.
    pub fn give_back(&mut self, channel: ChannelId) {
        self.0.iter_mut().filter(|of| **of == Some(channel)).for_each(|of| *of = None);
    }
}

impl Endpoint {
    /// Takes a tag for a channel, whose fragments of so many bytes fill their datagrams; false where another one has it.
    pub fn take_tag(&mut self, id: ChannelId, tag: Tag, fragment_len: usize) -> bool {
        let Some(channel) = self.channels.get_mut(id) else { return false };
        channel.compact = Some(CompactHeaders { tag, near: OpId(0), fragment_len, last: None });
        let is_taken = self.tagged.take(tag, id);
        if !is_taken {
            self.give_tag_back(id);
        }
        is_taken
    }

    /// Not all ranks have it for a channel, or it is closed.
    pub fn give_tag_back(&mut self, id: ChannelId) {
        self.tagged.give_back(id);
        if let Some(channel) = self.channels.get_mut(id) {
            channel.compact = None;
        }
    }

    /// Tags that no communicator has.
    pub fn free_tags(&self) -> FreeTags {
        self.tagged.free()
    }

    /// So many bytes of a channel's fragments fill their datagrams, as its group carries no more.
    pub fn set_whole(&mut self, id: ChannelId, fragment_len: usize) {
        if let Some(compact) = self.channels.get_mut(id).and_then(|one| one.compact.as_mut()) {
            compact.fragment_len = fragment_len;
        }
    }

    /// What others send on a channel is of operations near this one.
    pub fn set_near(&mut self, id: ChannelId, near: OpId) {
        if let Some(compact) = self.channels.get_mut(id).and_then(|one| one.compact.as_mut()) {
            compact.near = near;
        }
    }

    /// The header that came along with a payload of so many bytes, and the channel that it is for, if the sender is one of its
    /// ranks.
    pub(super) fn expand(
        &mut self,
        compact: Compact,
        sender: Option<Sender>,
        payload_len: usize,
    ) -> Option<(RawHeader, ChannelId)> {
        let id = self.tagged.of(compact.tag())?;
        let process = self.senders.find(sender?)?;
        let channel = self.channels.get_mut(id)?;
        let CompactHeaders { near, fragment_len, last, .. } = channel.compact?;
        let rank = match last {
            Some((known, rank)) if known == process => rank,
            _ => {
                let rank = channel.rank_of(process)?;
                channel.compact.as_mut()?.last = Some((process, rank));
                rank
            }
        };
        let source = (rank, channel.key());
        let header = compact.expand(source, near, payload_len, fragment_len);
        Some((RawHeader::expanded(header, payload_len)?, id))
    }

    /// The processes of a communicator send from their addresses.
    pub(super) fn learn_addresses(&mut self, processes: &[ProcessId]) {
        for process in processes {
            let address = self.connections.address(*process);
            let sender = Sender { gid: address.gid, qpn: address.datagrams.qpn };
            self.senders.learn(sender, *process);
        }
    }

    /// A probe on the group of a channel came from here.
    pub(super) fn learn_sender(
        &mut self,
        channel: ChannelId,
        header: &RawHeader,
        (slot, extent): (&Slot, Extent),
        origin: Origin,
    ) {
        let is_whole = header.check(self.datagrams.bytes(slot, extent), Checks::Header).is_ok();
        if is_whole
            && let Some(process) = self.process(channel, header.unchecked().source)
            && let Some(sender) = self.datagrams.sender(slot, origin)
        {
            self.senders.learn(sender, process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::wire::Key;

    #[test]
    fn a_tag_has_one_communicator_at_a_time() {
        let mut tagged = Tagged::default();
        let tag = FreeTags::choose([tagged.free()], Key(3)).unwrap();
        assert!(tagged.take(tag, ChannelId(5)));
        assert_eq!(tagged.of(tag), Some(ChannelId(5)));
        assert!(!tagged.take(tag, ChannelId(6)));
        assert_eq!(tagged.free(), FreeTags(u8::MAX ^ 1 << tag.index()));
        tagged.give_back(ChannelId(6));
        assert_eq!(tagged.of(tag), Some(ChannelId(5)));
        tagged.give_back(ChannelId(5));
        assert_eq!((tagged.of(tag), tagged.free()), (None, FreeTags::ALL));
    }
}
