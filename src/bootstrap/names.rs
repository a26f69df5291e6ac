//! How messages name ranks and durations.

use super::BootstrapError;
use std::collections::BTreeSet;
use std::net::IpAddr;
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

/// Addresses that are told of at most.
const MAX_TOLD: usize = 4;

/// Where ranks are, behind what they did; nothing where that is not known.
pub(super) fn at(addresses: impl Iterator<Item = IpAddr>) -> String {
    let all: BTreeSet<IpAddr> = addresses.collect();
    let told: Vec<_> = all.iter().take(MAX_TOLD).map(ToString::to_string).collect();
    let more = if all.len() > told.len() { " and others" } else { "" };
    if all.is_empty() { String::new() } else { format!(" (at {}{more})", told.join(", ")) }
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
    fn a_few_addresses_are_told() {
        let of = |last: &[u8]| at(last.iter().map(|last| IpAddr::from([10, 7, 0, *last])));
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[3, 2, 3]), " (at 10.7.0.2, 10.7.0.3)");
        let many = of(&[1, 2, 3, 4, 5]);
        assert_eq!(many, " (at 10.7.0.1, 10.7.0.2, 10.7.0.3, 10.7.0.4 and others)");
    }

    #[test]
    fn seconds_have_a_unit() {
        assert_eq!(seconds(Duration::from_secs(30)), "30 s");
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5 s");
    }
}
