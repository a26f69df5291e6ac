//! What held a job up, in a few sentences.

use super::digest::{Digest, Span};
use std::collections::BTreeMap;

/// Losses below this share of the datagrams are not worth a sentence.
const SHARE_OF_LOSS: f64 = 0.001;

/// What held the job up, most important first.
pub fn sentences(digests: &[Digest]) -> Vec<String> {
    [waiting(digests), losing(digests), repairing(digests)].into_iter().flatten().collect()
}

fn name(digests: &[Digest], rank: u32) -> String {
    let digest = digests.iter().find(|digest| digest.id == rank);
    digest.map_or_else(|| format!("rank {rank}"), |digest| digest.name.clone())
}

/// Who was waited for, and what it did meanwhile.
fn waiting(digests: &[Digest]) -> Option<String> {
    let in_calls: f64 = digests.iter().flat_map(|digest| &digest.calls).map(length).sum();
    let all: f64 = digests.iter().map(Digest::waiting).sum();
    if in_calls <= 0.0 {
        return None;
    }
    let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
    for (rank, seconds) in digests.iter().flat_map(Digest::waiting_for) {
        *by_rank.entry(rank).or_default() += seconds;
    }
    let share = percent(all / in_calls);
    let most = by_rank.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((rank, seconds)) = most.filter(|(_, seconds)| *seconds > 0.0) else {
        return Some(format!("Ranks spent {share} of the time of their broadcasts waiting."));
    };
    let away = digests.iter().find(|digest| digest.id == rank).map(|slow| {
        let waits = digests.iter().flat_map(|digest| &digest.waits);
        let waits = waits.filter(|(_, ranks)| ranks.contains(&Some(rank))).map(|(span, _)| *span);
        let (mut outside, mut whole) = (0.0, 0.0);
        for span in waits {
            whole += length(&span);
            outside +=
                length(&span) - slow.calls.iter().map(|call| shared(&span, call)).sum::<f64>();
        }
        if whole > 0.0 { outside / whole } else { 0.0 }
    });
    let why = match away {
        Some(away) if away > 0.5 => format!(
            ", which was outside of broadcasts for {} of that: it came late to them",
            percent(away)
        ),
        Some(_) => ", which was in its broadcast meanwhile".to_owned(),
        None => String::new(),
    };
    Some(format!(
        "Ranks spent {share} of the time of their broadcasts waiting, most of it ({}) for {}{why}.",
        percent(seconds / all.max(f64::MIN_POSITIVE)),
        name(digests, rank)
    ))
}

/// Which rank lost most, and on which host.
fn losing(digests: &[Digest]) -> Option<String> {
    let most =
        digests.iter().max_by(|one, other| one.share_lost().total_cmp(&other.share_lost()))?;
    if most.share_lost() < SHARE_OF_LOSS {
        return Some("Hardly any datagram was lost.".to_owned());
    }
    let all: f64 = digests.iter().map(|digest| digest.lost as f64).sum();
    let alone = most.lost as f64 / all.max(1.0);
    let what = match alone > 0.5 && digests.len() > 2 {
        true => format!(
            "that is {} of all losses: look at its link, or raise VERBCAST_RECEIVE_DEPTH if it receives in bursts",
            percent(alone)
        ),
        false => {
            "others lose as well: look at the switches, or raise VERBCAST_RECEIVE_DEPTH".to_owned()
        }
    };
    Some(format!("{} lost {} of its datagrams; {what}.", most.name, percent(most.share_lost())))
}

/// What repairs cost.
fn repairing(digests: &[Digest]) -> Option<String> {
    let mut times: Vec<f64> =
        digests.iter().flat_map(|digest| &digest.repairs).map(length).collect();
    times.sort_by(f64::total_cmp);
    let (middle, last) = (times.get(times.len() / 2)?, times.last()?);
    Some(format!(
        "{} reads of what was missing took {} at the median and {} at most.",
        times.len(),
        time(*middle),
        time(*last)
    ))
}

fn length([began, ended]: &Span) -> f64 {
    ended - began
}

/// Seconds that two spans have in common.
fn shared(one: &Span, other: &Span) -> f64 {
    (one[1].min(other[1]) - one[0].max(other[0])).max(0.0)
}

pub fn percent(share: f64) -> String {
    // The sum of nothing has a sign in floating point.
    let percent = share.abs() * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// Seconds, in a unit that suits them.
pub fn time(seconds: f64) -> String {
    match seconds {
        ..1e-3 => format!("{:.0} µs", seconds * 1e6),
        ..1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(id: u32, calls: Vec<Span>, waits: Vec<(Span, Vec<Option<u32>>)>) -> Digest {
        Digest {
            id,
            name: format!("rank {id} on a"),
            calls,
            waits,
            received: 100,
            ..Digest::default()
        }
    }

    #[test]
    fn who_came_late_is_named() {
        let late = rank(2, vec![[9.0, 10.0]], Vec::new());
        let waits = vec![([0.0, 9.0], vec![Some(2)])];
        let all = [rank(0, vec![[0.0, 10.0]], waits), late];
        let said = sentences(&all).remove(0);
        assert!(said.contains("82 %") && said.contains("(100 %) for rank 2 on a"), "{said}");
        assert!(said.contains("outside of broadcasts for 100 %"), "{said}");
    }

    #[test]
    fn who_never_waited_did_so_for_no_time() {
        let said = sentences(&[rank(0, vec![[0.0, 10.0]], Vec::new())]).remove(0);
        assert_eq!(said, "Ranks spent 0.0 % of the time of their broadcasts waiting.");
    }

    #[test]
    fn who_was_there_is_not_called_late() {
        let slow = rank(2, vec![[0.0, 10.0]], Vec::new());
        let all = [rank(0, vec![[0.0, 10.0]], vec![([0.0, 9.0], vec![Some(2)])]), slow];
        let said = sentences(&all).remove(0);
        assert!(said.contains("was in its broadcast meanwhile"), "{said}");
    }

    #[test]
    fn who_lost_most_is_named_with_what_to_do() {
        let mut all = [
            rank(0, Vec::new(), Vec::new()),
            rank(1, Vec::new(), Vec::new()),
            rank(2, Vec::new(), Vec::new()),
        ];
        assert_eq!(sentences(&all), ["Hardly any datagram was lost."]);
        all[1].lost = 25;
        all[1].repairs = vec![[1.0, 1.002], [1.0, 1.001], [1.0, 3.0]];
        let said = sentences(&all);
        assert!(
            said[0].contains("rank 1 on a lost 20 %") && said[0].contains("100 % of all"),
            "{said:?}"
        );
        assert_eq!(
            said[1],
            "3 reads of what was missing took 2.0 ms at the median and 2.00 s at most."
        );
    }
}
