use super::role::REFUSAL;
use super::*;
use crate::node::cursor::WRITER_PATIENCE;
use crate::rank::Rank;
use crate::time::Instant;
use crate::wire::NodeOffer;
use std::time::Duration;

const fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

fn offer(host: u8, most: u16) -> NodeOffer {
    NodeOffer { host: [host; 16], space: 1, most }
}

fn leads(offers: &[NodeOffer]) -> Vec<u32> {
    let nodes = Nodes::of(offers);
    (0..offers.len() as u32).map(|rank| nodes.lead(Rank(rank)).0).collect()
}

#[test]
fn ranks_of_a_host_share_a_node_wherever_they_are_numbered() {
    let two = |hosts: [u8; 5]| hosts.map(|host| offer(host, u16::MAX));
    assert_eq!(leads(&two([0, 1, 0, 1, 0])), [0, 1, 0, 1, 0]);
    assert_eq!(leads(&two([3, 3, 0, 0, 3])), [0, 0, 2, 2, 0]);
}

#[test]
fn a_node_has_no_more_ranks_than_each_of_them_allows() {
    let all = [offer(0, 9), offer(0, 2), offer(1, 3), offer(0, 9), offer(0, 9), offer(0, 9)];
    assert_eq!(leads(&all), [0, 0, 2, 3, 3, 5]);
}

#[test]
fn who_wants_none_or_sees_other_processes_is_alone() {
    let elsewhere = NodeOffer { space: 2, ..offer(0, 9) };
    assert_eq!(leads(&[offer(0, 9), offer(0, 0), elsewhere, offer(0, 9)]), [0, 1, 2, 0]);
}

#[test]
fn a_node_that_is_split_leaves_the_others() {
    let mut nodes = Nodes::blocks(6, 2);
    assert_eq!(nodes.shared(), [0, 2, 4].map(Rank));
    nodes.split(Rank(2));
    assert_eq!(nodes.shared(), [0, 4].map(Rank));
    assert!(nodes.are_mates(Rank(4), Rank(5)) && !nodes.are_mates(Rank(2), Rank(3)));
    assert!(Nodes::blocks(3, 4).are_one() && !nodes.are_one());
}

/// Of a process whose queue holds four datagrams.
fn watch(index: u16) -> Watch<u32> {
    Watch::new(MateIndex(index), 4)
}

/// Lets a process take a turn on a word; whether the word has changed.
fn turn(watch: &mut Watch<u32>, now: Instant, word: &mut u64) -> bool {
    let Some(change) = watch.turn(now, *word, Around::default()) else { return false };
    assert_eq!(change.from, *word);
    *word = change.to;
    watch.changed(true);
    true
}

#[test]
fn whoever_comes_first_receives() {
    let (mut one, mut other, mut word) = (watch(4), watch(0), 0);
    assert!(turn(&mut one, at(1), &mut word));
    assert!(!turn(&mut other, at(2), &mut word));
    assert!(one.is_receiver() && !other.is_receiver());
    assert_eq!(Role::of(word).holder, Some(MateIndex(4)));
}

#[test]
fn a_receiver_that_polls_stays_one() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    for micros in 0..5_000 {
        turn(&mut one, at(micros), &mut word);
        assert!(!turn(&mut other, at(micros), &mut word));
    }
}

#[test]
fn a_receiver_that_polls_no_more_is_replaced_and_notices() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    turn(&mut one, at(0), &mut word);
    let mut now = 1;
    while !turn(&mut other, at(now), &mut word) {
        now += 10;
        assert!(now < 2 * PATIENCE.as_micros() as u64, "it waits for ever");
    }
    assert!(now >= PATIENCE.as_micros() as u64, "it does not wait");
    assert!(other.is_receiver() && one.is_receiver(), "the former one does not know yet");
    assert!(!turn(&mut one, at(now + 1), &mut word));
    assert!(!one.is_receiver());
}

#[test]
fn a_receiver_that_sleeps_has_longer() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    turn(&mut one, at(0), &mut word);
    let millis = |duration: Duration| duration.as_millis() as u64;
    let asleep = Around { receiver_sleeps: true, ..Around::default() };
    for milli in 0..millis(SLEEPER_PATIENCE) {
        assert_eq!(other.turn(at(1000 * milli), word, asleep), None, "{milli} ms");
    }
    // It is woken, and gets a core at last.
    let woken = millis(SLEEPER_PATIENCE);
    assert!(!turn(&mut other, at(1000 * woken), &mut word), "its time begins anew");
    assert!(turn(&mut one, at(1000 * woken + 1), &mut word));
    // Another time it is not.
    let mut taken = (0..).map(|milli| other.turn(at(1000 * (woken + 1 + milli)), word, asleep));
    assert!(taken.by_ref().take(2 * woken as usize).any(|change| change.is_some()));
}

/// How long a mate lets a receiver stand with a word, in microseconds.
fn patience(word: u64) -> u64 {
    let mut mate = watch(1);
    let looks = (0..).step_by(100);
    let taken = looks.map(at).find(|now| mate.turn(*now, word, Around::default()).is_some());
    taken.unwrap().as_nanos() / 1000
}

#[test]
fn a_receiver_that_waits_for_a_core_only_has_longest() {
    let (mut one, mut word) = (watch(0), 0);
    turn(&mut one, at(0), &mut word);
    assert_eq!(patience(word), PATIENCE.as_micros() as u64);
    word = one.wait(word, true).unwrap().to;
    assert_eq!(patience(word), WAITER_PATIENCE.as_micros() as u64);
    turn(&mut one, at(1), &mut word);
    assert_eq!(patience(word), WAITER_PATIENCE.as_micros() as u64);
    word = one.wait(word, false).unwrap().to;
    assert_eq!(patience(word), PATIENCE.as_micros() as u64);
    assert_eq!(watch(2).wait(word, true), None, "another one receives");
}

#[test]
fn whoever_takes_the_place_while_it_waits_says_so() {
    let (mut one, mut word) = (watch(3), 0);
    assert_eq!(one.wait(word, true), None);
    turn(&mut one, at(0), &mut word);
    assert_eq!(Role::of(word).holder, Some(MateIndex(3)));
    assert_eq!(patience(word), WAITER_PATIENCE.as_micros() as u64);
}

#[test]
fn a_former_receiver_listens_until_the_new_one_does_and_nothing_is_left() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    turn(&mut one, at(0), &mut word);
    let late = (0..).find(|milli| turn(&mut other, at(1000 * milli), &mut word)).unwrap();
    let drained = Around { queue_is_empty: true, ..Around::default() };
    let mut look = |now, word, around| {
        assert_eq!(one.turn(at(now), word, around), None);
        (one.is_receiver(), one.is_listening())
    };
    let (former, mate) = ((false, true), (false, false));
    let now = 1000 * late;
    assert_eq!(look(now, word, drained), former, "the new one may not be attached yet");
    assert_eq!(look(now, word, drained), former);
    turn(&mut other, at(now), &mut word);
    assert_eq!(look(now, word, drained), former, "what came before it looked is left");
    assert_eq!(look(now, word, Around::default()), former);
    assert_eq!(look(now, word, drained), mate);
}

#[test]
fn a_former_receiver_hands_on_what_its_mates_lack() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    turn(&mut one, at(0), &mut word);
    assert!(one.hands_on(&1) && !other.hands_on(&1));
    let late = (0..).find(|milli| turn(&mut other, at(1000 * milli), &mut word)).unwrap();
    one.published(|| 2);
    assert!(one.hands_on(&2), "it was the receiver when that was published");
    assert!(!turn(&mut one, at(1000 * late), &mut word));
    one.published(|| 4);
    assert_eq!([3, 4, 5].map(|datagram| one.hands_on(&datagram)), [true, false, false]);
    // It need not see its queue empty, as nothing of that is for its mates.
    turn(&mut other, at(1000 * late), &mut word);
    (0..2).for_each(|_| assert!(!turn(&mut one, at(1000 * late), &mut word)));
    assert!(!one.is_listening());
}

#[test]
fn a_former_receiver_waits_for_the_third_when_the_second_is_replaced_too() {
    let [mut one, mut two, mut three] = [0, 1, 2].map(watch);
    let mut word = 0;
    turn(&mut one, at(0), &mut word);
    let drained = Around { queue_is_empty: true, ..Around::default() };
    let take = |mate: &mut Watch<u32>, word: &mut u64, from: u64| {
        (from..).find(|milli| turn(mate, at(1000 * milli), word)).unwrap()
    };
    let second = take(&mut two, &mut word, 0);
    assert_eq!(one.turn(at(1000 * second), word, drained), None);
    let third = take(&mut three, &mut word, second);
    assert_eq!(one.turn(at(1000 * third), word, drained), None);
    assert_eq!(one.turn(at(1000 * third), word, drained), None);
    assert!(one.is_listening() && two.is_listening(), "nobody has polled with the place");
    // The third gives it back, because its device has refused it: the first takes it again.
    word = three.resign(word).unwrap().to;
    assert!(turn(&mut one, at(1000 * third), &mut word) && one.is_receiver());
}

#[test]
fn a_mate_without_turns_of_its_own_replaces_nobody() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    turn(&mut one, at(0), &mut word);
    assert!(!turn(&mut other, at(1), &mut word));
    assert!(!turn(&mut other, at(1_000_000), &mut word), "both were stopped");
    assert!(turn(&mut one, at(1_000_001), &mut word));
}

#[test]
fn of_two_that_take_the_place_one_gets_it() {
    let mut word = 0;
    turn(&mut watch(0), at(0), &mut word);
    let mut mates = [watch(1), watch(2)];
    let late = PATIENCE.as_micros() as u64;
    for micros in 0..late {
        for mate in &mut mates {
            assert_eq!(mate.turn(at(micros), word, Around::default()), None);
        }
    }
    let changes =
        mates.each_mut().map(|mate| mate.turn(at(late), word, Around::default()).unwrap());
    mates[0].changed(true);
    mates[1].changed(false);
    assert_eq!(mates.each_mut().map(|mate| mate.is_receiver()), [true, false]);
    assert_eq!(
        mates[1].turn(at(late + 1), changes[0].to, Around::default()),
        None,
        "the new one has its own time"
    );
}

#[test]
fn who_resigns_is_followed_at_once_and_who_cannot_leaves_it_to_others() {
    let (mut one, mut other, mut word) = (watch(0), watch(1), 0);
    turn(&mut one, at(0), &mut word);
    word = one.resign(word).unwrap().to;
    one.refuse(at(1));
    assert_eq!(one.resign(word), None, "it does not receive any more");
    assert!(!turn(&mut one, at(2), &mut word));
    assert!(turn(&mut other, at(2), &mut word));
    word = other.resign(word).unwrap().to;
    assert!(turn(&mut one, at(1) + REFUSAL, &mut word), "it may try again");
}

#[test]
fn a_slot_is_written_by_one_at_a_time_and_never_goes_back() {
    let free = |state, position| SlotState::is_free_for(state, position);
    assert!(free(SlotState(0), 0) && free(SlotState::published(3), 11));
    assert!(!free(SlotState::written(3), 11), "its writer may go on at any time");
    assert!(!free(SlotState::published(11), 3), "it is too late");
    assert!(!free(SlotState::published(11), 11));
}

#[test]
fn a_reader_goes_on_behind_what_is_published() {
    let mut cursor = Cursor::new(8);
    assert_eq!(cursor.look(at(0), SlotState(0), 0), Look::Rest);
    assert_eq!(cursor.look(at(0), SlotState::written(0), 1), Look::Rest);
    assert_eq!(cursor.look(at(0), SlotState::published(0), 1), Look::Read);
    cursor.advance(true);
    assert_eq!((cursor.position(), cursor.lost()), (1, 0));
    assert_eq!(cursor.look(at(0), SlotState(0), 1), Look::Rest);
}

#[test]
fn a_reader_passes_a_writer_by_that_has_stopped_once_there_is_more() {
    let mut cursor = Cursor::new(8);
    let late = at(0) + WRITER_PATIENCE;
    assert_eq!(cursor.look(late, SlotState::written(0), 1), Look::Rest, "nothing is behind it");
    assert_eq!(cursor.look(at(0), SlotState::written(0), 2), Look::Rest);
    let early = at(WRITER_PATIENCE.as_micros() as u64 - 1);
    assert_eq!(cursor.look(early, SlotState::written(0), 2), Look::Rest);
    assert_eq!(cursor.look(late, SlotState::written(0), 2), Look::Again);
    assert_eq!((cursor.position(), cursor.lost()), (1, 1));
    // A slot that a writer of an earlier round has is not waited for.
    let mut cursor = Cursor::new(1);
    cursor.advance(true);
    assert_eq!(cursor.look(at(0), SlotState::written(0), 3), Look::Again);
}

#[test]
fn a_reader_that_is_overrun_goes_on_with_what_is_left() {
    let mut cursor = Cursor::new(8);
    assert_eq!(cursor.look(at(0), SlotState::published(16), 20), Look::Again);
    assert_eq!((cursor.position(), cursor.lost()), (13, 13));
    assert_eq!(cursor.look(at(0), SlotState::published(13), 20), Look::Read);
    cursor.advance(false);
    assert_eq!((cursor.position(), cursor.lost()), (14, 14));
    // Whatever the memory says, a reader never goes back.
    assert_eq!(cursor.look(at(0), SlotState(u64::MAX - 1), 0), Look::Again);
    assert_eq!(cursor.position(), 15);
}

#[test]
fn a_mate_sleeps_longer_only_if_it_is_woken_and_somebody_receives() {
    assert!(longest_sleep(true, true) > longest_sleep(true, false));
    assert_eq!(
        longest_sleep(true, false),
        longest_sleep(false, true),
        "nobody takes the place meanwhile"
    );
    assert_eq!(longest_sleep(true, false), longest_sleep(false, false));
}
