//! The data: one broadcast per chunk, read or written by one thread and hashed by another, while others are broadcast.
//!
//! Frames go round. At rank 0: read, hashed, broadcast, free again. At the others: broadcast, written, hashed, free again.

mod channel;
mod ring;
#[cfg(test)]
mod tests;

pub use channel::Channel;
pub use ring::{End, Outcome, Trouble, run};

use super::plan::Plan;

/// A stream's frames say at their end how many of their bytes count.
pub const COUNT_LEN: usize = size_of::<u64>();
/// Frames that go round: one at the file, one under the hash, and those that are broadcast.
pub const FRAMES: u64 = 4;

/// Which chunks are broadcast, and how long they are.
#[derive(Clone, Debug)]
pub struct Chunks {
    len: u64,
    /// Of all chunks; none: until the stream ends.
    total: Option<u64>,
    /// By chunk, whether all ranks have it already; a chunk behind the end is one that they lack.
    held: std::sync::Arc<Vec<bool>>,
}

impl Chunks {
    pub fn new(plan: &Plan, held: Vec<bool>) -> Chunks {
        Chunks { len: plan.chunk, total: plan.data, held: held.into() }
    }

    pub fn is_stream(&self) -> bool {
        self.total.is_none()
    }

    /// How many there are; the largest number for a stream.
    pub fn count(&self) -> u64 {
        self.total.map_or(u64::MAX, |total| total.div_ceil(self.len))
    }

    /// Bytes of data in a chunk.
    pub fn len(&self, chunk: u64) -> usize {
        let rest = self.total.map_or(self.len, |total| total.saturating_sub(chunk * self.len));
        // At most 1 GiB.
        self.len.min(rest) as usize
    }

    /// Whether it is the last one and shorter than the others.
    pub fn is_short(&self, chunk: u64) -> bool {
        (self.len(chunk) as u64) < self.len
    }

    pub fn is_held(&self, chunk: u64) -> bool {
        usize::try_from(chunk).ok().and_then(|chunk| self.held.get(chunk)).is_some_and(|held| *held)
    }

    /// The lengths of the buffers that a transfer needs: those of whole chunks, and that of the last one if it is shorter.
    pub fn buffer_lengths(&self) -> (Vec<usize>, Option<usize>) {
        if self.is_stream() {
            return (vec![self.len as usize + COUNT_LEN; FRAMES as usize], None);
        }
        let total = self.total.unwrap_or_default();
        let whole = (total / self.len).min(FRAMES);
        let rest = (total % self.len) as usize;
        (vec![self.len as usize; whole as usize], (rest > 0).then_some(rest))
    }
}
