//! Reliable packets over links that may throw some away.
//!
//! The sender's adapter sends such a packet again when its time is up, and the receiver's takes what has
//! overtaken it only afterwards (reliable connections with selective repeat; one that goes back to the
//! lost packet and sends all again would load the links more).

use super::event::Event;
use super::outcome::Violation;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use verbcast_core::numbers::NumberMap;
use verbcast_core::rank::Rank;
use verbcast_fabric::links::Packet;

/// How often a packet is sent again before its connection breaks: the most that InfiniBand counts.
const MAX_RETRIES: u8 = 7;

/// Packets that one rank of a job sends to another; those that answer the other's are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub job: usize,
    pub from: Rank,
    pub to: Rank,
    pub is_answer: bool,
}

impl Hash for Stream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Stream { job, from, to, is_answer } = *self;
        state.write_u64(u64::from(from.0) << 32 | u64::from(to.0));
        state.write_u64((job as u64) << 1 | u64::from(is_answer));
    }
}

/// A packet's place in its stream, and what happens when its turn has come.
#[derive(Debug)]
pub(super) struct Single {
    pub event: Event,
    pub packet: Packet,
    stream: Stream,
    sequence: u64,
    retries: u8,
}

impl Single {
    pub fn job(&self) -> usize {
        self.stream.job
    }

    /// Counts that it was thrown away once more.
    pub fn dropped(&mut self) -> Result<(), Violation> {
        if self.retries == MAX_RETRIES {
            let Stream { job, from, to, .. } = self.stream;
            let what =
                format!("a packet from {from} to {to}, and each of its {MAX_RETRIES} retries");
            return Err(Violation(format!("job {job}: links dropped {what}")));
        }
        self.retries += 1;
        Ok(())
    }
}

/// How far a stream is.
#[derive(Debug, Default)]
struct State {
    sent: u64,
    taken: u64,
    early: BTreeMap<u64, Event>,
}

/// All streams.
#[derive(Debug, Default)]
pub(super) struct Streams(NumberMap<Stream, State>);

impl Streams {
    /// The next packet of a stream.
    pub fn next(&mut self, stream: Stream, packet: Packet, event: Event) -> Single {
        let state = self.0.entry(stream).or_default();
        state.sent += 1;
        Single { event, packet, stream, sequence: state.sent - 1, retries: 0 }
    }

    /// A packet is there: what happens now, in order, which is nothing if an earlier one is missing.
    pub fn take(&mut self, single: Single, mut happens: impl FnMut(Event)) {
        let state = self.0.entry(single.stream).or_default();
        if single.sequence != state.taken {
            state.early.insert(single.sequence, single.event);
            return;
        }
        happens(single.event);
        state.taken += 1;
        while let Some(event) = state.early.remove(&state.taken) {
            happens(event);
            state.taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_fabric::links::To;

    #[test]
    fn what_overtakes_a_packet_waits_for_it() {
        let mut streams = Streams::default();
        let stream = Stream { job: 0, from: Rank(1), to: Rank(2), is_answer: false };
        let packet = Packet { to: To::Lid(1), bytes: 10, level: 0, tag: 0 };
        let mut send = |to| streams.next(stream, packet, Event::Turn(Rank(to)));
        let [first, second, third] = [0, 1, 2].map(&mut send);
        let mut take = |single| {
            let mut happened = Vec::new();
            streams.take(single, |event| {
                let Event::Turn(rank) = event else { panic!("{event:?}") };
                happened.push(rank.0);
            });
            happened
        };
        assert_eq!(take(second), []);
        assert_eq!(take(first), [0, 1]);
        assert_eq!(take(third), [2]);
    }

    #[test]
    fn a_packet_is_not_sent_for_ever() {
        let stream = Stream { job: 3, from: Rank(1), to: Rank(2), is_answer: false };
        let packet = Packet { to: To::Lid(1), bytes: 10, level: 0, tag: 0 };
        let mut single = Streams::default().next(stream, packet, Event::Turn(Rank(0)));
        for _ in 0..MAX_RETRIES {
            single.dropped().unwrap();
        }
        let error = single.dropped().unwrap_err().0;
        assert!(
            error.starts_with("job 3: links dropped a packet from rank 1 to rank 2"),
            "{error}"
        );
    }
}
