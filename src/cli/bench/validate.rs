//! The pass before the measurements: whether what is received is what was sent.

use super::contender::Contender;
use super::lab::Lab;
use crate::launch::decide::blame;

/// Messages that are compared, from as many roots as the plan has.
const MESSAGES: u64 = 8;

/// Broadcasts and compares messages of `size` bytes. What is lost without repair is not compared.
/// Collective.
pub fn validate(lab: &mut Lab<'_>, contender: &mut dyn Contender, size: u64) -> Result<(), String> {
    let len = usize::try_from(size).map_err(|_| blame(lab.me(), "a message is too long"))?;
    let mut message = contender.buffer(len);
    for number in 0..MESSAGES {
        let root = lab.root.of(number, lab.ranks);
        // Nothing that was there before looks like the message.
        let other = u8::from(lab.me() != root) * 0xff;
        fill(&mut message, number, other);
        let is_here = contender.broadcast(root, &mut message)?;
        if let Some(at) = wrong(&message, number).filter(|_| is_here) {
            let what = format!("byte {at} of a message of {size} bytes from {root} is wrong");
            return Err(blame(lab.me(), what));
        }
        lab.barrier(contender)?;
    }
    lab.settle(contender)
}

/// The byte at a place of a message: another one in every message, place and page.
fn byte(number: u64, at: usize) -> u8 {
    (number as usize * 37 + at + at / 251) as u8
}

fn fill(message: &mut [u8], number: u64, other: u8) {
    for (at, place) in message.iter_mut().enumerate() {
        *place = byte(number, at) ^ other;
    }
}

/// The first place where a message is not what was sent.
fn wrong(message: &[u8], number: u64) -> Option<usize> {
    message.iter().enumerate().find(|(at, found)| **found != byte(number, *at)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_and_other_messages_differ() {
        let mut message = [0; 1000];
        fill(&mut message, 3, 0);
        assert_eq!((wrong(&message, 3), wrong(&message, 4)), (None, Some(0)));
        message[700] ^= 1;
        assert_eq!(wrong(&message, 3), Some(700));
        fill(&mut message, 3, 0xff);
        assert_eq!(wrong(&message, 3), Some(0));
    }
}
