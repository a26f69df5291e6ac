//! What ranks tell one another beside the broadcasts: a meaning and a number, the payload of a reliable packet.

use verbcast_core::wire::{Format, WireError};

/// What a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Word {
    /// In a barrier.
    Barrier = 1,
    /// A broadcast is here: 1 if whole, else 0.
    Acknowledge = 2,
    /// The other is to answer at once.
    Ping = 3,
    /// The answer: a time on the sender's clock.
    Pong = 4,
    /// A number that was estimated of the clocks.
    Estimate = 5,
    /// When a broadcast began.
    Began = 6,
    /// The sender gives up, because of the rank with this number.
    Abort = 7,
}

impl Word {
    /// Tag and version of a word with its number. On the wire: the word (8 bits), the number (64).
    const FORMAT: Format = Format { name: "a word of the benchmark", tag: *b"vbB", version: 1 };

    /// The bytes of the word with its number.
    pub fn emit(self, number: u64) -> Vec<u8> {
        let mut to = Word::FORMAT.write();
        to.u8(self as u8).u64(number);
        to.finish()
    }

    /// Reads a word and its number.
    pub fn parse(bytes: &[u8]) -> Result<(Word, u64), WireError> {
        let mut from = Word::FORMAT.read(bytes)?;
        let word = match from.u8()? {
            1 => Word::Barrier,
            2 => Word::Acknowledge,
            3 => Word::Ping,
            4 => Word::Pong,
            5 => Word::Estimate,
            6 => Word::Began,
            7 => Word::Abort,
            _ => return Err(from.invalid("word")),
        };
        let number = from.u64()?;
        from.end().map(|()| (word, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORDS: [Word; 7] = [
        Word::Barrier,
        Word::Acknowledge,
        Word::Ping,
        Word::Pong,
        Word::Estimate,
        Word::Began,
        Word::Abort,
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_word_is_read_as_it_was_written(word in prop::sample::select(WORDS.to_vec()), number: u64) {
            let bytes = word.emit(number);
            prop_assert_eq!(Word::parse(&bytes), Ok((word, number)));
            for len in 0..bytes.len() {
                prop_assert!(Word::parse(&bytes[..len]).is_err());
            }
        }

        #[test]
        fn noise_is_read_or_refused(noise in prop::collection::vec(any::<u8>(), 0..20)) {
            let bytes = [&b"vbB\x01"[..], &noise].concat();
            for bytes in [&noise, &bytes] {
                let is_sound = Word::parse(bytes).ok().is_none_or(|(word, number)| word.emit(number) == *bytes);
                prop_assert!(is_sound);
            }
        }
    }
}
