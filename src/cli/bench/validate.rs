//! Whether what is received is what was sent: a pass before the measurements, and a look at what each has left.

use super::contender::Contender;
use super::lab::Lab;
use crate::launch::decide::blame;
use crate::root::Root;
use std::ops::Range;

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
        if lab.me() == root {
            contender.load(&message)?;
        }
        if contender.broadcast(root, &mut message)? {
            compare(lab, contender, &mut message, number)?;
        }
        lab.barrier(contender)?;
    }
    lab.settle(contender)
}

/// Fills the message of a run that is measured: where there is one root, otherwise than it at the others.
pub fn prepare(
    lab: &Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
) -> Result<(), String> {
    let is_root = matches!(lab.root, Root::Rotate) || lab.me() == lab.root.of(0, lab.ranks);
    fill(message, MESSAGES, u8::from(!is_root) * 0xff);
    if is_root { contender.load(message) } else { Ok(()) }
}

/// Compares what a run has left with what was sent, where nothing was lost.
pub fn check(
    lab: &Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
) -> Result<(), String> {
    compare(lab, contender, message, MESSAGES)
}

fn compare(
    lab: &Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
    number: u64,
) -> Result<(), String> {
    let here = contender.unload(message);
    match wrong(message, here, number) {
        None => Ok(()),
        Some(at) => {
            let what = format!("byte {at} of a message of {} bytes is wrong", message.len());
            Err(blame(lab.me(), what))
        }
    }
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

/// The first place of a part of a message that is not what was sent.
fn wrong(message: &[u8], mut part: Range<usize>, number: u64) -> Option<usize> {
    part.find(|at| message[*at] != byte(number, *at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_and_other_messages_differ() {
        let mut message = [0; 1000];
        fill(&mut message, 3, 0);
        let wrong = |message: &[u8], number| wrong(message, 0..message.len(), number);
        assert_eq!((wrong(&message, 3), wrong(&message, 4)), (None, Some(0)));
        message[700] ^= 1;
        assert_eq!(wrong(&message, 3), Some(700));
        assert_eq!(super::wrong(&message, 701..1000, 3), None);
        assert_eq!(super::wrong(&message, 700..1000, 3), Some(700));
        fill(&mut message, 3, 0xff);
        assert_eq!(wrong(&message, 3), Some(0));
    }
}
