//! How messages name ranks and durations.

use super::BootstrapError;
use std::time::Duration;
use verbcast_core::rank::Rank;

/// Names ranks as a reader would: `rank 3`, `ranks 0-7`, `ranks 1, 3 and 5-7`. The ranks must be
/// in ascending order.
pub fn name_ranks(ranks: &[Rank]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &Rank(rank) in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let mut names = Vec::new();
    for (first, last) in runs {
        match last - first {
            0 => names.push(first.to_string()),
            1 => names.extend([first.to_string(), last.to_string()]),
            _ => names.push(format!("{first}-{last}")),
        }
    }
    let plural = if ranks.len() == 1 { "rank" } else { "ranks" };
    match names.split_last() {
        None => "no rank".to_owned(),
        Some((only, [])) => format!("{plural} {only}"),
        Some((last, others)) => format!("{plural} {} and {last}", others.join(", ")),
    }
}

/// The error that `ranks` have in common; `what` goes on after their name.
pub(super) fn blame(ranks: &[Rank], what: String) -> BootstrapError {
    match ranks {
        [rank] => BootstrapError { rank: Some(*rank), what },
        _ => BootstrapError { rank: None, what: format!("{} {what}", name_ranks(ranks)) },
    }
}

/// A duration in seconds, for a message.
pub(super) fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_millis() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_named_shortly() {
        let named =
            |ranks: &[u32]| name_ranks(&ranks.iter().copied().map(Rank).collect::<Vec<_>>());
        assert_eq!(named(&[3]), "rank 3");
        assert_eq!(named(&[3, 4]), "ranks 3 and 4");
        assert_eq!(named(&[0, 1, 2, 3]), "ranks 0-3");
        assert_eq!(named(&[1, 3, 5, 6, 7]), "ranks 1, 3 and 5-7");
    }

    #[test]
    fn seconds_have_a_unit() {
        assert_eq!(seconds(Duration::from_secs(30)), "30 s");
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5 s");
    }
}
