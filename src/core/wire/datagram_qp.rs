//! Which UD QP is a process's.

use super::error::WireError;
use super::fields::{Reader, Writer};
use super::process_address::MAX_24_BITS;

/// The UD QP of a process. Where its adapter does not restart one that failed, another takes its place.
///
/// On the wire: QP number, generation (32 bits each).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramQp {
    /// Its number, 24 bits.
    pub qpn: u32,
    /// How many the process has had before: tells which of two is the later one.
    pub generation: u32,
}

impl DatagramQp {
    /// Takes what was heard of the process, unless that is older than what is known: messages may come late or twice.
    /// Whether it was news.
    pub fn learn(&mut self, heard: DatagramQp) -> bool {
        let is_news = heard.generation > self.generation;
        if is_news {
            *self = heard;
        }
        is_news
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u32(self.qpn).u32(self.generation);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let read = DatagramQp { qpn: from.u32()?, generation: from.u32()? };
        if read.qpn > MAX_24_BITS {
            return Err(from.invalid("QP number"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_heard_late_or_twice_brings_no_former_qp_back() {
        let generations = [40, 50, 60].map(|qpn| DatagramQp { qpn, generation: qpn / 10 - 4 });
        let mut known = generations[0];
        for (heard, expected) in [(1, 1), (0, 1), (2, 2), (1, 2), (0, 2), (2, 2)] {
            let before = known;
            let is_news = known.learn(generations[heard]);
            assert_eq!((known, is_news), (generations[expected], known != before));
        }
    }
}
