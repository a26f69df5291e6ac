//! Memory in which messages are received, used again as soon as a message was compared with what was sent.

use super::pattern;

/// What is there before anything comes.
const FILLING: u8 = 0xee;
/// Messages whose memory is kept at most: enough where ranks begin one broadcast as they end another, and little where all
/// end one before any begins the next.
const MAX_KEPT: usize = 1024;

/// Memory that is not in use, and the broadcast whose message is there.
#[derive(Debug, Default)]
pub(super) struct Spare(Vec<(usize, Vec<u8>)>);

impl Spare {
    /// `len` bytes for the message of a broadcast, which are not those of its message: else nobody would notice that one is
    /// missing.
    pub fn take(&mut self, step: usize, len: usize) -> Vec<u8> {
        let Some((before, mut memory)) = self.0.pop() else { return vec![FILLING; len] };
        if pattern::are_alike(before, step) {
            memory.clear();
        }
        memory.resize(len, FILLING);
        memory
    }

    /// Takes memory back that holds the message of a broadcast.
    pub fn give_back(&mut self, step: usize, memory: Vec<u8>) {
        if self.0.len() < MAX_KEPT {
            self.0.push((step, memory));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_of_a_message_is_there_before_it_comes() {
        let mut spare = Spare::default();
        for (before, after) in [(0, 0), (0, 1), (3, 259), (7, 2)] {
            spare.give_back(before, pattern::message(before, 100));
            let bytes = spare.take(after, 60);
            let sent = pattern::message(after, 60);
            let same = bytes.iter().zip(&sent).filter(|(one, other)| one == other).count();
            assert!(bytes.len() == 60 && same < 3, "{before} {after}: {same}");
        }
    }

    #[test]
    fn it_is_as_long_as_the_message() {
        let mut spare = Spare::default();
        for (step, len) in (0..).zip([10, 0, 1000, 7]) {
            let bytes = spare.take(step, len);
            assert_eq!(bytes.len(), len);
            spare.give_back(step, bytes);
        }
    }
}
