//! The ring of datagrams in the memory of a node.
//!
//! ```text
//! bytes 0..8      a number that tells this memory from others
//! bytes 64..72    positions that were claimed
//! bytes 128..136  who receives
//! bytes 192..256  who sleeps, a bit for each mate
//! bytes 320..328  whether somebody could not be woken
//! from 4096 on    by mate, what it is woken by
//! from 8192 on    the slots: its number (8 bytes), the length and the writer (8), the datagram, each from a multiple of 64 on
//! behind them     what mates report to one another: see `cells.rs`
//! ```
//! A slot is written and read as a sequence lock is (Boehm, "Can seqlocks get along with programming language memory models?",
//! 2012), but that a writer also takes it from other writers: see [`verbcast_core::node::cursor`].

use super::cells::Cells;
use super::mapping::Mapping;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use verbcast_core::node::{Cursor, Look, MateIndex, SlotState};
use verbcast_core::time::Instant;

/// Bytes before the first slot.
const SLOTS_AT: usize = 8192;
/// Mates that can be woken; there is room for no more of them.
const MAX_SLEEPERS: u16 = 512;
/// Bytes of a slot before its datagram.
const SLOT_HEAD: usize = 16;
/// Positions that a writer claims before it gives up: then so many slots in a row belong to writers that have stopped.
const CLAIMS: u32 = 4;

/// How many datagrams fit in, of how many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub slots: u32,
    pub slot_len: u32,
}

impl Shape {
    /// Bytes from one slot to the next.
    fn stride(self) -> usize {
        (SLOT_HEAD + self.slot_len as usize).next_multiple_of(64)
    }

    fn cells_at(self) -> usize {
        SLOTS_AT + self.slots as usize * self.stride()
    }

    /// Bytes in all. Nobody knows yet how many mates there will be, and what they do not use takes no memory.
    pub fn len(self) -> usize {
        self.cells_at() + Cells::len(usize::from(MAX_SLEEPERS))
    }

    /// Bytes that so many mates use, from the beginning on.
    pub fn used_by(self, mates: usize) -> usize {
        self.cells_at() + if has_cells(mates) { Cells::len(mates) } else { 0 }
    }
}

/// Whether there is room for what so many mates report to one another.
fn has_cells(mates: usize) -> bool {
    mates <= usize::from(MAX_SLEEPERS)
}

/// The ring, and what is beside it.
#[derive(Debug)]
pub struct Ring {
    mapping: Arc<Mapping>,
    shape: Shape,
}

/// A datagram in its slot, which may be overrun at any time.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    at: usize,
    state: SlotState,
    /// Its bytes.
    pub len: usize,
}

impl Ring {
    /// Where the number is that tells this memory from others.
    pub(super) const NONCE_AT: usize = 0;
    const CLAIMED_AT: usize = 64;
    const ROLE_AT: usize = 128;
    const SLEEPERS_AT: usize = 192;
    const DEAF_AT: usize = 320;
    const BELLS_AT: usize = 4096;

    pub(super) fn new(mapping: Mapping, shape: Shape) -> Self {
        Ring { mapping: Arc::new(mapping), shape }
    }

    /// Bytes of a datagram that fits in.
    pub fn slot_len(&self) -> u32 {
        self.shape.slot_len
    }

    /// A reader at its beginning.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(u64::from(self.shape.slots))
    }

    /// The numbers that this many mates report to one another; `None` if the memory has no room for them.
    pub fn cells(&self, mates: usize) -> Option<Cells> {
        has_cells(mates)
            .then(|| Cells::new(Arc::clone(&self.mapping), self.shape.cells_at(), mates))
    }

    /// The word of who receives.
    pub fn word(&self) -> &AtomicU64 {
        self.mapping.word(Self::ROLE_AT)
    }

    /// A mate is woken by the bell of this number. Whether it can be.
    pub fn hang(&self, own: MateIndex, bell: u64) -> bool {
        let has_room = own.0 < MAX_SLEEPERS;
        if has_room {
            self.bell(own).store(bell, Ordering::Release);
        }
        has_room
    }

    fn bell(&self, MateIndex(mate): MateIndex) -> &AtomicU64 {
        self.mapping.word(Self::BELLS_AT + 8 * usize::from(mate))
    }

    /// The word that a mate has a bit in, and the bit.
    fn sleeper(&self, MateIndex(mate): MateIndex) -> (&AtomicU64, u64) {
        (self.mapping.word(Self::SLEEPERS_AT + 8 * usize::from(mate / 64)), 1 << (mate % 64))
    }

    /// A mate that can be woken is about to sleep. What was published before, it sees when it looks once more; whoever publishes
    /// later wakes it.
    pub fn fall_asleep(&self, own: MateIndex) {
        let (word, bit) = self.sleeper(own);
        word.fetch_or(bit, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// It is awake.
    pub fn get_up(&self, own: MateIndex) {
        let (word, bit) = self.sleeper(own);
        word.fetch_and(!bit, Ordering::Relaxed);
    }

    /// Whether a mate sleeps, and nobody has woken it yet.
    pub fn sleeps(&self, mate: MateIndex) -> bool {
        let (word, bit) = self.sleeper(MateIndex(mate.0 % MAX_SLEEPERS));
        mate.0 < MAX_SLEEPERS && word.load(Ordering::Relaxed) & bit != 0
    }

    /// The bells of those of the first so many mates that sleep, after something was published. Each is given to one caller, once
    /// until it sleeps again.
    pub fn sleepers(&self, mates: usize) -> impl Iterator<Item = u64> + '_ {
        // See `fall_asleep`: either that mate sees what was published, or this one its bit.
        fence(Ordering::SeqCst);
        let words = mates.min(usize::from(MAX_SLEEPERS)).div_ceil(64) as u16;
        (0..words).flat_map(move |at| {
            let word = self.mapping.word(Self::SLEEPERS_AT + 8 * usize::from(at));
            let mut bits = match word.load(Ordering::Relaxed) {
                0 => 0,
                _ => word.swap(0, Ordering::Relaxed),
            };
            std::iter::from_fn(move || {
                let next = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(self.bell(MateIndex(64 * at + next as u16)).load(Ordering::Acquire))
            })
        })
    }

    /// The bell of one mate, if it sleeps, after something was written for it; as [`sleepers`](Self::sleepers).
    pub fn sleeper_of(&self, mate: MateIndex) -> Option<u64> {
        fence(Ordering::SeqCst);
        if !self.sleeps(mate) {
            return None;
        }
        let (word, bit) = self.sleeper(mate);
        let slept = word.fetch_and(!bit, Ordering::Relaxed) & bit != 0;
        slept.then(|| self.bell(mate).load(Ordering::Acquire))
    }

    /// A mate that slept could not be woken.
    pub fn give_up_waking(&self) {
        self.mapping.word(Self::DEAF_AT).store(1, Ordering::Relaxed);
    }

    /// Whether whoever publishes wakes those that sleep, as far as anybody knows.
    pub fn can_wake(&self) -> bool {
        self.mapping.word(Self::DEAF_AT).load(Ordering::Relaxed) == 0
    }

    fn slot(&self, position: u64) -> usize {
        SLOTS_AT + (position % u64::from(self.shape.slots)) as usize * self.shape.stride()
    }

    /// Publishes a datagram of two parts; false if it does not fit in, or all slots that were tried are taken.
    pub fn publish(&self, from: MateIndex, [head, payload]: [&[u8]; 2]) -> bool {
        let len = head.len() + payload.len();
        if len > self.shape.slot_len as usize {
            return false;
        }
        let Some(position) = self.claim() else { return false };
        let at = self.slot(position);
        // Whoever sees a part of what follows sees that the slot is taken.
        fence(Ordering::Release);
        let about = (len as u64) << 32 | u64::from(from.0);
        self.mapping.word(at + 8).store(about, Ordering::Relaxed);
        self.mapping.write(at + SLOT_HEAD, head);
        self.mapping.write(at + SLOT_HEAD + head.len(), payload);
        self.mapping.word(at).store(SlotState::published(position).0, Ordering::Release);
        true
    }

    fn claim(&self) -> Option<u64> {
        (0..CLAIMS).find_map(|_| {
            let position = self.mapping.word(Self::CLAIMED_AT).fetch_add(1, Ordering::AcqRel);
            let state = self.mapping.word(self.slot(position));
            let taken = state.fetch_update(Ordering::Acquire, Ordering::Acquire, |seen| {
                SlotState(seen).is_free_for(position).then_some(SlotState::written(position).0)
            });
            taken.is_ok().then_some(position)
        })
    }

    /// The next datagram that others have published, which is read next, and [passed](Self::pass).
    pub fn next(&self, now: Instant, own: MateIndex, cursor: &mut Cursor) -> Option<Published> {
        // One call passes by at most as many positions as the ring has.
        for _ in 0..self.shape.slots {
            let at = self.slot(cursor.position());
            let state = SlotState(self.mapping.word(at).load(Ordering::Acquire));
            let claimed = self.mapping.word(Self::CLAIMED_AT).load(Ordering::Acquire);
            match cursor.look(now, state, claimed) {
                Look::Rest => return None,
                Look::Again => continue,
                Look::Read => {}
            }
            let about = self.mapping.word(at + 8).load(Ordering::Relaxed);
            let (len, from) = ((about >> 32) as usize, MateIndex(about as u16));
            let published = Published { at, state, len };
            if from != own && len <= self.shape.slot_len as usize {
                return Some(published);
            }
            self.pass(&published, cursor);
        }
        None
    }

    /// Reads bytes of a datagram, from one of them on. They may be those of others, which [`pass`](Self::pass) tells.
    pub fn read(&self, published: &Published, from: usize, bytes: &mut [u8]) {
        self.mapping.read(published.at + SLOT_HEAD + from, bytes);
    }

    /// Goes on behind a datagram; whether it was there until now, so that what was read of it is its own.
    pub fn pass(&self, published: &Published, cursor: &mut Cursor) -> bool {
        // What was read was there before the slot's number is looked at again.
        fence(Ordering::Acquire);
        let state = self.mapping.word(published.at).load(Ordering::Relaxed);
        let is_whole = state == published.state.0;
        cursor.advance(is_whole);
        is_whole
    }

    /// Whether there is something at a reader's position, or was, or is behind it.
    pub fn has_news(&self, cursor: &Cursor) -> bool {
        let position = cursor.position();
        let state = SlotState(self.mapping.word(self.slot(position)).load(Ordering::Acquire));
        let claimed = self.mapping.word(Self::CLAIMED_AT).load(Ordering::Acquire);
        // A writer that has stopped is passed by for what is behind it.
        state >= SlotState::published(position) || claimed > position.saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::node::mapping::tests::file;
    use std::thread;

    const NOW: Instant = Instant::ZERO;
    const ME: MateIndex = MateIndex(0);

    fn ring(slots: u32, slot_len: u32) -> Ring {
        let shape = Shape { slots, slot_len };
        Ring::new(Mapping::new(file(shape.len()), shape.len()).unwrap(), shape)
    }

    /// The next datagram that others have published, copied.
    fn read(ring: &Ring, now: Instant, own: MateIndex, cursor: &mut Cursor) -> Option<Vec<u8>> {
        while let Some(published) = ring.next(now, own, cursor) {
            let mut bytes = vec![0; published.len];
            ring.read(&published, 0, &mut bytes);
            if ring.pass(&published, cursor) {
                return Some(bytes);
            }
        }
        None
    }

    fn publish(ring: &Ring, from: u16, text: &[u8]) -> bool {
        ring.publish(MateIndex(from), [b"12345678", text])
    }

    #[test]
    fn what_one_publishes_all_others_read_in_order() {
        let ring = ring(4, 64);
        assert!(
            publish(&ring, 1, b"a") && publish(&ring, 2, b"") && publish(&ring, 1, b"long enough")
        );
        let read_all = |own: u16| {
            let mut cursor = ring.cursor();
            let mut next = || read(&ring, NOW, MateIndex(own), &mut cursor);
            [next(), next(), next()]
        };
        let [a, empty, long] = [&b"12345678a"[..], b"12345678", b"12345678long enough"]
            .map(|bytes| Some(bytes.to_vec()));
        assert_eq!(read_all(0), [a.clone(), empty.clone(), long.clone()]);
        assert_eq!(read_all(1), [empty, None, None], "its own it has");
        assert_eq!(read_all(2), [a, long, None]);
    }

    #[test]
    fn whoever_sleeps_is_woken_once() {
        let ring = ring(2, 64);
        for mate in [0, 3, 63, 64, 511] {
            assert!(ring.hang(MateIndex(mate), 1000 + u64::from(mate)));
            ring.fall_asleep(MateIndex(mate));
            assert!(ring.sleeps(MateIndex(mate)));
        }
        ring.get_up(MateIndex(3));
        assert_eq!(ring.sleepers(512).collect::<Vec<_>>(), [1000, 1063, 1064, 1511]);
        assert_eq!(ring.sleepers(512).count(), 0);
        assert!(!ring.sleeps(MateIndex(0)));
        [63, 64].iter().for_each(|mate| ring.fall_asleep(MateIndex(*mate)));
        assert_eq!(ring.sleeper_of(MateIndex(64)), Some(1064));
        assert_eq!(ring.sleeper_of(MateIndex(64)), None);
        assert_eq!(ring.sleepers(512).collect::<Vec<_>>(), [1063]);
        assert!(!ring.hang(MateIndex(512), 7) && !ring.sleeps(MateIndex(512)), "there is no room");
    }

    /// However it falls out, nobody goes to sleep over something that was published, unless it is woken.
    #[test]
    fn nothing_is_slept_over() {
        let (ring, me) = (ring(4, 64), MateIndex(1));
        ring.hang(me, 7);
        for number in 0..5000 {
            let woken = thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    publish(&ring, 2, &[number as u8]);
                    ring.sleepers(512).count() > 0
                });
                ring.fall_asleep(me);
                let mut cursor = ring.cursor();
                let has_seen = loop {
                    match read(&ring, NOW, me, &mut cursor) {
                        None => break cursor.position() > number,
                        Some(_) => continue,
                    }
                };
                has_seen || writer.join().unwrap()
            });
            assert!(woken, "{number}");
            ring.get_up(me);
        }
    }

    #[test]
    fn what_does_not_fit_in_is_not_published() {
        let ring = ring(4, 16);
        assert!(!publish(&ring, 1, &[0; 9]) && publish(&ring, 1, &[0; 8]));
    }

    #[test]
    fn a_reader_that_is_late_loses_the_oldest() {
        let (ring, mut cursor) = (ring(8, 64), ring(8, 64).cursor());
        for number in 0..20 {
            publish(&ring, 1, &[number]);
        }
        let mut numbers = Vec::new();
        while let Some(bytes) = read(&ring, NOW, ME, &mut cursor) {
            numbers.push(bytes[8]);
        }
        assert_eq!(numbers, (13..20).collect::<Vec<u8>>());
        assert_eq!(cursor.lost(), 13);
    }

    #[test]
    fn lengths_that_others_wrote_are_not_believed() {
        let (ring, mut cursor) = (ring(2, 64), ring(2, 64).cursor());
        publish(&ring, 1, b"wrong");
        publish(&ring, 1, b"right");
        ring.mapping.word(ring.slot(0) + 8).store(u64::MAX - 7, Ordering::Relaxed);
        assert_eq!(read(&ring, NOW, ME, &mut cursor).unwrap(), b"12345678right");
    }

    #[test]
    fn a_writer_that_has_stopped_keeps_its_slot_and_holds_up_nobody() {
        let (ring, mut cursor) = (ring(2, 64), ring(2, 64).cursor());
        assert_eq!(ring.claim(), Some(0), "and then it stops");
        for number in 0..20 {
            assert!(publish(&ring, 1, &[number]));
            // The first is waited for until there is another one, and for a while.
            let now = Instant::from_nanos(10_000_000 * u64::from(number));
            // In so small a ring a call passes by two positions at most.
            let bytes = (0..3).find_map(|_| read(&ring, now, ME, &mut cursor));
            assert_eq!(bytes.map(|bytes| bytes[8]), (number > 0).then_some(number), "{number}");
        }
        let state = ring.mapping.word(ring.slot(0)).load(Ordering::Relaxed);
        assert_eq!(SlotState(state), SlotState::written(0), "it may go on and write");
    }

    /// Datagrams of one byte value each, of lengths that differ, written and overrun while they are read.
    #[test]
    fn no_reader_ever_sees_a_mixture() {
        const LAST: u8 = 255;
        let ring = ring(4, 512);
        let publish = |writer: u16, byte: u8| {
            let len = 64 + 8 * usize::from(byte % 32);
            ring.publish(MateIndex(writer), [&[byte; 64], &vec![byte; len]])
        };
        let read_to_the_end = || {
            let (mut cursor, mut now) = (ring.cursor(), 0);
            loop {
                now += 1_000_000;
                let Some(bytes) = read(&ring, Instant::from_nanos(now), ME, &mut cursor) else {
                    thread::yield_now();
                    continue;
                };
                let byte = bytes[0];
                assert_eq!(bytes.len(), 128 + 8 * usize::from(byte % 32));
                assert!(bytes.iter().all(|other| *other == byte));
                if byte == LAST {
                    break;
                }
            }
        };
        thread::scope(|scope| {
            let readers = [0; 2].map(|_| scope.spawn(read_to_the_end));
            let writers = [1_u16, 2].map(|writer| {
                scope.spawn(move || {
                    for round in 0..20_000_u32 {
                        publish(writer, (round % u32::from(LAST)) as u8);
                    }
                })
            });
            for writer in writers {
                writer.join().unwrap();
            }
            // Nobody overruns this one, so every reader comes to it.
            assert!(publish(1, LAST));
            for reader in readers {
                reader.join().unwrap();
            }
        });
    }
}
