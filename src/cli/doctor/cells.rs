//! Numbers with a check word, as ranks write them into each other's memory: 16 bytes.

use super::finding::Tried;
use verbcast_verbs::Shared;

/// Bytes of a cell.
pub const LEN: usize = 16;

/// The bytes of a number.
pub fn cell(number: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..].copy_from_slice(&check(number).to_le_bytes());
    bytes
}

fn check(number: u64) -> u64 {
    // Any mixture that spreads a change over all bytes.
    (number ^ 0x5bd1_e995_9e37_79b9).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What was seen of a cell over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    last: u64,
    looks: u64,
    torn: u64,
    backwards: u64,
}

impl Seen {
    /// Looks at the cell at the begin of the memory.
    pub fn look(&mut self, memory: &Shared) {
        let word = |at| u64::from_le_bytes(memory.read(at));
        self.take(word(0), word(8));
    }

    fn take(&mut self, number: u64, checked: u64) {
        self.looks += 1;
        if number == 0 && checked == 0 {
            return;
        }
        if checked != check(number) {
            self.torn += 1;
        } else {
            self.backwards += u64::from(number < self.last);
            self.last = self.last.max(number);
        }
    }

    /// The last number that was seen whole.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The verdict, where the last number written is this.
    pub fn judge(&self, written: u64) -> Tried {
        let Seen { last, looks, torn, backwards } = self;
        let came = format!("{torn} of {looks} looks torn and caught, last {last} of {written}");
        match (*last == written, *backwards) {
            (true, 0) => Tried::holds(came),
            (false, _) => {
                Tried::broken(came, "writes do not become visible: please send the report")
            }
            _ => Tried::broken(
                format!("{came}, {backwards} times an older number"),
                "writes are seen out of order (relaxed ordering of PCI?): please send the report",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Outcome;
    use super::*;

    #[test]
    fn torn_and_old_numbers_are_told_apart() {
        let mut seen = Seen::default();
        for number in 1..=3 {
            seen.take(number, check(number));
        }
        assert_eq!(seen.judge(3).outcome, Outcome::Holds);
        assert_eq!(seen.judge(4).outcome, Outcome::Broken);
        seen.take(4, check(3));
        assert_eq!((seen.torn, seen.last()), (1, 3));
        seen.take(2, check(2));
        assert_eq!(seen.judge(3).outcome, Outcome::Broken);
    }
}
