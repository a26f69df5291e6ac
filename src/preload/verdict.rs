//! What held a job up, in sentences that say what to do.

use super::summary::{Awaited, Summary};

/// Less than one datagram in a thousand is lost: its repair, a read, is lost in the noise.
const SHARE_OF_LOSS: f64 = 0.001;
/// Ranks wait for less of their time in broadcasts than this: the rest is work, which nobody does for them.
const SHARE_OF_WAITING: f64 = 0.25;
/// Ranks waited for less than this in all: nobody who looks at a job notices a tenth of a second.
const SHORTEST_WAITING: u64 = 100_000;
/// More than half of what there is: then one rank or reason stands for it.
const MOST: f64 = 0.5;
/// A port that was down, or a group that was left, for less than this: broadcasts have gone on.
const SHORTEST_OUTAGE: u64 = 100;
/// Times that a wait is followed from the rank that it was for to the one that this rank waited for meanwhile.
const MAX_FOLLOWED: usize = 64;

/// What held up the ranks that say this, each by its rank.
pub fn sentences(ranks: &[Summary]) -> Vec<String> {
    let all = [losing(ranks), waiting(ranks), failing(ranks)];
    let said: Vec<_> = all.into_iter().flatten().collect();
    if said.is_empty() { vec![fine(ranks)] } else { said }
}

/// Who lost most, and why.
fn losing(ranks: &[Summary]) -> Option<String> {
    let (rank, most) = max_by(ranks, Summary::loss)?;
    if most.loss() < SHARE_OF_LOSS {
        return None;
    }
    let all: u64 = ranks.iter().map(|one| one.lost).sum();
    let is_alone = most.lost as f64 > MOST * all as f64;
    let why = if most.ran_out > 0 {
        let times = most.ran_out;
        format!("while receives ran out ({times} times seen): raise VERBCAST_RECEIVE_DEPTH")
    } else if is_alone {
        "though it had receives posted: look at its link and at what the switch says of that port"
            .to_owned()
    } else {
        "though it had receives posted, and others lost as well: look at the switches, or at the \
         sender's link; where they drop bursts, lower VERBCAST_RING_DEPTH"
            .to_owned()
    };
    let share = percent(most.loss());
    Some(format!("{} lost {share} of its datagrams {why}", name(ranks, rank)))
}

/// Who was waited for.
fn waiting(ranks: &[Summary]) -> Option<String> {
    let in_calls = sum(ranks, |one| one.in_calls) as f64;
    let waited = sum(ranks, |one| one.waited);
    if waited < SHORTEST_WAITING || (waited as f64) < SHARE_OF_WAITING * in_calls {
        return None;
    }
    let blamed = blame(ranks);
    let (rank, most) = max_by(&blamed, |blamed| *blamed)?;
    let others = percent(waited as f64 / in_calls);
    if *most < MOST * waited as f64 {
        return Some(format!(
            "{others} of the time in broadcasts was waiting, for no rank much longer than for others"
        ));
    }
    let (share, who) = (percent(most / in_calls), name(ranks, rank));
    // It was in its calls for so long at most, and so elsewhere for the rest of the others' waits.
    let longest = longest_for(ranks, rank) as f64;
    let is_elsewhere = longest - ranks[rank].in_calls as f64 > MOST * longest;
    let for_it = || waits(ranks).filter(|one| one.rank as usize == rank);
    let first: u64 = for_it().map(|one| one.first).sum();
    let is_first = first as f64 > MOST * for_it().map(|one| one.micros).sum::<u64>() as f64;
    Some(match is_elsewhere && is_first {
        true => format!("{share} of the time in broadcasts was waiting for {who} to call"),
        false => format!(
            "{share} of the time in broadcasts was waiting for {who}, which had called: what it \
             sends, forwards or keeps for repairs comes slowly"
        ),
    })
}

/// Whose port or groups did not work.
fn failing(ranks: &[Summary]) -> Option<String> {
    let (rank, most) = max_by(ranks, |one| one.outage as f64)?;
    (most.outage >= SHORTEST_OUTAGE).then(|| {
        let seconds = most.outage as f64 / 1e3;
        let who = name(ranks, rank);
        format!(
            "the port of {who} was down or out of its groups for {seconds:.1} s: look at its link"
        )
    })
}

/// That there is nothing to do.
fn fine(ranks: &[Summary]) -> String {
    let received = sum(ranks, |one| one.received + one.lost).max(1) as f64;
    let lost = percent(sum(ranks, |one| one.lost) as f64 / received);
    let in_calls = sum(ranks, |one| one.in_calls).max(1) as f64;
    let waited = percent(sum(ranks, |one| one.waited) as f64 / in_calls);
    format!(
        "nothing to speak of: {lost} of the datagrams were lost, {waited} of the time in broadcasts was waiting"
    )
}

/// Microseconds for which each rank was waited for while it did not itself wait for another. Who waits for a rank that waits
/// meanwhile waits for the same as that one does.
fn blame(ranks: &[Summary]) -> Vec<f64> {
    // How much of others' waits for a rank its own waits may explain.
    let explained = (0..ranks.len()).map(|rank| match longest_for(ranks, rank) {
        0 => 0.0,
        longest => (ranks[rank].waited as f64 / longest as f64).min(1.0),
    });
    let explained: Vec<_> = explained.collect();
    let mut blamed = vec![0.0; ranks.len()];
    let mut open = vec![0.0; ranks.len()];
    for one in waits(ranks) {
        if let Some(open) = open.get_mut(one.rank as usize) {
            *open += one.micros as f64;
        }
    }
    for _ in 0..MAX_FOLLOWED {
        let mut next = vec![0.0; ranks.len()];
        for (rank, micros) in open.iter().enumerate() {
            let known: u64 = ranks[rank].awaited.iter().map(|one| one.micros).sum();
            let passed_on = if known > 0 { micros * explained[rank] } else { 0.0 };
            blamed[rank] += micros - passed_on;
            for one in &ranks[rank].awaited {
                if let Some(next) = next.get_mut(one.rank as usize) {
                    *next += passed_on * one.micros as f64 / known.max(1) as f64;
                }
            }
        }
        open = next;
    }
    blamed
}

/// The longest time for which another rank waited for this one.
fn longest_for(ranks: &[Summary], rank: usize) -> u64 {
    let for_it = waits(ranks).filter(|one| one.rank as usize == rank);
    for_it.map(|one| one.micros).max().unwrap_or(0)
}

fn waits(ranks: &[Summary]) -> impl Iterator<Item = &Awaited> {
    ranks.iter().flat_map(|one| &one.awaited)
}

fn sum(ranks: &[Summary], of: impl Fn(&Summary) -> u64) -> u64 {
    ranks.iter().map(of).sum()
}

fn max_by<T>(all: &[T], of: impl Fn(&T) -> f64) -> Option<(usize, &T)> {
    all.iter().enumerate().max_by(|(_, one), (_, other)| of(one).total_cmp(&of(other)))
}

fn name(ranks: &[Summary], rank: usize) -> String {
    format!("rank {rank} on {}", ranks[rank].host)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// Ranks of which each was in its calls for ten seconds, nine of them waiting for the given rank.
    fn ranks(awaited: &[Option<u32>]) -> Vec<Summary> {
        let rank = |(rank, awaited): (usize, &Option<u32>)| Summary {
            host: format!("node{}", rank / 2),
            received: 1000,
            in_calls: 10 * SECOND,
            waited: awaited.map_or(0, |_| 9 * SECOND),
            awaited: awaited
                .iter()
                .map(|rank| Awaited { rank: *rank, micros: 9 * SECOND, first: 8 * SECOND })
                .collect(),
            ..Summary::default()
        };
        awaited.iter().enumerate().map(rank).collect()
    }

    fn one(ranks: &[Summary]) -> String {
        let said = sentences(ranks);
        assert_eq!(said.len(), 1, "{said:?}");
        said.into_iter().next().unwrap()
    }

    #[test]
    fn where_nothing_held_it_up_one_sentence_says_so() {
        let said = one(&ranks(&[None; 3]));
        assert!(said.starts_with("nothing to speak of: 0.0 % of the datagrams"), "{said}");
        assert!(one(&[]).starts_with("nothing to speak of"), "no rank either");
    }

    #[test]
    fn who_lost_while_receives_ran_out_is_told_to_post_more() {
        let mut all = ranks(&[None; 6]);
        (all[5].lost, all[5].received, all[5].ran_out) = (40, 960, 3);
        let said = one(&all);
        let expected = "rank 5 on node2 lost 4.0 % of its datagrams while receives ran out";
        assert!(said.starts_with(expected), "{said}");
        assert!(said.ends_with("raise VERBCAST_RECEIVE_DEPTH"), "{said}");
        // As much is lost on the way: more receives would not help.
        all[5].ran_out = 0;
        let said = one(&all);
        assert!(said.contains("look at its link") && !said.contains("RECEIVE_DEPTH"), "{said}");
        for rank in &mut all {
            rank.lost = 35;
        }
        assert!(one(&all).contains("others lost as well"), "{}", one(&all));
    }

    #[test]
    fn losses_that_cost_nothing_are_not_told() {
        let mut all = ranks(&[None; 3]);
        (all[1].lost, all[1].received) = (9, 9_991);
        assert!(one(&all).starts_with("nothing"));
        all[1].lost = 11;
        assert!(one(&all).starts_with("rank 1 on node0 lost 0.1 %"));
    }

    #[test]
    fn who_calls_late_is_named_with_its_share() {
        let mut all = ranks(&[Some(2), Some(2), None]);
        all[2].in_calls = SECOND;
        assert_eq!(
            one(&all),
            "86 % of the time in broadcasts was waiting for rank 2 on node1 to call"
        );
        // Who has sent the first part has called, and may have left before the others have the rest.
        all[..2].iter_mut().for_each(|one| one.awaited[0].first = SECOND);
        assert!(one(&all).contains(
            "86 % of the time in broadcasts was waiting for rank 2 on node1, which had called"
        ));
        all[..2].iter_mut().for_each(|one| one.awaited[0].first = 8 * SECOND);
        // Slow is not late.
        all[2].in_calls = 10 * SECOND;
        assert!(one(&all).contains(
            "60 % of the time in broadcasts was waiting for rank 2 on node1, which had called"
        ));
    }

    #[test]
    fn who_waits_meanwhile_is_not_to_blame() {
        // A chain: 3 waits for 2, which waits for 1, which waits for 0, which comes late.
        let mut all = ranks(&[None, Some(0), Some(1), Some(2)]);
        all[0].in_calls = SECOND;
        let said = one(&all);
        assert!(
            said.ends_with("waiting for rank 0 on node0 to call") && said.starts_with("87 %"),
            "{said}"
        );
    }

    #[test]
    fn who_waits_for_one_another_is_not_to_blame_either() {
        let said = one(&ranks(&[Some(1), Some(0)]));
        assert!(said.starts_with("90 %") && said.contains("no rank much longer"), "{said}");
    }

    #[test]
    fn short_waits_are_not_told() {
        let mut all = ranks(&[Some(1), None]);
        (all[0].in_calls, all[0].waited) = (60_000, 50_000);
        all[0].awaited = vec![Awaited { rank: 1, micros: 50_000, first: 50_000 }];
        assert!(one(&all).starts_with("nothing"));
    }

    #[test]
    fn a_port_that_was_down_is_named_and_there_are_three_sentences_at_most() {
        let mut all = ranks(&[Some(2), Some(2), None]);
        (all[1].lost, all[1].outage) = (100, 2_500);
        let said = sentences(&all);
        assert_eq!(said.len(), 3);
        assert!(
            said[2].starts_with("the port of rank 1 on node0 was down")
                && said[2].contains("2.5 s")
        );
    }
}
