//! The bytes of messages.
//!
//! All are cut from one pattern that repeats, so that a message is compared with it many bytes at a time. They differ from
//! one place of a message to the next, and from one broadcast to the next.

/// Bytes after which the pattern goes on otherwise.
const STRETCH: usize = 64;
/// Bytes after which it repeats.
const PERIOD: usize = STRETCH << u8::BITS;
/// By so many bytes further on begins the message of each broadcast. There every byte is more by 17.
const SHIFT: usize = 81 * STRETCH;

/// Two periods, so that one can be read from anywhere in the first.
static PATTERN: [u8; 2 * PERIOD] = {
    let (mut pattern, mut at) = ([0; 2 * PERIOD], 0);
    while at < pattern.len() {
        pattern[at] = (at * 31 + at / STRETCH) as u8;
        at += 1;
    }
    pattern
};

/// The message of a broadcast, a period at a time.
fn periods(step: usize, len: usize) -> impl Iterator<Item = &'static [u8]> {
    let begin = step.wrapping_mul(SHIFT) % PERIOD;
    (0..len).step_by(PERIOD).map(move |at| &PATTERN[begin..begin + PERIOD.min(len - at)])
}

/// The message of a broadcast.
pub(super) fn message(step: usize, len: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(len);
    periods(step, len).for_each(|period| message.extend_from_slice(period));
    message
}

/// Whether these are the bytes of a broadcast's message.
pub(super) fn is_message(step: usize, bytes: &[u8]) -> bool {
    bytes.chunks(PERIOD).eq(periods(step, bytes.len()))
}

/// Whether the messages of two broadcasts have the same bytes.
pub(super) fn are_alike(one: usize, other: usize) -> bool {
    one.abs_diff(other).wrapping_mul(SHIFT).is_multiple_of(PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_recognised_whatever_its_length() {
        for len in [0, 1, STRETCH, PERIOD - 1, PERIOD, 2 * PERIOD + 5] {
            for step in [0, 1, 5, 255, 256, usize::MAX] {
                let mut bytes = message(step, len);
                assert!(bytes.len() == len && is_message(step, &bytes), "{step} {len}");
                if let Some(last) = bytes.last_mut() {
                    *last ^= 1;
                    assert!(!is_message(step, &bytes), "{step} {len}");
                }
            }
        }
    }

    #[test]
    fn messages_differ_in_every_byte() {
        let len = 2 * PERIOD + 5;
        let first = message(0, len);
        for step in 1..256 {
            let more = (step * 17) as u8;
            let is_more = |(byte, first): (&u8, &u8)| *byte == first.wrapping_add(more);
            assert!(message(step, len).iter().zip(&first).all(is_more), "{step}");
            assert!(more != 0 && !are_alike(step, 0) && !are_alike(7, 7 + step));
        }
        assert!(are_alike(3, 3) && are_alike(256, 512) && first == message(256, len));
    }

    #[test]
    fn places_of_a_message_differ() {
        let bytes = message(0, PERIOD);
        for at in 0..PERIOD - STRETCH {
            assert!(bytes[at] != bytes[at + 1] && bytes[at] != bytes[at + STRETCH], "{at}");
        }
    }
}
