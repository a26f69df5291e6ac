//! What goes wrong with datagrams on their way to one receiver, and with reads.

use super::event::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use std::rc::Rc;
use verbcast_core::wire::HEADER_LEN;

/// Probabilities in parts per million, times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// A datagram is lost, independently of all others.
    pub loss: u32,
    /// A receiver's link turns bad with a datagram, so that all are lost until it is good again (the
    /// model of Gilbert and Elliott).
    pub burst_begins: u32,
    /// A bad link turns good with a datagram.
    pub burst_ends: u32,
    /// A datagram comes twice.
    pub duplicate: u32,
    /// A datagram is delayed, so that later ones may overtake it.
    pub delay: u32,
    /// The longest such delay.
    pub longest_delay: u64,
    /// A datagram's header has a wrong byte.
    pub wrong_header: u32,
    /// A datagram's payload has a wrong byte: only for plans [with CRCs of payloads](super::Plan::payload_crc), as
    /// otherwise it is the link that finds it.
    pub wrong_payload: u32,
    /// A read of a slot takes place in two parts, between which the slot may be replaced.
    pub torn_read: u32,
    /// The longest time between them.
    pub longest_tear: u64,
    /// Datagrams that wait before a receiver's link at most, where others are lost; zero for any number.
    pub buffer: u32,
    /// The time in which one of them passes.
    pub passing: u64,
}

impl Faults {
    /// After what time a datagram has passed a receiver's link, which others take `until` some time; `None` where it finds no
    /// place to wait.
    pub(super) fn pass(&self, now: u64, until: &mut u64) -> Option<u64> {
        let waits = until.saturating_sub(now);
        if self.buffer > 0 && waits >= u64::from(self.buffer) * self.passing {
            return None;
        }
        let delay = waits + self.passing;
        *until = now + delay;
        Some(delay)
    }
}

/// A probability of one, in parts per million.
pub const CERTAIN: u32 = 1_000_000;

/// Whether something of a probability in parts per million happens. What cannot happen draws nothing,
/// so that turning one fault on leaves the others as they were.
pub(super) fn happens(draw: &mut ChaCha8Rng, probability: u32) -> bool {
    probability > 0 && draw.next_u32() % CERTAIN < probability
}

/// When copies of a datagram arrive at one receiver, as delays: none, one or two.
pub(super) fn fate(
    faults: &Faults,
    is_bad: &mut bool,
    draw: &mut ChaCha8Rng,
) -> impl Iterator<Item = u64> + use<> {
    let turns = if *is_bad { faults.burst_ends } else { faults.burst_begins };
    *is_bad ^= happens(draw, turns);
    let is_lost = *is_bad || happens(draw, faults.loss);
    let copies = if is_lost { 0 } else { 1 + u32::from(happens(draw, faults.duplicate)) };
    let mut delays = [0; 2];
    for delay in delays.iter_mut().take(copies as usize) {
        if happens(draw, faults.delay) {
            *delay = draw.next_u64() % (faults.longest_delay + 1);
        }
    }
    delays.into_iter().take(copies as usize)
}

/// What arrives of a datagram.
pub(super) fn arrived(faults: &Faults, bytes: &Bytes, draw: &mut ChaCha8Rng) -> Bytes {
    let header = happens(draw, faults.wrong_header).then_some(0..HEADER_LEN);
    let payload = happens(draw, faults.wrong_payload).then_some(HEADER_LEN..bytes.len());
    let parts = header.into_iter().chain(payload.filter(|part| !part.is_empty()));
    let mut arrived = Rc::clone(bytes);
    for part in parts {
        let at = part.start + draw.next_u32() as usize % part.len();
        Rc::make_mut(&mut arrived)[at] ^= 1 + (draw.next_u32() % 255) as u8;
    }
    arrived
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn a_byte_is_wrong_where_that_is_asked_for() {
        let bytes: Bytes = vec![7; HEADER_LEN + 20].into();
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        let mut wrong = |wrong_header, wrong_payload, bytes: &Bytes| {
            let faults = Faults { wrong_header, wrong_payload, ..Faults::default() };
            let arrived = arrived(&faults, bytes, &mut draw);
            let [head, payload] = [0..HEADER_LEN, HEADER_LEN..bytes.len()]
                .map(|part| arrived[part].iter().filter(|byte| **byte != 7).count());
            (head, payload)
        };
        assert_eq!(wrong(0, 0, &bytes), (0, 0));
        assert_eq!(wrong(CERTAIN, 0, &bytes), (1, 0));
        assert_eq!(wrong(0, CERTAIN, &bytes), (0, 1));
        assert_eq!(wrong(CERTAIN, CERTAIN, &bytes), (1, 1));
        assert_eq!(wrong(0, CERTAIN, &vec![7; HEADER_LEN].into()), (0, 0), "no payload");
    }

    #[test]
    fn losses_come_as_often_as_asked_for() {
        let faults = Faults { loss: 100_000, duplicate: 500_000, ..Faults::default() };
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        let counts: Vec<_> =
            (0..10_000).map(|_| fate(&faults, &mut false, &mut draw).count()).collect();
        let lost = counts.iter().filter(|count| **count == 0).count();
        let doubled = counts.iter().filter(|count| **count == 2).count();
        assert!((900..1100).contains(&lost), "{lost}");
        assert!((4300..4700).contains(&doubled), "{doubled}");
    }

    #[test]
    fn bursts_lose_several_in_a_row() {
        let faults = Faults { burst_begins: 10_000, burst_ends: 100_000, ..Faults::default() };
        let mut draw = ChaCha8Rng::seed_from_u64(1);
        let mut is_bad = false;
        let lost: Vec<_> =
            (0..100_000).map(|_| fate(&faults, &mut is_bad, &mut draw).count() == 0).collect();
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let all = lost.iter().filter(|lost| **lost).count();
        assert!((7..13).contains(&(all / bursts)), "{all} in {bursts}");
    }
}
