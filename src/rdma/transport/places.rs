//! The places of a message's fragments while they are received: which of them the device may write,
//! and what waits until it no longer may.

use std::ops::Range;
use verbcast_core::numbers::{NumberMap, NumberSet};
use verbcast_core::protocol::Bitmap;
use verbcast_core::rank::Fragment;

/// The places of one message.
#[derive(Debug)]
pub struct Places {
    message_len: usize,
    fragment_len: usize,
    /// Fragments from this one on are received into slots only.
    end: u32,
    /// Places that hold their fragment, or will get it out of the stash; no receive is posted for them.
    taken: Bitmap,
    /// Places that a posted receive may write.
    armed: NumberSet<u32>,
    /// Fragments that came otherwise while a receive was posted for their place: no more than there
    /// are such receives.
    stash: NumberMap<u32, Box<[u8]>>,
}

/// Where the bytes of a fragment go.
#[derive(Debug, PartialEq, Eq)]
pub enum Destination {
    /// To their place.
    Place,
    /// Into the stash, since the device may write their place.
    Stash(Fragment),
}

impl Places {
    /// The places of a message, the last `margin` fragments of which are received into slots: losses
    /// among the datagrams under way leave receives behind for fragments that have passed, and those
    /// ones use them up.
    ///
    /// # Panics
    /// If `fragment_len` is zero.
    pub fn new(message_len: usize, fragment_len: usize, margin: u32) -> Self {
        // A short fragment's place is too short for what else may come.
        let whole = u32::try_from(message_len / fragment_len).unwrap_or(u32::MAX);
        Places {
            message_len,
            fragment_len,
            end: whole.saturating_sub(margin),
            taken: Bitmap::new(whole),
            armed: NumberSet::default(),
            stash: NumberMap::default(),
        }
    }

    /// Those of a message that is sent: no receive is posted for any of them, whatever comes.
    ///
    /// # Panics
    /// If `fragment_len` is zero.
    pub fn none(message_len: usize, fragment_len: usize) -> Self {
        Self::new(message_len, fragment_len, u32::MAX)
    }

    /// The bytes for which a receive may be posted for a fragment, which from now on is the device's;
    /// `None` where it must not.
    pub fn arm(&mut self, fragment: Fragment) -> Option<Range<usize>> {
        let may = fragment.0 < self.end && !self.taken.contains(fragment.0);
        (may && self.armed.insert(fragment.0)).then(|| self.range(fragment))
    }

    /// No further receives are posted for places.
    pub fn close(&mut self) {
        self.end = 0;
    }

    /// Whether no receive is posted for a place, and none will be.
    pub fn are_closed(&self) -> bool {
        self.end == 0 && self.armed.is_empty()
    }

    /// Receives that are posted for places.
    pub fn armed(&self) -> usize {
        self.armed.len()
    }

    /// The receive for a place has ended. Where `is_it` says that its fragment came and nothing else
    /// was there before, it stays; what was in the stash is to be written back.
    pub fn disarm(&mut self, fragment: Fragment, is_it: bool) -> Option<Box<[u8]>> {
        self.armed.remove(&fragment.0);
        if is_it {
            self.taken.insert(fragment.0);
        }
        self.stash.remove(&fragment.0)
    }

    /// Whether a fragment waits in the stash for its place.
    pub fn is_stashed(&self, fragment: Fragment) -> bool {
        self.stash.contains_key(&fragment.0)
    }

    /// Where the bytes of a part of the message are to be written now. `None` for a part that is no
    /// fragment but touches one that the device may write, which no protocol has.
    pub fn place(&mut self, range: &Range<usize>) -> Option<Destination> {
        let fragment = self.fragment(range);
        match fragment {
            Some(fragment) if self.armed.contains(&fragment.0) => {
                self.taken.insert(fragment.0);
                Some(Destination::Stash(fragment))
            }
            Some(fragment) => {
                if (fragment.index() + 1) * self.fragment_len <= self.message_len {
                    self.taken.insert(fragment.0);
                }
                Some(Destination::Place)
            }
            None => self.armed.is_empty().then_some(Destination::Place),
        }
    }

    /// Keeps the bytes of a fragment until its place is free.
    pub fn stash(&mut self, fragment: Fragment, bytes: &[u8]) {
        self.stash.insert(fragment.0, bytes.into());
    }

    /// The bytes of a part of the message that wait in the stash.
    pub fn stashed(&self, range: &Range<usize>) -> Option<&[u8]> {
        if self.stash.is_empty() {
            return None;
        }
        self.stash.get(&self.fragment(range)?.0).map(|bytes| &**bytes)
    }

    /// The bytes of a whole fragment.
    pub fn range(&self, fragment: Fragment) -> Range<usize> {
        let start = fragment.index() * self.fragment_len;
        start..start + self.fragment_len
    }

    /// The fragment that a part of the message is, if it is one.
    fn fragment(&self, range: &Range<usize>) -> Option<Fragment> {
        let whole = self.message_len.min(range.start.saturating_add(self.fragment_len));
        let is_one = range.start.is_multiple_of(self.fragment_len) && range.end == whole;
        let number = u32::try_from(range.start / self.fragment_len).ok();
        number.filter(|_| is_one).map(Fragment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten whole fragments of 100 bytes and a short one; the last three whole ones are left alone.
    fn places() -> Places {
        Places::new(1050, 100, 3)
    }

    #[test]
    fn only_free_whole_fragments_before_the_margin_are_armed() {
        let mut places = places();
        assert_eq!(places.arm(Fragment(6)), Some(600..700));
        assert_eq!(places.arm(Fragment(6)), None, "it is armed already");
        for fragment in [7, 9, 10, 11, u32::MAX] {
            assert_eq!(places.arm(Fragment(fragment)), None, "{fragment}");
        }
        assert_eq!(places.place(&(0..100)), Some(Destination::Place));
        assert_eq!(places.arm(Fragment(0)), None, "its bytes are there");
        assert_eq!(places.place(&(1000..1050)), Some(Destination::Place));
        places.close();
        assert_eq!(places.arm(Fragment(1)), None);
        assert!(!places.are_closed(), "one is armed");
        assert_eq!(places.armed(), 1);
        places.disarm(Fragment(6), true);
        assert!(places.are_closed());
    }

    #[test]
    fn nothing_is_received_into_a_message_that_is_sent() {
        let mut places = Places::none(1050, 100);
        for fragment in 0..12 {
            assert_eq!(places.arm(Fragment(fragment)), None, "{fragment}");
        }
        assert!(places.are_closed());
    }

    #[test]
    fn the_expected_fragment_stays_where_it_came() {
        let mut places = places();
        places.arm(Fragment(2)).unwrap();
        assert_eq!(places.disarm(Fragment(2), true), None);
        assert_eq!((places.armed(), places.arm(Fragment(2))), (0, None));
    }

    #[test]
    fn a_place_that_got_something_else_can_be_armed_again() {
        let mut places = places();
        places.arm(Fragment(2)).unwrap();
        assert_eq!(places.disarm(Fragment(2), false), None);
        assert_eq!(places.arm(Fragment(2)), Some(200..300));
    }

    #[test]
    fn what_comes_otherwise_waits_for_the_device_to_be_done() {
        let mut places = places();
        places.arm(Fragment(2)).unwrap();
        assert_eq!(places.place(&(200..300)), Some(Destination::Stash(Fragment(2))));
        places.stash(Fragment(2), &[7; 100]);
        assert!(places.is_stashed(Fragment(2)));
        assert_eq!(places.stashed(&(200..300)), Some(&[7; 100][..]));
        assert_eq!(places.stashed(&(100..200)), None);
        assert_eq!(places.disarm(Fragment(2), false).as_deref(), Some(&[7; 100][..]));
        assert_eq!(places.stashed(&(200..300)), None);
        assert_eq!(places.arm(Fragment(2)), None, "its bytes are there");
    }

    #[test]
    fn parts_that_are_no_fragments_stay_away_from_the_device() {
        let mut places = places();
        assert_eq!(places.place(&(0..1050)), Some(Destination::Place));
        places.arm(Fragment(2)).unwrap();
        assert_eq!(places.place(&(0..1050)), None);
        assert_eq!(places.place(&(210..300)), None);
    }

    #[test]
    fn a_message_shorter_than_the_margin_has_no_places() {
        for len in [0, 1, 99, 100, 300] {
            assert_eq!(Places::new(len, 100, 3).arm(Fragment(0)), None, "{len}");
        }
    }
}
