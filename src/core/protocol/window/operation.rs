//! One broadcast in flight at one rank.

use super::neighbours::Neighbours;
use super::seq::Seq;
use crate::protocol::{Bitmap, Fragments};
use crate::rank::{Fragment, Rank};
use std::sync::Arc;

/// A broadcast in flight.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub root: Rank,
    /// Who this rank has to do with in it.
    pub neighbours: Arc<Neighbours>,
    /// The rank that repairs this one, if one does: every fragment asks for it.
    pub repairer: Option<Rank>,
    pub cut: Fragments,
    /// Where its first fragment is among all.
    pub first: Seq,
    /// Whether this rank keeps its fragments for others.
    pub keeps: bool,
    owned: Bitmap,
    by_multicast: u32,
    kept: Bitmap,
    /// Its root has asked for the acknowledgement of every fragment before this one.
    asked: u32,
    /// No fragment before this one is missing.
    prefix: u32,
    /// Every fragment before this one is kept.
    kept_prefix: u32,
    pub is_complete: bool,
}

impl Operation {
    /// A broadcast at rank `me`.
    pub fn new(me: Rank, neighbours: Arc<Neighbours>, cut: Fragments, first: Seq) -> Self {
        let owns = neighbours.root == me;
        let keeps = neighbours.has_any_below();
        let count = cut.count();
        Operation {
            root: neighbours.root,
            repairer: neighbours.repairer,
            neighbours,
            cut,
            first,
            keeps,
            owned: if owns { Bitmap::full(count) } else { Bitmap::new(count) },
            by_multicast: if owns { count } else { 0 },
            kept: Bitmap::new(if keeps { count } else { 0 }),
            asked: 0,
            prefix: if owns { count } else { 0 },
            kept_prefix: 0,
            is_complete: false,
        }
    }

    /// Where the fragment after its last is.
    pub fn end(&self) -> Seq {
        self.first.plus(self.cut.count())
    }

    pub fn seq(&self, fragment: Fragment) -> Seq {
        self.first.plus(fragment.0)
    }

    /// Takes note of a fragment; whether it is new.
    pub fn own(&mut self, fragment: Fragment, by_multicast: bool) -> bool {
        let new = self.owned.insert(fragment.0);
        self.by_multicast += u32::from(new && by_multicast);
        while self.owned.contains(self.prefix) {
            self.prefix += 1;
        }
        new
    }

    /// Takes note of so many fragments, which came by multicast and are the first that were missing.
    pub fn own_run(&mut self, count: u32) {
        self.owned.insert_run(self.prefix, count);
        self.by_multicast += count;
        self.prefix += count;
    }

    /// The first fragment that is missing, or the one behind the last.
    pub fn next(&self) -> Fragment {
        Fragment(self.prefix)
    }

    /// Takes note that the root asks with a fragment.
    pub fn ask(&mut self, fragment: Fragment) {
        self.asked = self.asked.max(fragment.0 + 1);
    }

    /// Every fragment before this one is asked for.
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// The position up to which nothing is missing.
    pub fn have(&self) -> Seq {
        self.first.plus(self.prefix)
    }

    pub fn has_all(&self) -> bool {
        self.owned.is_full()
    }

    /// Fragments that came first by another way than multicast.
    pub fn lost(&self) -> u64 {
        u64::from(self.owned.set() - self.by_multicast)
    }

    pub fn keeps_all(&self) -> bool {
        !self.keeps || self.kept.is_full()
    }

    /// The next fragment to keep among the `window` that can be kept at once, if `may` allows it.
    pub fn next_to_keep(&self, window: u32, may: impl Fn(Seq) -> bool) -> Option<Fragment> {
        if self.keeps_all() {
            return None;
        }
        let end = self.cut.count().min(self.kept_prefix.saturating_add(window));
        (self.kept_prefix..end)
            .filter(|index| self.owned.contains(*index) && !self.kept.contains(*index))
            .find(|index| may(self.first.plus(*index)))
            .map(Fragment)
    }

    /// The first fragment that is here and not kept.
    pub fn first_unkept(&self) -> Option<Fragment> {
        let unkept = self.keeps && self.owned.contains(self.kept_prefix);
        unkept.then_some(Fragment(self.kept_prefix))
    }

    pub fn keep(&mut self, fragment: Fragment) {
        self.kept.insert(fragment.0);
        while self.kept.contains(self.kept_prefix) {
            self.kept_prefix += 1;
        }
    }

    /// Keeps so many fragments, the first that are not kept.
    pub fn keep_run(&mut self, count: u32) {
        self.kept.insert_run(self.kept_prefix, count);
        self.kept_prefix += count;
    }

    /// The fragments that are missing, in order, of the first `count` from the first missing one.
    pub fn missing(&self, count: u32) -> impl Iterator<Item = Fragment> + '_ {
        let end = self.cut.count().min(self.prefix.saturating_add(count));
        (self.prefix..end).filter(|index| !self.owned.contains(*index)).map(Fragment)
    }
}
