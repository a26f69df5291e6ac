//! The three-way handshake that connects two processes' RC QPs, over unreliable datagrams.
//!
//! ```text
//!   opener                         accepter
//!   Open(endpoint)    ─────────▶   connects its QP
//!   connects its QP   ◀─────────   Accept(endpoint)
//!   may send          ─────────▶   Confirm: may send
//! ```
//!
//! `Confirm` goes over the connection too, where it cannot be lost: the opener may do something else
//! for long from then on.
//!
//! A side sends data only when it knows that the other's QP is connected, since a packet to a QP
//! that is not costs a retransmission timeout. `Open` and `Accept` are repeated until they are
//! answered; every message may be lost or doubled, and both sides may open at once, in which case
//! both accept.
//!
//! The other side's UD QP may be another one by now, where its adapter does not restart one that failed. So every message
//! tells the own one. The other side also tells everybody when it happens (`../endpoint/relocation.rs`); should that have been
//! lost, what nobody answers goes to all groups too, [seldom](GroupTurns).

use super::group_turns::GroupTurns;
use std::time::Duration;
use verbcast_core::time::Instant;
use verbcast_core::wire::handshake::{Ends, Message, Step};

/// First pause before a message is repeated; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(20);
pub const MAX_PAUSE: Duration = Duration::from_millis(320);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The other side is not known.
    Opening,
    /// The own QP is connected; whether the other's is, is not known.
    Accepting,
    /// Both are.
    Connected,
}

/// What a received message asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// Connect the own QPs to these ends, before anything is sent.
    pub connect: Option<Ends>,
    /// Answer with this step.
    pub answer: Option<Step>,
}

/// One side of a handshake.
#[derive(Debug)]
pub struct Handshake {
    state: State,
    theirs: Option<Ends>,
    repeat_at: Instant,
    pause: Duration,
    group_turns: GroupTurns,
}

impl Handshake {
    /// A handshake whose first `Open` is due at once, when the turns to send to the groups too come.
    pub fn new(now: Instant, group_turns: GroupTurns) -> Self {
        let (state, pause) = (State::Opening, FIRST_PAUSE);
        Handshake { state, theirs: None, repeat_at: now, pause, group_turns }
    }

    pub fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    /// The step to send by now, if one is due, and whether to all groups too.
    pub fn poll(&mut self, now: Instant) -> Option<(Step, bool)> {
        let step = match self.state {
            State::Opening => Step::Open,
            State::Accepting => Step::Accept,
            State::Connected => return None,
        };
        if now < self.repeat_at {
            return None;
        }
        self.repeat_at = now + self.pause;
        self.pause = (2 * self.pause).min(MAX_PAUSE);
        // An answer tells where the other side is.
        Some((step, self.state == State::Opening && self.group_turns.is_due(now)))
    }

    /// The other side was heard on the connection itself, which is as good as a `Confirm`.
    pub fn heard(&mut self) {
        if self.state == State::Accepting {
            self.state = State::Connected;
        }
    }

    /// What was [handled](Self::handle) last asked for a connection that could not be made: it is as if it had not come, and the
    /// other side repeats it.
    pub fn postpone(&mut self) {
        self.state = State::Opening;
    }

    pub fn handle(&mut self, now: Instant, message: &Message) -> Reaction {
        let mut reaction = Reaction::default();
        if *self.theirs.get_or_insert(message.ends) != message.ends {
            // Of a former incarnation of the other side.
            return reaction;
        }
        if self.state == State::Opening && message.step != Step::Confirm {
            reaction.connect = Some(message.ends);
            self.state = State::Accepting;
            self.pause = FIRST_PAUSE;
            self.repeat_at = now + FIRST_PAUSE;
        }
        match message.step {
            Step::Open => reaction.answer = Some(Step::Accept),
            Step::Accept => {
                self.state = State::Connected;
                reaction.answer = Some(Step::Confirm);
            }
            Step::Confirm => self.heard(),
        }
        reaction
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use verbcast_core::wire::DatagramQp;
    use verbcast_core::wire::handshake::End;

    const fn ends(qpn: u32) -> Ends {
        let messages = End { qpn, psn: 1 };
        Ends { messages, probes: End { qpn: qpn + 1, psn: 2 }, mtu: 4096 }
    }

    const ENDS: [Ends; 2] = [ends(17), ends(34)];

    const fn say(step: Step, ends: Ends) -> Message {
        Message { from: 0, datagrams: DatagramQp { qpn: 3, generation: 0 }, step, ends }
    }

    fn begin(now: Instant) -> Handshake {
        Handshake::new(now, GroupTurns::new(now, 2, 0))
    }

    /// Two sides over a lossy, doubling, reordering wire, of which one in so many hundreds does not find the other at first; returns
    /// after how long both may send.
    fn meet(seed: u64, (loss, unresolved): (u32, u32), both_open: bool) -> Duration {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        let mut now = Instant::ZERO;
        let mut sides = [Some(begin(now)), both_open.then(|| begin(now))];
        let mut connected = [false; 2];
        let mut wire: Vec<(usize, Message)> = Vec::new();
        for _ in 0..100_000 {
            for me in 0..2 {
                let Some(side) = &mut sides[me] else { continue };
                if let Some((step, _)) = side.poll(now) {
                    wire.push((1 - me, say(step, ENDS[me])));
                }
            }
            if !wire.is_empty() {
                let (to, message) = wire.swap_remove(draw.next_u32() as usize % wire.len());
                if draw.next_u32() % 100 < 20 {
                    wire.push((to, message));
                }
                if draw.next_u32() % 100 >= loss {
                    let side = sides[to].get_or_insert_with(|| begin(now));
                    let Reaction { connect, answer } = side.handle(now, &message);
                    let is_found = draw.next_u32() % 100 >= unresolved;
                    if let Some(other) = connect {
                        assert_eq!(other, ENDS[1 - to]);
                        assert!(!connected[to], "connected twice, seed {seed}");
                        connected[to] = is_found;
                        if !is_found {
                            side.postpone();
                        }
                    }
                    if let Some(step) = answer.filter(|_| connected[to]) {
                        wire.push((1 - to, say(step, ENDS[to])));
                    }
                }
            }
            for side in sides.iter().flatten() {
                // The safety of it: nobody sends to a QP that is not connected.
                assert!(!side.is_connected() || connected == [true; 2], "seed {seed}");
            }
            if sides.iter().all(|side| side.as_ref().is_some_and(Handshake::is_connected)) {
                return now - Instant::ZERO;
            }
            now = now + Duration::from_millis(1);
        }
        panic!("no connection, seed {seed}");
    }

    #[test]
    fn what_nobody_answers_goes_to_the_groups_until_there_is_an_answer() {
        let mut side = begin(Instant::ZERO);
        let mut now = Instant::ZERO;
        let mut repeat = |side: &mut Handshake| {
            loop {
                if let Some((_, is_for_all)) = side.poll(now) {
                    return is_for_all;
                }
                now = now + Duration::from_millis(1);
            }
        };
        let sent: Vec<_> = (0..100).map(|_| repeat(&mut side)).collect();
        assert!(!sent[..5].contains(&true), "an answer comes sooner as a rule");
        assert!(sent[5..20].contains(&true), "{sent:?}");
        assert!(sent[50..].contains(&true), "{sent:?}");
        side.handle(Instant::ZERO, &say(Step::Open, ENDS[1]));
        let is_silent = (0..100).all(|_| !repeat(&mut side));
        assert!(is_silent, "it is known where the other side is");
    }

    #[test]
    fn two_sides_meet_whatever_the_wire_does() {
        for seed in 0..500 {
            for wire in [(0, 0), (10, 0), (60, 0), (0, 50), (10, 90)] {
                meet(seed, wire, false);
                meet(seed, wire, true);
            }
        }
    }
}
