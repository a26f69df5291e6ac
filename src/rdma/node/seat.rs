//! A rank's part in its node.

use super::bell::Bell;
use super::counters::NodeCounters;
use super::reports::Reports;
use super::ring::Ring;
use crate::rdma::group::GroupId;
use std::sync::atomic::Ordering;
use std::time::Duration;
use verbcast_core::node::{Around, Cursor, MateIndex, Nodes, Role, Watch, longest_sleep};
use verbcast_core::protocol::{Counter, Run};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::wire::{HEADER_LEN, Header, Key, RawHeader};

/// Datagrams that are taken from a ring in one look, as completions are.
const TAKEN_AT_ONCE: u32 = 16;

/// A rank among those that share a node.
#[derive(Clone, Debug)]
pub struct Membership {
    own: MateIndex,
    mates: Vec<Rank>,
    is_all: bool,
}

impl Membership {
    /// The lowest of them, which makes the memory.
    pub fn lead(&self) -> Rank {
        self.mates[0]
    }

    /// Ranks that share it.
    pub fn ranks(&self) -> usize {
        self.mates.len()
    }

    /// Whether this rank is that.
    pub fn is_lead(&self) -> bool {
        self.own == MateIndex(0)
    }
}

/// A rank's part in its node, for one communicator.
#[derive(Debug)]
pub struct NodeSeat {
    ring: Ring,
    cursor: Cursor,
    watch: Watch<[u8; HEADER_LEN]>,
    own: MateIndex,
    /// Those that share it, in order.
    mates: Vec<Rank>,
    is_all: bool,
    /// The group that the receiver is attached to, and whether this rank's QP is.
    pub group: Option<GroupId>,
    pub is_attached: bool,
    /// A mate that publishes can wake this one, and is to: it sleeps.
    can_be_woken: bool,
    is_asleep: bool,
    /// Something was published since mates were woken.
    has_published: bool,
    /// What mates report to one another, if the memory has room for it.
    reports: Option<Reports>,
    counters: NodeCounters,
    /// Datagrams that it takes before it beats again.
    may_take: u32,
}

impl NodeSeat {
    /// The part of a rank that shares a node with others, in their memory. Of what comes off the wire it has so many datagrams
    /// queued at most.
    pub fn new(ring: Ring, nodes: &Nodes, rank: Rank, queue: u32) -> Self {
        let mates = nodes.members(nodes.lead(rank)).to_vec();
        let own = MateIndex(mates.partition_point(|mate| *mate < rank) as u16);
        NodeSeat::at(ring, Membership { own, mates, is_all: nodes.are_one() }, queue)
    }

    /// The part of this member.
    pub fn at(ring: Ring, Membership { own, mates, is_all }: Membership, queue: u32) -> Self {
        NodeSeat {
            cursor: ring.cursor(),
            reports: ring.cells(mates.len()).map(|cells| Reports::new(cells, own, mates.len())),
            ring,
            watch: Watch::new(own, queue),
            own,
            mates,
            is_all,
            group: None,
            is_attached: false,
            can_be_woken: false,
            is_asleep: false,
            has_published: false,
            counters: NodeCounters::default(),
            may_take: 0,
        }
    }

    /// Who shares the node with this rank, which is the same in each communicator of the same ranks.
    pub fn membership(&self) -> Membership {
        Membership { own: self.own, mates: self.mates.clone(), is_all: self.is_all }
    }

    /// Bytes of a datagram that it takes at most.
    pub fn slot_len(&self) -> u32 {
        self.ring.slot_len()
    }

    /// Whether all ranks of the communicator share the node, so that nothing goes over the wire.
    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether a rank shares the node: it publishes what it multicasts.
    pub fn has(&self, rank: Rank) -> bool {
        self.mates.binary_search(&rank).is_ok()
    }

    /// Ranks that share it, this one included.
    pub fn ranks(&self) -> u32 {
        self.mates.len() as u32
    }

    /// What went through the memory.
    pub fn counters(&self) -> NodeCounters {
        NodeCounters { lost: self.cursor.lost(), ..self.counters }
    }

    /// Publishes a datagram for the mates.
    pub fn publish(&mut self, header: &[u8; HEADER_LEN], payload: &[u8]) {
        let is_published = self.ring.publish(self.own, [header, payload]);
        self.counters.published += u64::from(is_published);
        self.has_published |= is_published;
    }

    /// This process is woken by its bell from now on. Without one it wakes nobody either, so that no mate must rely on that.
    pub fn hang(&mut self, bell: Option<&Bell>) {
        match bell {
            Some(bell) => self.can_be_woken = self.ring.hang(self.own, bell.number()),
            None => self.ring.give_up_waking(),
        }
    }

    /// Wakes mates that sleep: all, if something was published since that was done last, or those to whom something was reported.
    pub fn wake_mates(&mut self, bell: &Bell) {
        let NodeSeat { ring, mates, counters, reports, .. } = self;
        let mut wake = |number| {
            counters.woken += 1;
            wake(ring, bell, number);
        };
        if std::mem::take(&mut self.has_published) {
            ring.sleepers(mates.len()).for_each(&mut wake);
        }
        let addressed = reports.iter_mut().flat_map(Reports::take_addressed);
        addressed.filter_map(|mate| ring.sleeper_of(mate)).for_each(wake);
    }

    /// Writes a number for `to` to read; false if that rank is no mate, or the memory has no room for numbers, so that the adapter
    /// has to write it.
    pub fn report(&mut self, to: Rank, counter: Counter, value: u64) -> bool {
        let (Some(reports), Ok(at)) = (&mut self.reports, self.mates.binary_search(&to)) else {
            return false;
        };
        reports.write(MateIndex(at as u16), counter, value);
        true
    }

    /// Whether mates have reported something that was not taken.
    pub fn has_reports(&self) -> bool {
        self.reports.as_ref().is_some_and(Reports::has_news)
    }

    /// Tells each number of a mate that is another than before.
    pub fn take_reports(&mut self, mut tell: impl FnMut(Rank, Counter, u64)) {
        let NodeSeat { reports: Some(reports), mates, .. } = self else { return };
        reports.take(|from, counter, value| tell(mates[usize::from(from.0)], counter, value));
    }

    /// This process is about to sleep: whoever publishes wakes it. What was published before, it has to look for once more.
    pub fn fall_asleep(&mut self) {
        if self.can_be_woken {
            self.ring.fall_asleep(self.own);
            self.is_asleep = true;
        }
    }

    /// This process is awake.
    pub fn get_up(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            self.ring.get_up(self.own);
        }
    }

    /// How long it sleeps at most; none: as long as it likes.
    pub fn longest_sleep(&self) -> Option<Duration> {
        let is_woken = self.can_be_woken && self.ring.can_wake();
        if self.is_all && is_woken {
            return None;
        }
        let holder = Role::of(self.ring.word().load(Ordering::Relaxed)).holder;
        let is_there = |mate| mate == self.own || self.ring.sleeps(mate);
        Some(longest_sleep(is_woken, self.is_all || holder.is_some_and(is_there)))
    }

    /// The next datagram of a mate, in a buffer that `make` has for so many bytes. After some it has to [beat](Self::beat) before
    /// there are more.
    pub fn take(
        &mut self,
        now: Instant,
        mut make: impl FnMut(usize) -> Vec<u8>,
    ) -> Option<Vec<u8>> {
        let lost = self.cursor.lost();
        let mut taken = None;
        while taken.is_none()
            && self.may_take > 0
            && let Some(published) = self.ring.next(now, self.own, &mut self.cursor)
        {
            self.may_take -= 1;
            let mut bytes = make(published.len);
            self.ring.read(&published, 0, &mut bytes);
            taken = self.ring.pass(&published, &mut self.cursor).then_some(bytes);
        }
        self.note_lost(lost);
        let bytes = taken?;
        self.counters.taken += 1;
        self.note_published(&bytes);
        Some(bytes)
    }

    /// Copies the fragments of a run that mates have published to their places, as long as they publish nothing else between.
    /// How many they were.
    pub fn take_run(&mut self, now: Instant, key: Key, run: &Run, into: &mut [u8]) -> u32 {
        // What came off the wire is to be noted, one by one.
        if self.watch.is_listening() && !self.has(run.source) {
            return 0;
        }
        let mut count = 0;
        while count < run.count {
            let place = &mut into[count as usize * run.fragment_len..][..run.fragment_len];
            if !self.take_into(now, key, |header, len| run.has(count, header, len), place) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Copies the only fragment of a message to it, if that is what mates have published next; whether it was.
    pub fn take_only(&mut self, now: Instant, key: Key, run: &Run, into: &mut [u8]) -> bool {
        // As above; and between a few it has to beat.
        if self.may_take == 0 || (self.watch.is_listening() && !self.has(run.source)) {
            return false;
        }
        let taken = self.take_into(now, key, |header, len| run.is_all(header, len), into);
        self.may_take -= u32::from(taken);
        taken
    }

    /// Copies the payload of the datagram that mates have published next, if it is the one that is wanted, by its header and the
    /// payload's length; whether it was.
    fn take_into(
        &mut self,
        now: Instant,
        key: Key,
        is_it: impl FnOnce(&Header, usize) -> bool,
        place: &mut [u8],
    ) -> bool {
        let lost = self.cursor.lost();
        let Some(published) = self.ring.next(now, self.own, &mut self.cursor) else {
            self.note_lost(lost);
            return false;
        };
        let mut head = [0; HEADER_LEN];
        self.ring.read(&published, 0, &mut head);
        // What it says is all that would be done with it, so that its CRC would tell nothing more.
        let is_it = RawHeader::parse(&head).is_some_and(|header| {
            let fields = header.unchecked();
            fields.key == key && is_it(fields, header.payload_len())
        });
        let is_taken = is_it && published.len == HEADER_LEN + place.len() && {
            self.ring.read(&published, HEADER_LEN, place);
            self.ring.pass(&published, &mut self.cursor)
        };
        self.note_lost(lost);
        self.counters.taken += u64::from(is_taken);
        is_taken
    }

    /// So many were overrun before.
    fn note_lost(&mut self, before: u64) {
        if self.cursor.lost() > before {
            self.watch.overrun();
        }
    }

    /// A mate has published a datagram, perhaps one that came off the wire.
    fn note_published(&mut self, bytes: &[u8]) {
        if self.watch.is_listening()
            && let Some((head, _)) = bytes.split_first_chunk::<HEADER_LEN>()
            && RawHeader::parse(bytes).is_some_and(|header| !self.has(header.unchecked().source))
        {
            self.watch.published(|| *head);
        }
    }

    /// Whether a mate has published something that was not taken.
    pub fn has_news(&self) -> bool {
        self.ring.has_news(&self.cursor)
    }

    /// Tells the mates that this process polls, or watches whether the receiver does: `by` says whether it polls for this
    /// communicator, `queue_is_empty` whether its last look at completions has left none.
    pub fn beat(&mut self, now: Instant, by: bool, queue_is_empty: bool) {
        self.may_take = TAKEN_AT_ONCE;
        let was = self.watch.is_receiver();
        if self.is_all || self.group.is_none() || !(by || self.watch.is_listening()) {
            return;
        }
        let word = self.ring.word().load(Ordering::Acquire);
        let receiver = Role::of(word).holder;
        let receiver_sleeps = receiver.is_some_and(|receiver| self.ring.sleeps(receiver));
        let around = Around { receiver_sleeps, queue_is_empty };
        if let Some(change) = self.watch.turn(now, word, around) {
            let (from, to) = (change.from, change.to);
            // Whoever sees that a receiver has polled sees that it was attached before.
            let done =
                self.ring.word().compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
            self.watch.changed(done.is_ok());
        }
        self.counters.roles += u64::from(self.watch.is_receiver() && !was);
    }

    /// This process waits for messages, or goes on to something else.
    pub fn wait(&mut self, waits: bool) {
        let word = self.ring.word();
        if let Some(change) = self.watch.wait(word.load(Ordering::Relaxed), waits) {
            // If it fails, a mate has taken the place.
            let (from, to) = (change.from, change.to);
            let _ = word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Whether the QP of this process is to be attached to the group.
    pub fn is_listening(&self) -> bool {
        self.watch.is_listening()
    }

    /// Whether this process takes what a rank multicasts off the wire, for its mates, too.
    pub fn receives_of(&self, source: Rank) -> bool {
        self.watch.is_receiver() && !self.has(source)
    }

    /// Publishes a datagram that came off the wire, if this process receives for its mates, or did when it came.
    pub fn hand_on(&mut self, header: &[u8; HEADER_LEN], payload: &[u8]) {
        if self.watch.hands_on(header) {
            self.publish(header, payload);
        }
    }

    /// Leaves the receiver's place to the mates.
    pub fn resign(&mut self) {
        let word = self.ring.word();
        if let Some(change) = self.watch.resign(word.load(Ordering::Relaxed)) {
            // If it fails, a mate has taken the place.
            let (from, to) = (change.from, change.to);
            let _ = word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The device has refused to attach the QP: the mates may try.
    pub fn refuse(&mut self, now: Instant) {
        self.resign();
        self.watch.refuse(now);
    }
}

/// Wakes a mate that sleeps.
fn wake(ring: &Ring, bell: &Bell, number: u64) {
    if let Err(error) = bell.ring(number) {
        // It is gone, or its network is another one; then it must not rely on being woken.
        tracing::debug!("cannot wake a process of this node: {error}");
        ring.give_up_waking();
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapping::{Mapping, tests::file};
    use super::super::ring::Shape;
    use super::*;
    use std::os::fd::OwnedFd;
    use verbcast_core::rank::{Fragment, OpId};

    const NOW: Instant = Instant::ZERO;
    const KEY: Key = Key(7);
    const LEN: usize = 16;
    const SHAPE: Shape = Shape { slots: 8, slot_len: 128 };
    const RUN: Run =
        Run { op: OpId(3), source: Rank(0), first: Fragment(1), count: 3, fragment_len: LEN };

    fn memory() -> OwnedFd {
        file(SHAPE.len())
    }

    /// A rank of a node of three, which polls.
    fn seat(memory: &OwnedFd, rank: u32) -> NodeSeat {
        let ring = Ring::new(Mapping::new(memory, SHAPE.len()).unwrap(), SHAPE);
        let mut seat = NodeSeat::new(ring, &Nodes::blocks(3, 3), Rank(rank), 8);
        seat.beat(NOW, true, true);
        seat
    }

    fn publish(seat: &mut NodeSeat, header: &Header, byte: u8) {
        let payload = [byte; LEN];
        seat.publish(&header.emit(&payload, false), &payload);
    }

    fn take_run(seat: &mut NodeSeat) -> (u32, [u8; 3 * LEN]) {
        let mut into = [0; 3 * LEN];
        (seat.take_run(NOW, KEY, &RUN, &mut into), into)
    }

    #[test]
    fn fragments_of_a_run_come_to_their_places() {
        let memory = memory();
        let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
        publish(&mut root, &RUN.header(0, KEY), 1);
        publish(&mut root, &RUN.header(1, KEY), 2);
        let (count, into) = take_run(&mut mate);
        assert_eq!((count, &into[..LEN], into[LEN], into[2 * LEN]), (2, &[1; LEN][..], 2, 0));
        assert_eq!((mate.counters().taken, mate.has_news()), (2, false));
        assert_eq!(take_run(&mut root).0, 0, "its own it has");
    }

    #[test]
    fn the_only_fragment_of_a_message_comes_to_it() {
        let only = Run { first: Fragment(0), count: 1, ..RUN };
        let plain = Header { message_len: LEN as u64, ..only.header(0, KEY) };
        let take_only = |seat: &mut NodeSeat| {
            let mut into = [0; LEN];
            (seat.take_only(NOW, KEY, &only, &mut into), into)
        };
        let memory = memory();
        let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
        publish(&mut root, &plain, 1);
        publish(&mut root, &Header { message_len: 2 * LEN as u64, ..plain }, 2);
        assert_eq!(take_only(&mut mate), (true, [1; LEN]));
        assert_eq!(take_only(&mut mate), (false, [0; LEN]), "the message is longer");
        assert!(mate.has_news() && mate.counters().taken == 1);
    }

    #[test]
    fn a_rank_that_takes_messages_beats_between_a_few() {
        let only = Run { first: Fragment(0), count: 1, ..RUN };
        let plain = Header { message_len: LEN as u64, ..only.header(0, KEY) };
        let memory = memory();
        let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
        let mut take = |mate: &mut NodeSeat| {
            publish(&mut root, &plain, 1);
            mate.take_only(NOW, KEY, &only, &mut [0; LEN])
        };
        assert!((0..TAKEN_AT_ONCE).all(|_| take(&mut mate)));
        assert!(!take(&mut mate));
        mate.beat(NOW, true, true);
        assert!(take(&mut mate));
    }

    #[test]
    fn what_mates_report_is_told_once() {
        let memory = memory();
        let (mut one, mut other) = (seat(&memory, 0), seat(&memory, 2));
        let taken = |seat: &mut NodeSeat| {
            let mut taken = Vec::new();
            seat.take_reports(|from, counter, value| taken.push((from, counter, value)));
            taken
        };
        assert!(!one.report(Rank(3), Counter::Acknowledged, 5), "it is no mate");
        assert!(one.report(Rank(2), Counter::Acknowledged, 5) && other.has_reports());
        assert_eq!(taken(&mut other), [(Rank(0), Counter::Acknowledged, 5)]);
        assert!(!other.has_reports());
        one.report(Rank(2), Counter::Acknowledged, 5);
        one.report(Rank(2), Counter::Begun, 1);
        assert_eq!(taken(&mut other), [(Rank(0), Counter::Begun, 1)]);
        assert_eq!(taken(&mut one), []);
    }

    #[test]
    fn a_report_wakes_nobody_but_whom_it_is_for() {
        let memory = memory();
        let [mut one, mut other, mut third] = [0, 1, 2].map(|rank| seat(&memory, rank));
        let bells = [0, 1, 2].map(|_| Bell::new().unwrap());
        other.hang(Some(&bells[1]));
        third.hang(Some(&bells[2]));
        other.fall_asleep();
        third.fall_asleep();
        (0..2).for_each(|value| assert!(one.report(Rank(2), Counter::Acknowledged, value)));
        one.wake_mates(&bells[0]);
        assert_eq!(one.counters().woken, 1);
        one.report(Rank(2), Counter::Acknowledged, 2);
        one.wake_mates(&bells[0]);
        assert_eq!(one.counters().woken, 1, "it is awake");
        one.report(Rank(1), Counter::Acknowledged, 2);
        one.wake_mates(&bells[0]);
        assert_eq!(one.counters().woken, 2);
    }

    #[test]
    fn mates_of_a_process_that_wakes_nobody_look_by_themselves() {
        let memory = memory();
        let [mut one, mut other] = [0, 1].map(|rank| seat(&memory, rank));
        other.hang(Some(&Bell::new().unwrap()));
        assert_eq!(other.longest_sleep(), None);
        one.hang(None);
        assert_eq!(other.longest_sleep(), Some(longest_sleep(false, true)));
    }

    #[test]
    fn what_is_not_of_the_run_is_left_where_it_is() {
        let plain = RUN.header(0, KEY);
        let others = [
            RUN.header(1, KEY),
            RUN.header(0, Key(8)),
            Header { source: Rank(2), ..plain },
            Header { op: OpId(4), ..plain },
            Header { asks: true, ..plain },
        ];
        for other in others {
            let memory = memory();
            let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
            publish(&mut root, &other, 9);
            assert_eq!(take_run(&mut mate), (0, [0; 3 * LEN]), "{other:?}");
            assert!(mate.has_news());
            assert!(mate.take(NOW, |len| vec![0; len]).is_some_and(|bytes| bytes.ends_with(&[9])));
        }
    }

    /// The payload of a datagram has another length than its header and its slot say.
    #[test]
    fn a_length_that_cannot_be_is_left_too() {
        let memory = memory();
        let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
        let header = RUN.header(0, KEY).emit(&[1; LEN], false);
        root.publish(&header, &[1; LEN - 1]);
        assert_eq!(take_run(&mut mate), (0, [0; 3 * LEN]));
    }

    #[test]
    fn who_is_overrun_takes_what_is_left_as_no_run() {
        let memory = memory();
        let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
        for behind in 0..2 * SHAPE.slots {
            publish(&mut root, &RUN.header(behind, KEY), behind as u8);
        }
        assert_eq!(take_run(&mut mate), (0, [0; 3 * LEN]));
        assert!(mate.counters().lost > 0);
    }

    /// A mate leaves the place to it as long as it says that it waits.
    #[test]
    fn a_receiver_tells_whether_it_waits() {
        let memory = memory();
        let [mut receiver, mut mate] = [1, 2].map(|rank| {
            let ring = Ring::new(Mapping::new(&memory, SHAPE.len()).unwrap(), SHAPE);
            let mut seat = NodeSeat::new(ring, &Nodes::blocks(4, 3), Rank(rank - 1), 8);
            seat.group = Some(GroupId::ANY);
            seat
        });
        let at = |millis| NOW + Duration::from_millis(millis);
        receiver.beat(at(0), true, true);
        receiver.wait(true);
        (0..20).for_each(|milli| mate.beat(at(milli), true, true));
        assert!(!mate.watch.is_receiver());
        receiver.wait(false);
        (20..40).for_each(|milli| mate.beat(at(milli), true, true));
        assert!(mate.watch.is_receiver());
        // It has lost the place, and tells nobody anything.
        receiver.wait(true);
        receiver.beat(at(40), true, true);
        assert!(!receiver.watch.is_receiver() && mate.watch.is_receiver());
    }

    #[test]
    fn after_sixteen_datagrams_a_rank_looks_around() {
        let memory = memory();
        let (mut root, mut mate) = (seat(&memory, 0), seat(&memory, 1));
        let mut taken = 0;
        for _ in 0..5 {
            (0..6).for_each(|byte| publish(&mut root, &RUN.header(0, KEY), byte));
            taken += std::iter::from_fn(|| mate.take(NOW, |len| vec![0; len])).count();
        }
        assert_eq!(taken, TAKEN_AT_ONCE as usize);
        mate.beat(NOW, true, true);
        assert!(mate.take(NOW, |len| vec![0; len]).is_some());
    }
}
