//! One broadcast in flight at one rank.

use super::chain_stage::ChainStage;
use super::multicast_stage::{Gate, MulticastStage};
use crate::protocol::{Bitmap, Fragments, Piece, Target, Transmit, Via};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::Kind;

/// What a received fragment was to this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owned {
    /// The first copy.
    New,
    /// The first copy that came this way, of a fragment that came the other way before.
    SecondWay,
    /// A further copy by the same way.
    Again,
}

/// A broadcast in flight.
#[derive(Clone, Debug)]
pub struct Operation {
    pub root: Rank,
    pub cut: Fragments,
    owned: Bitmap,
    by_multicast: Bitmap,
    by_chain: Bitmap,
    multicast: Option<MulticastStage>,
    chain: Option<ChainStage>,
    completed: bool,
    quiesced: bool,
}

impl Operation {
    /// At the root, which owns every fragment from the start.
    pub fn root(root: Rank, cut: Fragments, gate: Gate, multicasts: bool, forwards: bool) -> Self {
        let count = cut.count();
        let mut operation = Operation {
            owned: Bitmap::full(count),
            by_multicast: Bitmap::full(count),
            multicast: multicasts.then(|| MulticastStage::new(gate, count)),
            ..Operation::receiver(root, cut, forwards)
        };
        if let (Some(chain), false) = (&mut operation.chain, multicasts) {
            (0..count).map(Fragment).for_each(|fragment| chain.push(fragment));
        }
        operation
    }

    /// At any other rank, which owns nothing yet.
    pub fn receiver(root: Rank, cut: Fragments, forwards: bool) -> Self {
        let count = cut.count();
        Operation {
            root,
            cut,
            owned: Bitmap::new(count),
            by_multicast: Bitmap::new(count),
            by_chain: Bitmap::new(count),
            multicast: None,
            chain: forwards.then(|| ChainStage::new(count)),
            completed: false,
            quiesced: false,
        }
    }

    /// Takes note of a received fragment. Whether it came by multicast or over the chain, a new one
    /// is forwarded.
    pub fn own(&mut self, fragment: Fragment, via: Via) -> Owned {
        let this_way = match via {
            Via::Multicast => self.by_multicast.insert(fragment.0),
            Via::Reliable | Via::Fetched => self.by_chain.insert(fragment.0),
        };
        if self.owned.insert(fragment.0) {
            if let Some(chain) = &mut self.chain {
                chain.push(fragment);
            }
            Owned::New
        } else if this_way {
            Owned::SecondWay
        } else {
            Owned::Again
        }
    }

    pub fn has_to_multicast(&self) -> bool {
        self.multicast.as_ref().is_some_and(|stage| !stage.is_done())
    }

    /// The next fragment to multicast; from then on it can be forwarded too.
    pub fn take_multicast(&mut self) -> Option<Fragment> {
        let fragment = self.multicast.as_mut()?.take()?;
        if let Some(chain) = &mut self.chain {
            chain.push(fragment);
        }
        Some(fragment)
    }

    pub fn has_to_forward(&self) -> bool {
        self.chain.as_ref().is_some_and(|stage| !stage.is_forwarded())
    }

    pub fn take_forward(&mut self) -> Option<Fragment> {
        self.chain.as_mut()?.take()
    }

    /// Counts an acknowledgement of the successor; whether it was for a multicast of this rank.
    pub fn delivered(&mut self) -> bool {
        let counted = self.chain.as_mut().is_some_and(ChainStage::delivered);
        counted && self.multicast.is_some()
    }

    /// The successor needs nothing more; returns by how much that lets the multicast advance.
    pub fn release_chain(&mut self) -> u32 {
        let released = self.chain.as_mut().map_or(0, ChainStage::release);
        if self.multicast.is_some() { released } else { 0 }
    }

    pub fn open_for(&mut self, rank: Rank) {
        if let Some(stage) = &mut self.multicast {
            stage.open_for(rank);
        }
    }

    pub fn open_by(&mut self, now: Instant) {
        if let Some(stage) = &mut self.multicast {
            stage.open_by(now);
        }
    }

    /// The rank whose announcement is waited for.
    pub fn awaits(&self) -> Option<Rank> {
        self.multicast.as_ref()?.awaits()
    }

    pub fn opens_at(&self) -> Option<Instant> {
        self.multicast.as_ref()?.opens_at()
    }

    /// Once, when the caller may go on: the number of fragments whose multicast has not come.
    pub fn take_complete(&mut self) -> Option<u64> {
        let done = !self.completed
            && self.owned.is_full()
            && !self.has_to_multicast()
            && !self.has_to_forward();
        self.completed |= done;
        done.then(|| u64::from(self.by_multicast.clear()))
    }

    /// Once, when nothing more is owed.
    pub fn take_quiescent(&mut self) -> bool {
        let done = !self.quiesced
            && self.completed
            && self.chain.as_ref().is_none_or(ChainStage::is_delivered);
        self.quiesced |= done;
        done
    }

    pub fn has_ended(&self) -> bool {
        self.quiesced
    }

    /// The packet that carries a fragment of this operation.
    pub fn transmit(&self, target: Target, op: OpId, fragment: Fragment) -> Transmit {
        let message_len = self.cut.message_len() as u64;
        let piece =
            Piece { kind: Kind::Fragment, op, fragment, message_len, report: 0, asks: false };
        let range = self.cut.range(fragment).unwrap_or_default();
        Transmit::Send { target, piece, range }
    }
}
