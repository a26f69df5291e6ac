//! The numbers that mates report to one another, in the memory of their node: no adapter has to write them.
//!
//! ```text
//! by mate, who reads   a bit for each mate that has written since; by mate, who writes: a number of each kind
//! ```
//! Each of these is a word of 64 bits, and what one mate reads begins at a multiple of 64 bytes.

use super::mapping::Mapping;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use verbcast_core::node::MateIndex;
use verbcast_core::protocol::Counter;

const WORD: usize = size_of::<u64>();

/// The numbers of so many mates.
#[derive(Debug)]
pub struct Cells {
    mapping: Arc<Mapping>,
    /// Where they begin.
    at: usize,
    mates: usize,
}

impl Cells {
    /// Those that begin at an offset, which is a multiple of 64.
    pub fn new(mapping: Arc<Mapping>, at: usize, mates: usize) -> Self {
        Cells { mapping, at, mates }
    }

    /// Bytes that they take.
    pub const fn len(mates: usize) -> usize {
        mates * Self::row_len(mates)
    }

    /// Of what one mate reads.
    const fn row_len(mates: usize) -> usize {
        (WORD * (Self::bits_len(mates) + mates * Counter::KINDS)).next_multiple_of(64)
    }

    /// Words of bits.
    const fn bits_len(mates: usize) -> usize {
        mates.div_ceil(64)
    }

    fn word(&self, reader: MateIndex, index: usize) -> &AtomicU64 {
        let row = self.at + usize::from(reader.0) * Self::row_len(self.mates);
        self.mapping.word(row + WORD * index)
    }

    fn number(&self, reader: MateIndex, writer: MateIndex, counter: Counter) -> &AtomicU64 {
        let at = usize::from(writer.0) * Counter::KINDS + counter as usize;
        self.word(reader, Self::bits_len(self.mates) + at)
    }

    /// Writes a number for a mate to read.
    pub fn write(&self, own: MateIndex, to: MateIndex, counter: Counter, value: u64) {
        self.number(to, own, counter).store(value, Ordering::Relaxed);
        // Whoever sees the bit sees this number, or a later one.
        let bit = 1 << (own.0 % 64);
        self.word(to, usize::from(own.0 / 64)).fetch_or(bit, Ordering::Release);
    }

    /// Whether a mate has written since what it wrote was taken.
    pub fn has_news(&self, own: MateIndex) -> bool {
        (0..Self::bits_len(self.mates)).any(|at| self.word(own, at).load(Ordering::Relaxed) != 0)
    }

    /// Tells all numbers of those mates that have written since.
    pub fn take(&self, own: MateIndex, mut tell: impl FnMut(MateIndex, Counter, u64)) {
        for at in 0..Self::bits_len(self.mates) {
            let word = self.word(own, at);
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::Acquire);
            while bits != 0 {
                let writer = MateIndex(64 * at as u16 + bits.trailing_zeros() as u16);
                bits &= bits - 1;
                // A mate may have written what it should not.
                if usize::from(writer.0) < self.mates {
                    for counter in Counter::ALL {
                        let value = self.number(own, writer, counter).load(Ordering::Relaxed);
                        tell(writer, counter, value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapping::tests::file;
    use super::*;
    use std::thread;

    const AT: usize = 64;

    fn cells(mates: usize) -> Cells {
        let len = AT + Cells::len(mates);
        Cells::new(Arc::new(Mapping::new(file(len), len).unwrap()), AT, mates)
    }

    fn taken(cells: &Cells, own: u16) -> Vec<(u16, Counter, u64)> {
        let mut taken = Vec::new();
        cells.take(MateIndex(own), |from, counter, value| {
            if value != 0 {
                taken.push((from.0, counter, value));
            }
        });
        taken
    }

    #[test]
    fn each_reads_what_others_wrote_for_it() {
        let cells = cells(130);
        for (from, to, value) in [(0, 129, 1), (64, 129, 2), (129, 64, 3), (129, 0, 4)] {
            cells.write(MateIndex(from), MateIndex(to), Counter::Acknowledged, value);
        }
        cells.write(MateIndex(64), MateIndex(129), Counter::Begun, 9);
        let (acknowledged, begun) = (Counter::Acknowledged, Counter::Begun);
        assert_eq!(
            taken(&cells, 129),
            [(0, acknowledged, 1), (64, acknowledged, 2), (64, begun, 9)]
        );
        assert_eq!(taken(&cells, 64), [(129, acknowledged, 3)]);
        assert!(cells.has_news(MateIndex(0)) && !cells.has_news(MateIndex(129)));
        assert_eq!(taken(&cells, 129), [], "it has taken that");
    }

    #[test]
    fn bits_of_nobody_tell_nothing() {
        let cells = cells(3);
        cells.word(MateIndex(1), 0).store(u64::MAX << 3, Ordering::Relaxed);
        assert_eq!(taken(&cells, 1), []);
    }

    #[test]
    fn the_last_number_is_seen_in_the_end() {
        const LAST: u64 = 20_000;
        let cells = cells(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                for value in 1..=LAST {
                    cells.write(MateIndex(1), MateIndex(0), Counter::Consumed, value);
                }
            });
            let mut latest = 0;
            while latest < LAST {
                cells.take(MateIndex(0), |_, counter, value| {
                    if counter == Counter::Consumed {
                        assert!(value >= latest);
                        latest = value;
                    }
                });
                thread::yield_now();
            }
        });
    }
}
