//! The next fragment of a message that comes in order, together with the one before it.
//!
//! Most fragments that a leaf receives are such ones. What the first of them told of pauses, silence and gaps is true of the
//! next, and nothing follows from that but that it is here: no report is owed, nothing is read, nothing completes. So there
//! is little to ask of it. What it changes is what [`Window::handle_fragment`] would change.

use super::Window;
use crate::protocol::{Disposition, Incoming, Run, Via};
use crate::time::Instant;
use crate::wire::{Header, Kind};

impl Window {
    /// Something else happens than that the next fragment comes.
    pub(super) fn called(&mut self, now: Instant) {
        self.now = now;
        self.coming = None;
    }

    /// A new fragment came: what comes next may be the one behind it.
    pub(super) fn expect_next(&mut self, packet: &Incoming) {
        let op = self.first.plus(self.whole as u32);
        let is_plain = packet.via == Via::Multicast && packet.op == op;
        let is_all = self.seen == self.have && self.pull.is_idle();
        let is_owed = self.gathers || self.debts.is_asked();
        self.coming = (is_plain && is_all && !is_owed).then_some(op);
    }

    /// The fragments behind the last one that change nothing but what is here, as long as they come together with it: one that
    /// completes the message is none, nor is one from which on a report is owed.
    pub(super) fn run(&self, now: Instant) -> Option<Run> {
        let op = self.coming.filter(|_| self.now == now)?;
        let operation = self.operations.get(self.whole)?;
        let (source, cut, first) = (operation.root, &operation.cut, operation.next());
        let before_last = i64::from(cut.count()) - 1 - i64::from(first.0);
        let count = before_last.min(self.lags_from.after(self.have) - 1);
        let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
        Some(Run { op, source, first, count, fragment_len: cut.fragment_len() })
    }

    /// So many fragments of the [run](Self::run) came.
    pub(super) fn take_run(&mut self, count: u32) {
        if let Some(operation) = self.operations.get_mut(self.whole) {
            operation.own_run(count);
            self.have = self.have.plus(count);
            self.seen = self.have;
        }
    }

    /// Takes a fragment, if it is the next one of the [run](Self::run).
    pub(super) fn take_next(&mut self, now: Instant, packet: &Incoming) -> Option<Disposition> {
        let run = self.run(now)?.up_to(1);
        let cut = &self.operations.get(self.whole)?.cut;
        let is_plain = packet.kind == Kind::Fragment && packet.via == Via::Multicast;
        let is_silent = !packet.asks && packet.report == 0;
        let is_next =
            (packet.op, packet.source, packet.fragment) == (run.op, run.source, run.first);
        let is_long =
            packet.message_len == Header::UNTOLD || packet.message_len == cut.message_len() as u64;
        let is_whole = packet.payload_len == run.fragment_len;
        if !is_plain || !is_silent || !is_next || !is_long || !is_whole {
            return None;
        }
        self.take_run(1);
        Some(Disposition::Place(run.range()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{said_to_caller, said_to_others};
    use super::super::{Acknowledge, Config, Repair, Repairers};
    use super::*;
    use crate::protocol::Core;
    use crate::rank::{Fragment, OpId, Rank};
    use proptest::prelude::*;
    use std::time::Duration;

    const FRAGMENTS: u32 = 12;
    const ROOT: Rank = Rank(0);

    /// What happens to a leaf.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// Fragments come together, the first so far behind those before it; the last from a rank, the others from the root.
        Come { skip: u32, count: u32, asks: bool, is_untold: bool, via: Via, last: u32 },
        /// Time passes, and what is due is done.
        Wait(u64),
        /// What it has to send is taken.
        Send,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let via = prop_oneof![8 => Just(Via::Multicast), 1 => Just(Via::Fetched), 1 => Just(Via::Reliable)];
        let last = prop_oneof![6 => Just(0_u32), 1 => Just(2)];
        let skip = prop_oneof![12 => Just(0_u32), 1 => 1..4_u32, 1 => Just(u32::MAX)];
        let come = (skip, 1..6_u32, proptest::bool::weighted(0.1), any::<bool>(), via, last);
        let come = come.prop_map(|(skip, count, asks, is_untold, via, last)| Step::Come {
            skip,
            count,
            asks,
            is_untold,
            via,
            last,
        });
        let wait = (0..20_000_000_u64).prop_map(Step::Wait);
        prop::collection::vec(prop_oneof![6 => come, 2 => wait, 2 => Just(Step::Send)], 1..60)
    }

    /// A leaf that has begun a few broadcasts, and the position of what came last.
    struct Leaf {
        core: Window,
        is_short: bool,
        now: Instant,
        next: u32,
        said: Vec<String>,
    }

    impl Leaf {
        fn new(config: Config, is_short: bool) -> Leaf {
            let mut core = Window::new(Rank(1), 4, OpId(7), config).unwrap();
            for _ in 0..4 {
                core.start(Instant::ZERO, ROOT, u64::from(FRAGMENTS) * 10 - 3).unwrap();
            }
            Leaf { core, is_short, now: Instant::ZERO, next: 0, said: Vec::new() }
        }

        /// The next of so many that are left of a step.
        fn packet(&self, step: Step, left: u32) -> Incoming {
            let Step::Come { asks, is_untold, via, last, .. } = step else { unreachable!() };
            let (op, fragment) = (OpId(7 + self.next / FRAGMENTS), self.next % FRAGMENTS);
            let is_last = fragment + 1 == FRAGMENTS;
            let len = u64::from(FRAGMENTS) * 10 - 3;
            Incoming {
                via,
                source: if left == 1 { Rank(last) } else { ROOT },
                kind: Kind::Fragment,
                op,
                fragment: Fragment(fragment),
                message_len: if is_untold && !is_last { Header::UNTOLD } else { len },
                payload_len: if is_last { 7 } else { 10 },
                report: 0,
                asks,
                memory: None,
            }
        }

        /// Takes what comes of a run, as a transport does whose headers say no more; whether there was any.
        fn take_run(&mut self, step: Step, most: u32) -> bool {
            let Step::Come { asks, is_untold, via, last, .. } = step else { unreachable!() };
            let of_root = if Rank(last) == ROOT { most } else { most - 1 };
            let is_plain = !asks && is_untold && via == Via::Multicast;
            let Some(run) = self.core.coming(self.now).filter(|_| is_plain) else { return false };
            let run = run.up_to(of_root);
            let is_next = run.op.0 * FRAGMENTS + run.first.0 == 7 * FRAGMENTS + self.next;
            if !is_next || run.count == 0 {
                return false;
            }
            for fragment in 0..run.count {
                let start = (run.first.0 + fragment) as usize * run.fragment_len;
                let placed = Disposition::Place(start..start + run.fragment_len);
                self.said.push(format!("{placed:?}"));
            }
            self.core.handle_run(self.now, run.count);
            self.next += run.count;
            true
        }

        fn take(&mut self, step: Step) {
            match step {
                Step::Come { skip, count, .. } => {
                    self.next = self.next.wrapping_add(skip).min(5 * FRAGMENTS);
                    let end = self.next + count;
                    while self.next < end {
                        if !self.is_short {
                            self.core.coming = None;
                        }
                        if !self.take_run(step, end - self.next) {
                            let packet = self.packet(step, end - self.next);
                            self.next += 1;
                            let disposition = self.core.handle_packet(self.now, &packet);
                            self.said.push(format!("{disposition:?}"));
                        }
                    }
                }
                Step::Wait(nanos) => {
                    self.now = self.now + Duration::from_nanos(nanos);
                    self.core.handle_timeout(self.now);
                }
                Step::Send => self.said.extend(said_to_others(&mut self.core)),
            }
            self.said.extend(said_to_caller(&mut self.core));
        }
    }

    fn configs() -> impl Strategy<Value = Config> {
        let repair = prop_oneof![Just(Repair::Pull), Just(Repair::Push)];
        let repairers = prop_oneof![Just(Repairers::Root), Just(Repairers::CoRoots(2))];
        let acknowledge = prop_oneof![Just(Acknowledge::Needed), Just(Acknowledge::Each)];
        let credits = prop_oneof![Just(None), Just(Some(40))];
        let window = prop_oneof![Just(16), Just(64)];
        (repair, repairers, acknowledge, credits, window).prop_map(
            |(repair, repairers, acknowledge, credits, window)| Config {
                repair,
                repairers,
                acknowledge,
                credits,
                ..Config::new(10, window)
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_taken_in_short_changes_what_it_would_change(steps in steps(), config in configs()) {
            let (mut short, mut long) = (Leaf::new(config, true), Leaf::new(config, false));
            for step in steps {
                short.take(step);
                long.take(step);
                prop_assert_eq!(short.said.last(), long.said.last());
                (short.core.coming, long.core.coming) = (None, None);
                prop_assert_eq!(format!("{:?}", short.core), format!("{:?}", long.core));
            }
            prop_assert_eq!(short.said, long.said);
        }
    }

    #[test]
    fn fragments_in_order_are_taken_in_short_but_for_the_first_and_the_last() {
        let mut leaf = Leaf::new(Config::new(10, 64), true);
        let come = Step::Come {
            skip: 0,
            count: 1,
            asks: false,
            is_untold: true,
            via: Via::Multicast,
            last: ROOT.0,
        };
        let short = (0..FRAGMENTS).filter(|_| {
            let packet = leaf.packet(come, 1);
            let is_short = leaf.core.clone().take_next(leaf.now, &packet).is_some();
            leaf.take(come);
            is_short
        });
        assert_eq!(short.count() as u32, FRAGMENTS - 2);
    }
}
