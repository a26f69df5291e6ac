//! Ranks that have heard nothing of one another while many fragments went by.

use super::*;
use crate::protocol::Fragments;
use crate::rank::Fragment;

/// Fragments that went by: few, and around where an order of 31 or 32 bits would turn.
const PASSED: [u64; 7] = [0, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 1 << 32, 1 << 40];
const FIRST: OpId = OpId(5);
const LEN: u64 = 20;
const LATER: Instant = Instant::from_nanos(10_000_000_000);

/// Room for everything, by connections with all ranks, or with these.
struct Connected<'a>(&'a [u32]);

impl Room for Connected<'_> {
    fn multicast_room(&self) -> usize {
        Ample.multicast_room()
    }

    fn reliable_room(&self, to: Rank) -> usize {
        Ample.reliable_room(to)
    }

    fn report_room(&self, to: Rank) -> usize {
        Ample.report_room(to)
    }

    fn fetch_room(&self, from: Rank) -> usize {
        Ample.fetch_room(from)
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        self.0.contains(&from.0)
    }

    fn is_idle(&self, slot: u32) -> bool {
        Ample.is_idle(slot)
    }
}

/// What a core sends where there is room for everything, in words.
pub(super) fn said_to_others(core: &mut Window) -> Vec<String> {
    std::iter::from_fn(|| core.poll_transmit(&Ample)).map(|sent| format!("{sent:?}")).collect()
}

/// What a core tells its caller, and when its next timer fires, in words.
pub(super) fn said_to_caller(core: &mut Window) -> Vec<String> {
    let events: Vec<_> = std::iter::from_fn(|| core.poll_event()).collect();
    let timer = format!("{:?}", core.poll_timeout());
    events.iter().map(|event| format!("{event:?}")).chain([timer]).collect()
}

/// Room for everything.
pub(super) struct Ample;

impl Room for Ample {
    fn multicast_room(&self) -> usize {
        1
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        1
    }

    fn report_room(&self, _to: Rank) -> usize {
        1
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        1
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

/// Rank `me` of `size`, to which `passed` fragments of which it has told and heard nothing are known.
fn core(me: u32, size: u32, passed: u64, config: Config) -> Window {
    let mut core = Window::new(Rank(me), size, FIRST, config).unwrap();
    core.pass(passed);
    core
}

fn pushed() -> Config {
    let (repairers, repair) = (Repairers::CoRoots(2), Repair::Push);
    Config { repairers, repair, acknowledge: Acknowledge::Each, ..Config::new(10, 8) }
}

/// Where the fragments of the first broadcast end.
fn end(passed: u64) -> Seq {
    Seq(u64::from(FIRST.0) + passed + 2)
}

fn fragment(index: u32, asks: bool) -> Incoming {
    Incoming {
        via: Via::Multicast,
        source: Rank(0),
        kind: Kind::Fragment,
        op: FIRST,
        fragment: Fragment(index),
        message_len: LEN,
        payload_len: 10,
        report: 0,
        asks,
        memory: None,
    }
}

/// A leaf goes on to something else once it has a message, and the root may not.
#[test]
fn a_root_that_waits_for_acknowledgements_gets_each_at_once() {
    for acknowledge in [Acknowledge::Each, Acknowledge::Every(4), Acknowledge::Skewed(4)] {
        for (blocking, piggyback) in [(true, false), (true, true), (false, true)] {
            let config = Config { acknowledge, blocking, piggyback, ..Config::new(10, 8) };
            let mut core = core(2, 3, 0, config);
            core.start(Instant::ZERO, Rank(0), LEN).unwrap();
            for index in 0..2 {
                core.handle_packet(Instant::ZERO, &fragment(index, false));
            }
            let reports = sent(&mut core).into_iter();
            let reported = reports.filter(|one| matches!(one, Transmit::Report { .. })).count();
            assert_eq!(reported > 0, blocking, "{acknowledge:?}, piggyback {piggyback}");
        }
    }
}

fn sent(core: &mut Window) -> Vec<Transmit> {
    std::iter::from_fn(|| core.poll_transmit(&Ample)).collect()
}

/// The fragments that are sent again to a rank.
fn again(sent: &[Transmit], to: u32) -> Vec<u32> {
    let rank = Rank(to);
    let resent = sent.iter().filter_map(|transmit| match transmit {
        Transmit::Resend { to, token, .. } if *to == rank => Some(token.fragment.0),
        _ => None,
    });
    resent.collect()
}

#[test]
fn a_co_root_sends_a_leaf_of_which_it_has_never_heard_all_again() {
    for passed in PASSED {
        let mut co_root = core(2, 4, passed, pushed());
        co_root.start(Instant::ZERO, Rank(0), LEN).unwrap();
        for index in 0..2 {
            co_root.handle_packet(Instant::ZERO, &fragment(index, false));
        }
        sent(&mut co_root);
        co_root.handle_timeout(LATER);
        assert_eq!(again(&sent(&mut co_root), 3), [0, 1], "after {passed}");
    }
}

#[test]
fn a_new_root_hears_acknowledgements_of_who_never_told_it_anything() {
    for passed in PASSED {
        let mut root = core(0, 3, passed, Config { repair: Repair::Push, ..Config::new(10, 8) });
        root.start(Instant::ZERO, Rank(0), LEN).unwrap();
        sent(&mut root);
        let report = Report::initial(end(passed)).emit();
        for leaf in [1, 2] {
            root.handle_report(Instant::ZERO, Rank(leaf), Counter::Acknowledged, report);
        }
        let events: Vec<_> = std::iter::from_fn(|| root.poll_event()).collect();
        assert!(events.contains(&Event::Quiescent(FIRST)), "after {passed}: {events:?}");
        root.handle_timeout(LATER);
        assert_eq!(sent(&mut root), [], "after {passed}");
    }
}

/// Whatever a rank says that it has, what others lack is kept for them, and sent to them again.
#[test]
fn a_number_that_cannot_be_counts_for_nobody_else() {
    for ahead in [3, 1 << 20, 1 << 30] {
        let mut root = core(0, 3, 0, Config { repair: Repair::Push, ..Config::new(10, 8) });
        root.start(Instant::ZERO, Rank(0), LEN).unwrap();
        sent(&mut root);
        let report = Report::initial(end(0).plus(ahead)).emit();
        root.handle_report(Instant::ZERO, Rank(1), Counter::Acknowledged, report);
        let events: Vec<_> = std::iter::from_fn(|| root.poll_event()).collect();
        assert!(!events.contains(&Event::Quiescent(FIRST)), "{ahead} ahead: {events:?}");
        root.handle_timeout(LATER);
        let sent = sent(&mut root);
        assert_eq!((again(&sent, 1), again(&sent, 2)), (vec![], vec![0, 1]), "{ahead} ahead");
    }
}

#[test]
fn nobody_waits_for_a_rank_that_claims_what_was_not_sent() {
    let mut root = core(0, 3, 0, Config { repair: Repair::Push, ..Config::new(10, 8) });
    root.start(Instant::ZERO, Rank(0), LEN).unwrap();
    let far = Report::initial(end(0).plus(1 << 30)).emit();
    root.handle_report(Instant::ZERO, Rank(1), Counter::Acknowledged, far);
    sent(&mut root);
    for rank in [1, 2] {
        let report = Report::initial(end(0)).emit();
        root.handle_report(Instant::ZERO, Rank(rank), Counter::Acknowledged, report);
    }
    root.handle_timeout(LATER);
    assert_eq!(sent(&mut root), []);
    let events: Vec<_> = std::iter::from_fn(|| root.poll_event()).collect();
    assert!(events.contains(&Event::Quiescent(FIRST)), "{events:?}");
    assert_eq!(root.poll_timeout(), None);
}

/// What a leaf has told while nobody looked is read before its number means another position.
#[test]
fn reports_are_looked_for_before_they_are_too_old() {
    for (passed, looks) in [(0, false), (MAX_UNREAD as u64 - 1, false), (MAX_UNREAD as u64, true)] {
        let mut leaf = core(1, 3, 0, Config { credits: None, ..Config::new(10, 8) });
        leaf.pass(passed);
        assert!(!looks || !leaf.is_short(Instant::ZERO, Rank(0), 1), "after {passed}");
        leaf.start(Instant::ZERO, Rank(0), LEN).unwrap();
        assert_eq!(leaf.hears_reports(), looks, "after {passed}");
        sent(&mut leaf);
        assert!(!leaf.hears_reports(), "they were looked for");
    }
}

#[test]
fn a_leaf_answers_a_root_that_it_never_told_anything() {
    let config = Config { acknowledge: Acknowledge::Needed, ..Config::new(10, 8) };
    for passed in PASSED {
        let mut leaf = core(1, 3, passed, config);
        leaf.start(Instant::ZERO, Rank(0), LEN).unwrap();
        for (index, asks) in [(0, false), (1, true)] {
            leaf.handle_packet(Instant::ZERO, &fragment(index, asks));
        }
        let (to, counter) = (Rank(0), Counter::Acknowledged);
        let value = Report::initial(end(passed)).emit();
        assert_eq!(sent(&mut leaf), [Transmit::Report { to, counter, value }], "after {passed}");
    }
}

/// What lags behind one root says nothing of another, which may have been told less.
#[test]
fn a_root_that_was_told_little_is_told_when_its_broadcast_begins() {
    let config = Config { acknowledge: Acknowledge::Needed, ..Config::new(10, 8) };
    let mut leaf = core(2, 3, 0, config);
    let mut told = Vec::new();
    for (op, fragments) in [(FIRST, 4), (FIRST.next(), 1)] {
        let message_len = 10 * u64::from(fragments);
        leaf.start(Instant::ZERO, Rank(0), message_len).unwrap();
        for index in 0..fragments {
            let packet = Incoming { op, message_len, ..fragment(index, false) };
            leaf.handle_packet(Instant::ZERO, &packet);
        }
        told.extend(sent(&mut leaf));
    }
    leaf.start(Instant::ZERO, Rank(1), LEN).unwrap();
    told.extend(sent(&mut leaf));
    let to = told.iter().filter_map(|transmit| match transmit {
        Transmit::Report { to, .. } => Some(to.0),
        _ => None,
    });
    assert_eq!(to.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn who_passes_credits_on_hears_reports_at_all_times() {
    for (repairers, rank, hears) in [
        (Repairers::Predecessor, 1, true),
        (Repairers::Predecessor, 2, false),
        (Repairers::Root, 1, false),
    ] {
        let config = Config { repairers, credits: Some(8), ..Config::new(10, 8) };
        let mut leaf = core(rank, 3, 0, config);
        assert!(!leaf.hears_reports(), "nothing has begun");
        leaf.start(Instant::ZERO, Rank(0), LEN).unwrap();
        assert_eq!(leaf.hears_reports(), hears, "{repairers:?}, rank {rank}");
    }
}

/// Each rank of a chain reports a little, and with it what the next has told it before: what they hold back must not add up.
#[test]
fn credits_go_on_at_once_when_they_pass_a_share() {
    let (repairers, acknowledge) = (Repairers::Predecessor, Acknowledge::Needed);
    let config = Config { repairers, acknowledge, credits: Some(32), ..Config::new(10, 32) };
    let (each, message_len) = (5, 300);
    assert_eq!(config.share(), 8);
    let mut between = core(1, 3, 0, config);
    between.start(Instant::ZERO, Rank(0), message_len).unwrap();
    let begin = Seq(FIRST.0.into());
    let mut told = Vec::new();
    let mut tell = |between: &mut Window| {
        for transmit in sent(between) {
            let Transmit::Report { value, .. } = transmit else { continue };
            told.push(Report::parse(value, begin).unwrap().credit.after(begin));
            between.handle_write_acked(Instant::ZERO, Rank(0), Counter::Acknowledged);
        }
    };
    for index in 0..4 * each {
        let asks = index % each == each - 1;
        between.handle_packet(Instant::ZERO, &Incoming { message_len, ..fragment(index, asks) });
        tell(&mut between);
        if asks {
            let report = Report::initial(begin.plus(index + 1)).emit();
            between.handle_report(Instant::ZERO, Rank(2), Counter::Acknowledged, report);
            tell(&mut between);
        }
    }
    // Counted from the first fragment of all, shares of 8 end behind the third, the eleventh and the nineteenth here.
    assert_eq!(told, [0, 5, 5, 10, 15, 15, 20]);
}

/// A root waits for no credit in the end, so it may leave before a co-root tells its own, which is to hear of that.
#[test]
fn a_root_and_those_that_tell_it_their_credit_are_connected() {
    let partners = |me, credits| {
        let repairers = Repairers::CoRoots(4);
        let mut core = core(me, 8, 0, Config { repairers, credits, ..Config::new(10, 8) });
        core.start(Instant::ZERO, Rank(0), LEN).unwrap();
        core.take_partners().into_iter().map(|rank| rank.0).collect::<Vec<_>>()
    };
    assert_eq!((partners(0, Some(8)), partners(0, None)), (vec![1, 2, 4, 6], vec![1]));
    for co_root in [2, 4, 6] {
        let leaf = co_root + 1;
        assert_eq!(partners(co_root, Some(8)), [0, leaf]);
        assert_eq!(partners(co_root, None), [leaf]);
        assert_eq!(partners(leaf, Some(8)), [co_root]);
    }
}

#[test]
fn a_root_with_credits_waits_for_who_never_told_it_anything() {
    let config = Config { credits: Some(1), repair: Repair::Push, ..Config::new(10, 8) };
    for passed in PASSED {
        let mut root = core(0, 3, passed + 8, config);
        root.start(Instant::ZERO, Rank(0), LEN).unwrap();
        let to_group = |sent: Vec<Transmit>| {
            let is_multicast = |transmit: &&Transmit| {
                matches!(transmit, Transmit::Retain { is_multicast: true, .. })
            };
            sent.iter().filter(is_multicast).count()
        };
        assert_eq!(to_group(sent(&mut root)), 0, "after {passed}");
        assert!(root.hears_reports(), "it waits for credits");
        let begin = Seq(end(passed + 8).0 - 2);
        for leaf in [1, 2] {
            let report = Report::initial(begin).emit();
            root.handle_report(LATER, Rank(leaf), Counter::Acknowledged, report);
        }
        assert_eq!(to_group(sent(&mut root)), 1, "after {passed}");
    }
}

#[test]
fn nobody_waits_for_the_acknowledgement_of_a_rank_that_has_left() {
    for repairers in [Repairers::Predecessor, Repairers::Tree(1)] {
        let config = Config { repairers, ..Config::new(10, 8) };
        // It is late: the rank that it repairs has had everything, and has left.
        let mut late = core(1, 3, 0, config);
        late.start(Instant::ZERO, Rank(0), LEN).unwrap();
        late.handle_departed(Instant::ZERO, Rank(2), FIRST.next());
        for index in 0..Fragments::new(LEN, 10).unwrap().count() {
            late.handle_packet(Instant::ZERO, &fragment(index, false));
        }
        sent(&mut late);
        let events: Vec<_> = std::iter::from_fn(|| late.poll_event()).collect();
        assert!(events.contains(&Event::Quiescent(FIRST)), "{repairers:?}: {events:?}");
    }
}

#[test]
fn the_last_report_of_a_rank_that_has_left_counts_for_nobody_else() {
    let mut root = core(0, 3, 0, Config::new(10, 8));
    root.start(Instant::ZERO, Rank(0), LEN).unwrap();
    sent(&mut root);
    root.handle_departed(Instant::ZERO, Rank(1), FIRST.next());
    let everything = Report::initial(end(0)).emit();
    for (rank, is_over) in [(1, false), (2, true)] {
        root.handle_report(LATER, Rank(rank), Counter::Acknowledged, everything);
        let events: Vec<_> = std::iter::from_fn(|| root.poll_event()).collect();
        assert_eq!(events.contains(&Event::Quiescent(FIRST)), is_over, "rank {rank}: {events:?}");
    }
}

/// Those below a rank that repairs others may read from here what that does not have, if it is late, and it cannot be told
/// from a rank that left with everything. What it is sent can be replaced here.
#[test]
fn who_repairs_others_is_sent_something_again_only_after_long() {
    let config = Config { repairers: Repairers::Tree(1), ..Config::new(10, 8) };
    let usual = config.patience.initial * config.forbearance();
    for (size, allowance) in [(2, usual), (3, config.patience.most)] {
        let mut root = core(0, size, 0, config);
        root.start(Instant::ZERO, Rank(0), LEN).unwrap();
        sent(&mut root);
        let mut again_at = |now| {
            root.handle_timeout(now);
            again(&sent(&mut root), 1)
        };
        let overdue = Instant::ZERO + allowance;
        let before = Instant::from_nanos(overdue.as_nanos() - 1);
        assert_eq!((again_at(before), again_at(overdue)), (vec![], vec![0, 1]), "{size} ranks");
    }
}

/// Those above a late repairer may have left before they could be read, and told only whom they were connected with: then the
/// repairer has everything, which another look shows.
#[test]
fn who_could_not_be_read_when_a_look_began_is_not_read_in_it() {
    let config = Config { repairers: Repairers::Predecessor, ..Config::new(10, 8) };
    let mut core = core(3, 4, 0, config);
    core.start(Instant::ZERO, Rank(0), LEN).unwrap();
    core.handle_packet(Instant::ZERO, &fragment(1, false));
    let mut now = Instant::ZERO;
    // Whom it reads in a look, one after the other, each in vain, with these connections at first and then with those.
    let mut look = |first: &[u32], then: &[u32]| {
        now = core.poll_timeout().expect("it looks again").1;
        core.handle_timeout(now);
        let (mut read, mut connections) = (Vec::new(), first);
        while let Some(Transmit::Fetch { from, token, .. }) =
            core.poll_transmit(&Connected(connections))
        {
            read.push(from.0);
            connections = then;
            core.handle_missed(now, from, token);
        }
        read
    };
    assert_eq!((look(&[0, 1], &[0, 1]), look(&[0, 1], &[0, 1])), (vec![2], vec![2]));
    assert_eq!(look(&[], &[0, 1]), [2]);
    assert_eq!(look(&[0], &[0, 1]), [2, 0]);
    assert_eq!(look(&[0, 1], &[0, 1]), [2, 1, 2, 0]);
    assert_eq!(look(&[], &[]), [2]);
}
