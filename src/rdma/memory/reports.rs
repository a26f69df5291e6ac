//! Numbers that ranks write into each other's memory by RDMA, which costs the CPU there nothing but
//! a look now and then (Liu 2004, section 5.5).
//!
//! A cell is a number and a check word, both big-endian. A device promises no order among the bytes
//! of a write (SoftRoCE copies them with the CPU's string instruction), so the CPU may see a cell
//! half written; then the check does not fit, and the cell is looked at again at the next poll.

use crate::rdma::settings::{CELL_LEN, REPORTS_AT_ONCE};
use verbcast_core::protocol::Counter;
use verbcast_core::rank::Rank;
use verbcast_verbs::{Access, ProtectionDomain, Remote, Result, Shared, Span};

/// The cells of this rank: those that others write, and those that it writes from.
#[derive(Debug)]
pub struct Reports {
    cells: Shared,
    /// The number of each cell when it was last looked at.
    seen: Vec<u64>,
    /// [`REPORTS_AT_ONCE`] cells for each rank, whose content must stay while a write from it is under way.
    sources: Shared,
    /// Writes begun and ended, by rank. They end in the order in which they began.
    begun: Vec<u64>,
    ended: Vec<u64>,
}

impl Reports {
    pub fn new(domain: &ProtectionDomain, size: u32) -> Result<Self> {
        let size = size as usize;
        let cells = size * Counter::KINDS;
        Ok(Reports {
            cells: Shared::new(domain, cells * CELL_LEN, Access::Write)?,
            seen: vec![0; cells],
            sources: Shared::new(domain, size * REPORTS_AT_ONCE * CELL_LEN, Access::None)?,
            begun: vec![0; size],
            ended: vec![0; size],
        })
    }

    /// Where others write.
    pub fn remote(&self) -> Remote {
        self.cells.remote()
    }

    /// Parts of its memory, which keep it registered.
    pub fn keep(&self) -> Vec<Span> {
        vec![self.cells.span(0, 0), self.sources.span(0, 0)]
    }

    /// Reports that can be begun to a rank now.
    pub fn room(&self, to: Rank) -> usize {
        REPORTS_AT_ONCE - (self.begun[to.index()] - self.ended[to.index()]) as usize
    }

    /// The cell to write to a rank.
    ///
    /// # Panics
    /// If there is no room.
    pub fn begin(&mut self, to: Rank, value: u64) -> Span {
        assert!(self.room(to) > 0, "{REPORTS_AT_ONCE} reports to {to} are under way");
        let begun = &mut self.begun[to.index()];
        let offset = (to.index() * REPORTS_AT_ONCE + *begun as usize % REPORTS_AT_ONCE) * CELL_LEN;
        *begun += 1;
        self.sources.write(offset, &cell(value));
        self.sources.span(offset, CELL_LEN)
    }

    /// A report to a rank has ended.
    pub fn end(&mut self, to: Rank) {
        self.ended[to.index()] += 1;
    }

    /// Looks at the cells of a rank, and tells each number that has changed.
    pub fn look(&mut self, from: Rank, mut changed: impl FnMut(Counter, u64)) {
        for counter in Counter::ALL {
            let cell = place(from, counter);
            if u64::from_be_bytes(self.cells.read(cell * CELL_LEN)) == self.seen[cell] {
                continue;
            }
            // The check first: most devices write forwards, so that it then fits less often by chance.
            let check = u64::from_be_bytes(self.cells.read(cell * CELL_LEN + 8));
            let value = u64::from_be_bytes(self.cells.read(cell * CELL_LEN));
            if check == check_of(value) {
                self.seen[cell] = value;
                changed(counter, value);
            }
        }
    }
}

/// Offset, in the table of any rank, of the cell that `from` writes.
pub fn offset(from: Rank, counter: Counter) -> usize {
    place(from, counter) * CELL_LEN
}

fn place(from: Rank, counter: Counter) -> usize {
    from.index() * Counter::KINDS + counter as usize
}

fn cell(value: u64) -> [u8; CELL_LEN] {
    let mut bytes = [0; CELL_LEN];
    bytes[..8].copy_from_slice(&value.to_be_bytes());
    bytes[8..].copy_from_slice(&check_of(value).to_be_bytes());
    bytes
}

/// Mixes all bits into all, so that no part of one number's check fits another number; zero for zero,
/// as in a cell that was never written.
fn check_of(value: u64) -> u64 {
    let folded = value ^ (value >> 32);
    let mixed = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_is_half_written_is_told() {
        for (old, new) in [(0, 1), (255, 256), (0x00ff_ffff, 0x0100_0000), (1 << 40, (1 << 40) + 1)]
        {
            let (old, new) = (cell(old), cell(new));
            for written in 0..=CELL_LEN {
                let forwards = [&new[..written], &old[written..]].concat();
                let backwards = [&old[..written], &new[written..]].concat();
                for seen in [forwards, backwards] {
                    let value = u64::from_be_bytes(seen[..8].try_into().unwrap());
                    let check = u64::from_be_bytes(seen[8..].try_into().unwrap());
                    let fits = check == check_of(value);
                    assert!(!fits || seen == old || seen == new, "{written}: {seen:?}");
                }
            }
        }
    }

    #[test]
    fn cells_do_not_overlap() {
        let mut offsets: Vec<_> = (0..3)
            .flat_map(|rank| Counter::ALL.map(|counter| offset(Rank(rank), counter)))
            .collect();
        offsets.dedup();
        assert!(offsets.into_iter().eq((0..3 * Counter::KINDS).map(|place| place * CELL_LEN)));
    }
}
