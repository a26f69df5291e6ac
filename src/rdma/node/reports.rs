//! What a rank reports to its mates, and they to it.

use super::cells::Cells;
use verbcast_core::node::MateIndex;
use verbcast_core::protocol::Counter;

/// A rank's side of the [numbers](Cells) that mates report to one another.
#[derive(Debug)]
pub struct Reports {
    cells: Cells,
    own: MateIndex,
    /// What mates have told last, by mate and kind.
    heard: Vec<u64>,
    /// Mates that are to be woken if they sleep, as something was written for them.
    addressed: Vec<MateIndex>,
}

impl Reports {
    /// Those of one among so many mates.
    pub fn new(cells: Cells, own: MateIndex, mates: usize) -> Self {
        let heard = vec![0; mates * Counter::KINDS];
        Reports { cells, own, heard, addressed: Vec::new() }
    }

    /// Writes a number for a mate.
    pub fn write(&mut self, to: MateIndex, counter: Counter, value: u64) {
        self.cells.write(self.own, to, counter, value);
        if !self.addressed.contains(&to) {
            self.addressed.push(to);
        }
    }

    /// The mates that something was written for since they were asked for.
    pub fn take_addressed(&mut self) -> impl Iterator<Item = MateIndex> + '_ {
        self.addressed.drain(..)
    }

    /// Whether mates have written something that was not taken.
    pub fn has_news(&self) -> bool {
        self.cells.has_news(self.own)
    }

    /// Tells each number of a mate that is another than before.
    pub fn take(&mut self, mut tell: impl FnMut(MateIndex, Counter, u64)) {
        let Reports { cells, own, heard, .. } = self;
        cells.take(*own, |from, counter, value| {
            let heard = &mut heard[usize::from(from.0) * Counter::KINDS + counter as usize];
            if std::mem::replace(heard, value) != value {
                tell(from, counter, value);
            }
        });
    }
}
