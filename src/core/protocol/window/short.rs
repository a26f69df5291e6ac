//! A message of one fragment that has come when its broadcast begins, at a rank that owes nothing for it at once; or that
//! its root can multicast at once.
//!
//! Such a broadcast would end as soon as it began, so it is not begun at all: no operation waits, nothing is missing
//! meanwhile, and no event tells that it is complete. What it changes is what [`Window::start_with`] and
//! [`Window::handle_fragment`], or at the root [`Window::keep`], would change together.

use super::neighbours::Neighbours;
use super::{Groups, Repair, Repairers, Window};
use crate::protocol::{Core, Fragments, Packets, Room};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use std::sync::Arc;

impl Window {
    /// As [`is_short`](Core::is_short), with other repairers for this broadcast.
    pub fn is_short_with(&self, now: Instant, root: Rank, len: u64, repairers: Repairers) -> bool {
        let reads = self.config.repair == Repair::Pull;
        reads && self.is_rested_for(len) && self.is_owed_later(now, root, repairers)
    }

    /// Whether a broadcast of so many bytes has one fragment, and finds nothing under way or owed.
    fn is_rested_for(&self, len: u64) -> bool {
        let is_rested = self.operations.is_empty()
            && self.events.is_empty()
            && self.departed.is_empty()
            && self.to_come.is_empty()
            && self.pull.is_idle();
        is_rested
            && !self.gathers
            && !self.has_long_unread()
            && len <= self.fragment_len(len) as u64
    }

    /// Whether everything is here, and no report is owed if another fragment is.
    fn is_level(&self) -> bool {
        let is_all = self.have == self.next_seq && !self.is_gap();
        is_all && self.lags_from.after(self.have) > 1 && !self.debts.is_asked()
    }

    /// Whether this rank receives from `root` what it keeps for nobody, and the report of one more fragment can wait.
    fn is_owed_later(&self, now: Instant, root: Rank, repairers: Repairers) -> bool {
        let groups = Groups::new(repairers, self.size);
        let Some(neighbours) = self.neighbourhoods.known(root, groups) else { return false };
        let Some(repairer) = neighbours.repairer else { return false };
        let keeps = neighbours.is_head || neighbours.has_any_below();
        let reports_as_before = self.last_reported_to == Some(repairer);
        let can_wait = !self.config.acknowledges(self.next_op(), self.me)
            && self.debts.unsaid(repairer) < self.config.most_unsaid()
            && !self.debts.is_overdue(now, repairer);
        !keeps && reports_as_before && self.is_level() && can_wait
    }

    /// As [`handle_short`](Core::handle_short), with other repairers for this broadcast.
    pub fn handle_short_with(
        &mut self,
        (now, called): (Instant, Instant),
        root: Rank,
        repairers: Repairers,
    ) -> OpId {
        self.called(now);
        let op = self.first;
        self.pull.begin(called);
        self.pull.came((op, Fragment(0)));
        self.pull.arrived(now);
        self.keep_quiet();
        self.next_seq = self.next_seq.plus(1);
        (self.have, self.seen) = (self.next_seq, self.next_seq);
        let (neighbours, _) = self.neighbourhoods.under(root, Groups::new(repairers, self.size));
        self.owe_later(&neighbours);
        self.pull.rest();
        self.first = self.first.next();
        op
    }

    /// As [`send_short`](Core::send_short), with other repairers for this broadcast.
    pub fn send_short_with(
        &mut self,
        (now, looked): (Instant, Instant),
        len: u64,
        repairers: Repairers,
        room: &dyn Room,
    ) -> Option<(OpId, Packets)> {
        // Who sends without a look hears no later of others than these may take to acknowledge.
        let is_recent = now - looked < self.config.acknowledge_after;
        if !is_recent || !self.is_rested_for(len) || !self.is_level() || self.config.blocking {
            return None;
        }
        let groups = Groups::new(repairers, self.size);
        self.neighbourhoods.known(self.me, groups)?;
        let (neighbours, _) = self.neighbourhoods.under(self.me, groups);
        // To a co-root it is sent besides, and a rank without leaves keeps nothing.
        if !neighbours.heads_below.is_empty() || neighbours.leaves.is_empty() {
            return None;
        }
        let cut = Fragments::new(len, self.fragment_len(len))?;
        if !self.may_multicast(self.next_seq, &neighbours) || room.multicast_room() == 0 {
            return None;
        }
        self.called(now);
        let (op, first) = (self.first, (self.next_seq, 1));
        let packets = self.keep_run((op, Fragment(0), cut), first, &neighbours, room)?;
        self.next_seq = self.next_seq.plus(1);
        self.have = self.next_seq;
        if !self.reads() {
            self.pull.rest();
        }
        self.first = op.next();
        Some((op, packets))
    }

    /// Owes the report of a message of one fragment, by the timer.
    fn owe_later(&mut self, neighbours: &Arc<Neighbours>) {
        let Some(repairer) = neighbours.repairer else { return };
        let new = self.have.after(self.debts.told(repairer).have).unsigned_abs();
        self.debts.leave_unsaid(repairer, new.min(1) as u32);
        let by = self.now + self.config.acknowledge_after;
        self.debts.owe(repairer, neighbours, self.now, by);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Ample, said_to_caller, said_to_others};
    use super::super::{Acknowledge, Config, Report};
    use super::*;
    use crate::protocol::{Counter, Disposition, Event, Incoming, Transmit, Via};
    use crate::wire::Kind;
    use proptest::prelude::*;
    use std::time::Duration;

    const ME: Rank = Rank(1);
    const LEN: u64 = 8;

    /// What happens to a rank.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// It calls the next broadcast of a root. Its message is there so many nanoseconds later, or else comes much later.
        Call { root: u32, is_there: Option<u64>, asks: bool, via: Via },
        /// What was late comes.
        Come,
        /// All others tell that they have everything.
        Hear,
        /// Time passes, and what is due is done.
        Wait(u64),
        /// What it has to send is taken.
        Send,
        /// The caller waits until nothing is owed.
        Flush,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let via = prop_oneof![8 => Just(Via::Multicast), 1 => Just(Via::Fetched)];
        let root = prop_oneof![6 => Just(0_u32), 4 => Just(1_u32), 2 => Just(2_u32)];
        let is_there = prop_oneof![4 => Just(Some(0)), 4 => (0..2_000_000_u64).prop_map(Some), 2 => Just(None)];
        let call = (root, is_there, proptest::bool::weighted(0.1), via)
            .prop_map(|(root, is_there, asks, via)| Step::Call { root, is_there, asks, via });
        let wait = (0..20_000_000_u64).prop_map(Step::Wait);
        let other = prop_oneof![
            4 => wait,
            4 => Just(Step::Send),
            2 => Just(Step::Hear),
            1 => Just(Step::Flush),
        ];
        prop::collection::vec(prop_oneof![8 => call, 3 => Just(Step::Come), 5 => other], 1..80)
    }

    struct Member {
        core: Window,
        takes_short: bool,
        now: Instant,
        /// Broadcasts whose messages are still to come.
        late: Vec<(OpId, Rank)>,
        taken_short: usize,
        said: Vec<String>,
    }

    impl Member {
        fn new(config: Config, takes_short: bool) -> Member {
            let core = Window::new(ME, 4, OpId(7), config).unwrap();
            let (now, late, said) = (Instant::ZERO, Vec::new(), Vec::new());
            Member { core, takes_short, now, late, taken_short: 0, said }
        }

        fn comes(&mut self, op: OpId, source: Rank, asks: bool, via: Via) {
            let (kind, fragment, message_len) = (Kind::Fragment, Fragment(0), LEN);
            let (payload_len, report, memory) = (LEN as usize, 0, None);
            let packet = Incoming {
                via,
                source,
                kind,
                op,
                fragment,
                message_len,
                payload_len,
                report,
                asks,
                memory,
            };
            let disposition = self.core.handle_packet(self.now, &packet);
            assert_ne!(disposition, Disposition::Hold);
        }

        fn call(&mut self, root: Rank, is_there: Option<u64>, asks: bool, via: Via) {
            let is_plain = is_there.is_some() && !asks && via == Via::Multicast;
            let called = self.now;
            self.now = called + Duration::from_nanos(is_there.unwrap_or_default());
            if self.takes_short && is_plain && self.core.is_short(self.now, root, LEN) {
                let op = self.core.handle_short(self.now, called, root, LEN);
                self.said.push(format!("{:?}", Event::Complete { op, lost: 0 }));
                self.said.push(format!("{:?}", Event::Quiescent(op)));
                self.taken_short += 1;
                return;
            }
            let op = self.core.start(called, root, LEN).unwrap();
            if is_there.is_some() {
                self.comes(op, root, asks, via);
            } else {
                self.late.push((op, root));
            }
        }

        fn sends_short(&mut self, len: u64) -> Option<(OpId, Packets)> {
            self.core.send_short(self.now, self.now, len, &Ample)
        }

        /// Calls a broadcast of its own, as a driver does that has sent all it had to send.
        fn call_own(&mut self) {
            self.said.extend(said_to_others(&mut self.core));
            self.said.extend(said_to_caller(&mut self.core));
            let sent = if self.takes_short { self.sends_short(LEN) } else { None };
            let Some((op, packets)) = sent else {
                self.core.start(self.now, ME, LEN).unwrap();
                return self.said.extend(said_to_others(&mut self.core));
            };
            self.said.push(format!("{:?}", Transmit::Retain { packets, is_multicast: true }));
            self.said.extend(said_to_others(&mut self.core));
            self.said.push(format!("{:?}", Event::Complete { op, lost: 0 }));
            self.taken_short += 1;
        }

        fn take(&mut self, step: Step) {
            match step {
                // More than may be in flight are not called.
                Step::Call { .. } if self.core.ring.used() + self.late.len() as u32 >= 8 => {}
                Step::Call { root, .. } if Rank(root) == ME => self.call_own(),
                Step::Call { root, is_there, asks, via } => {
                    self.call(Rank(root), is_there, asks, via);
                }
                Step::Come if self.late.is_empty() => {}
                Step::Come => {
                    let (op, root) = self.late.remove(0);
                    self.comes(op, root, false, Via::Multicast);
                }
                Step::Hear => {
                    let report = Report::initial(self.core.next_seq).emit();
                    for from in [0, 2, 3].map(Rank) {
                        self.core.handle_report(self.now, from, Counter::Acknowledged, report);
                    }
                }
                Step::Wait(nanos) => {
                    self.now = self.now + Duration::from_nanos(nanos);
                    self.core.handle_timeout(self.now);
                }
                Step::Send => self.said.extend(said_to_others(&mut self.core)),
                Step::Flush => self.core.handle_flush(self.now),
            }
            self.said.extend(said_to_caller(&mut self.core));
        }
    }

    fn configs() -> impl Strategy<Value = Config> {
        let repair = prop_oneof![4 => Just(Repair::Pull), 1 => Just(Repair::Push)];
        let repairers = prop_oneof![
            4 => Just(Repairers::Root),
            1 => Just(Repairers::CoRoots(2)),
            1 => Just(Repairers::Predecessor),
            1 => Just(Repairers::Tree(2)),
        ];
        let acknowledge = prop_oneof![
            3 => Just(Acknowledge::Needed),
            1 => Just(Acknowledge::Each),
            1 => Just(Acknowledge::Every(3)),
        ];
        let credits = prop_oneof![4 => Just(None), 2 => Just(Some(40))];
        let absorbed = prop_oneof![Just(9_u32), Just(100)];
        let window = prop_oneof![Just(16), Just(64)];
        (repair, repairers, acknowledge, credits, window, absorbed).prop_map(
            |(repair, repairers, acknowledge, credits, window, absorbed)| Config {
                repair,
                repairers,
                acknowledge,
                credits,
                absorbed,
                ..Config::new(10, window)
            },
        )
    }

    proptest! {
        #[test]
        fn a_short_message_changes_what_a_begun_broadcast_would_change(
            steps in steps(),
            config in configs(),
        ) {
            let (mut short, mut long) = (Member::new(config, true), Member::new(config, false));
            for step in steps {
                short.take(step);
                long.take(step);
                (short.core.coming, long.core.coming) = (None, None);
                prop_assert_eq!(&short.said, &long.said);
                prop_assert_eq!(format!("{:?}", short.core), format!("{:?}", long.core));
            }
        }
    }

    #[test]
    fn messages_that_are_there_are_short_until_a_report_is_owed() {
        let (repairers, acknowledge) = (Repairers::Root, Acknowledge::Needed);
        let config = Config { repairers, acknowledge, absorbed: 100, ..Config::new(10, 64) };
        let mut member = Member::new(config, true);
        let there = Step::Call { root: 0, is_there: Some(0), asks: false, via: Via::Multicast };
        (0..8).for_each(|_| member.take(there));
        assert_eq!(member.taken_short, 7, "the first makes the neighbourhood");
        let asks = Step::Call { root: 0, is_there: Some(0), asks: true, via: Via::Multicast };
        [asks, there].into_iter().for_each(|step| member.take(step));
        assert_eq!(member.taken_short, 7, "a report is owed");
        [Step::Send, there].into_iter().for_each(|step| member.take(step));
        assert_eq!(member.taken_short, 8);
    }

    #[test]
    fn messages_of_a_root_are_short_until_its_ring_is_full() {
        let (repairers, acknowledge) = (Repairers::Root, Acknowledge::Needed);
        let config = Config { repairers, acknowledge, absorbed: 100, ..Config::new(10, 64) };
        let mut member = Member::new(config, true);
        (0..8).for_each(|_| member.call_own());
        assert_eq!(member.taken_short, 7, "the first makes the neighbourhood");
        (8..64).for_each(|_| member.call_own());
        assert_eq!(member.sends_short(LEN), None, "the ring is full");
        member.take(Step::Hear);
        assert_eq!(member.sends_short(11), None, "it has two fragments");
        let before = member.taken_short;
        (0..2).for_each(|_| member.call_own());
        assert!(member.taken_short > before);
    }

    #[test]
    fn a_root_that_has_not_looked_for_as_long_as_others_may_take_to_tell_begins_its_broadcast() {
        let (repairers, acknowledge) = (Repairers::Root, Acknowledge::Needed);
        let config = Config { repairers, acknowledge, ..Config::new(10, 64) };
        let mut member = Member::new(config, true);
        member.call_own();
        member.take(Step::Send);
        let (looked, long) = (member.now, config.acknowledge_after);
        let later = looked + long;
        assert_eq!(member.core.send_short(later, looked, LEN, &Ample), None);
        assert!(member.core.send_short(later, later, LEN, &Ample).is_some());
    }

    #[test]
    fn no_message_is_short_for_a_root_that_waits_for_all_or_sends_to_co_roots() {
        let co_roots = Config { repairers: Repairers::CoRoots(2), ..Config::new(10, 64) };
        let blocking = Config { blocking: true, ..Config::new(10, 64) };
        for config in [co_roots, blocking] {
            let mut member = Member::new(config, true);
            for _ in 0..3 {
                member.call_own();
                member.take(Step::Hear);
            }
            assert_eq!(member.taken_short, 0, "{config:?}");
        }
    }
}
