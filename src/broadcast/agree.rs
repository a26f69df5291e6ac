//! What ranks settle before there is a communicator.

use super::{Config, ConfigError, Error};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::Multicast;
use sha2::{Digest, Sha256};
use verbcast_core::order::RankOrder;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{Proposal, Terms, Whereabouts};

/// Ranks among which all are connected when the communicator is made, where the protocols join more than
/// neighbours on the ring. Among more, a rank that fails before another has ever spoken to it is noticed
/// by its neighbours alone, when they call.
const ALL_CONNECTED: u32 = 32;

/// What a rank tells that knows neither its kernel's number nor its host's name.
const NOT_TOLD: [u8; 16] = [0; 16];

/// The ranks by switch and host, as all of them have told; by number where one could not tell its host.
pub(super) fn order_by_place(all: &[Proposal]) -> RankOrder {
    let told = all.iter().map(|one| {
        let Whereabouts { host, switches, .. } = &one.whereabouts;
        Some((switches.names(), host)).filter(|(_, host)| **host != NOT_TOLD)
    });
    RankOrder::by_place(&told.collect::<Vec<_>>())
}

/// Who a rank's neighbours on the ring are, and on which hosts below which switches.
pub(super) fn neighbours(
    me: Rank,
    order: &RankOrder,
    by_place: &RankOrder,
    all: &[Proposal],
) -> String {
    let hosts = by_place.hosts();
    let leaf = |rank: Rank| {
        let mut mates =
            all.iter().filter(|one| one.whereabouts.host == all[rank.index()].whereabouts.host);
        mates.find_map(|one| one.whereabouts.switches.leaf())
    };
    let below = |rank| leaf(rank).map(|leaf| format!(" below switch {leaf}")).unwrap_or_default();
    let on = |neighbour: Rank| match by_place.host(neighbour) {
        _ if hosts == 1 => neighbour.to_string(),
        host if host == by_place.host(me) => format!("{neighbour} on this host"),
        host if leaf(neighbour) == leaf(me) => format!("{neighbour} on host {host}"),
        host => format!("{neighbour} on host {host}{}", below(neighbour)),
    };
    let (before, after) = (on(order.predecessor(me)), on(order.successor(me)));
    match hosts {
        1 => format!("after {before}, before {after}"),
        _ => {
            let host = by_place.host(me);
            format!("on host {host} of {hosts}{}, after {before}, before {after}", below(me))
        }
    }
}

/// The ranks that `me` is connected with from the beginning.
pub(super) fn first_peers(me: Rank, order: &RankOrder, config: &Config) -> Vec<Rank> {
    let size = order.size();
    let multicasts = config.device.multicast == Multicast::Require;
    if size > ALL_CONNECTED || multicasts && config.protocol.keeps_to_the_ring(size) {
        config.protocol.neighbours(me, order)
    } else {
        (0..size).map(Rank).filter(|rank| *rank != me).collect()
    }
}

/// The terms of a rank that has room for a ring of so many slots.
///
/// # Errors
/// If its settings contradict each other.
pub(super) fn terms(config: &Config, room: u32) -> Result<Terms, ConfigError> {
    config.validate()?;
    let hash: [u8; 32] = Sha256::digest(config.common()).into();
    let common = u64::from_be_bytes(std::array::from_fn(|at| hash[at]));
    let ring = room.max(config.protocol.window.unwrap_or(room));
    Ok(Terms { ring, common })
}

/// Makes sure that all ranks have the settings that must be the same, and returns them with a ring that is as deep as
/// all ranks have room for, and as the window needs. Where they differ, the ranks tell one another their settings.
pub(super) fn agree(
    bootstrap: &mut dyn Bootstrap,
    config: &Config,
    all: &[Terms],
) -> Result<Config, Error> {
    if all.iter().any(|terms| terms.common != all[0].common) {
        return Err(disagreement(bootstrap, config)?);
    }
    let mut config = config.clone();
    config.device.depths.ring = all.iter().map(|terms| terms.ring).min().unwrap_or_default();
    Ok(config)
}

/// Who has which other settings than rank 0.
fn disagreement(bootstrap: &mut dyn Bootstrap, config: &Config) -> Result<Error, Error> {
    let texts = vote(bootstrap, Ok(config.common().as_bytes()))?;
    let texts: Vec<_> = texts.iter().map(|text| String::from_utf8_lossy(text)).collect();
    let others = (0..).map(Rank).zip(&texts);
    let differing = others.filter(|(_, text)| **text != texts[0]);
    let refusals = differing.map(|(rank, text)| (rank, differences(text, &texts[0])));
    Ok(Error::Setup(VoteError::Refused(refusals.take(1).collect())))
}

/// In which lines a rank's settings differ from those of rank 0.
fn differences(own: &str, first: &str) -> String {
    let pairs = own.lines().zip(first.lines()).filter(|(own, first)| own != first);
    let texts: Vec<_> =
        pairs.map(|(own, first)| format!("has {own}, but rank 0 has {first}")).collect();
    match texts.is_empty() {
        true => "has other settings than rank 0".to_owned(),
        false => texts.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::protocol::choice::{Algorithm, Table};
    use verbcast_core::topology::SwitchPath;

    /// Ranks on these hosts, below these switches.
    fn below(places: &[(u8, &[&str])]) -> Vec<Proposal> {
        let proposal = |(host, switches): &(u8, &[&str])| {
            let switches = SwitchPath::new(switches.iter().copied()).unwrap();
            let whereabouts = Whereabouts { host: [*host; 16], switches, ..Whereabouts::default() };
            Proposal { terms: Terms { ring: 1, common: 0 }, whereabouts, introduction: None }
        };
        places.iter().map(proposal).collect()
    }

    fn on(hosts: &[u8]) -> Vec<Proposal> {
        below(&hosts.iter().map(|host| (*host, &[][..])).collect::<Vec<_>>())
    }

    #[test]
    fn ranks_are_ordered_by_the_hosts_that_all_have_told() {
        let by_host = RankOrder::by_host(&[9, 4, 9, 4].map(Some));
        assert_eq!(order_by_place(&on(&[9, 4, 9, 4])), by_host);
        assert_eq!(order_by_place(&on(&[9, 4, 9, 0])), RankOrder::by_number(4));
    }

    #[test]
    fn ranks_are_ordered_by_the_switches_that_any_has_told() {
        let all = below(&[(1, &["top", "b"]), (2, &["top", "a"]), (3, &[]), (4, &["top", "b"])]);
        let ring = |all: &[Proposal]| {
            let order = order_by_place(all);
            (0..4).map(|hops| order.after(Rank(0), hops).0).collect::<Vec<_>>()
        };
        assert_eq!(ring(&all), [0, 3, 1, 2]);
        // What one rank has in its file does not change where the others are.
        let other = below(&[(1, &["top", "b"]), (2, &["c"]), (3, &[]), (4, &["top", "b"])]);
        assert_eq!(ring(&other), [0, 3, 1, 2]);
    }

    #[test]
    fn neighbours_are_told_with_their_hosts() {
        let all = on(&[9, 4, 9, 4]);
        let (by_host, by_number) = (order_by_place(&all), RankOrder::by_number(4));
        let told = neighbours(Rank(2), &by_host, &by_host, &all);
        assert_eq!(told, "on host 0 of 2, after rank 0 on this host, before rank 1 on host 1");
        let told = neighbours(Rank(2), &by_number, &by_host, &all);
        assert_eq!(told, "on host 0 of 2, after rank 1 on host 1, before rank 3 on host 1");
        let told = neighbours(Rank(2), &by_number, &by_number, &all);
        assert_eq!(told, "after rank 1, before rank 3");
    }

    #[test]
    fn neighbours_are_told_with_their_switches() {
        let all = below(&[(1, &["b"]), (2, &["a"]), (3, &["b"]), (1, &[]), (5, &[]), (6, &["a"])]);
        let order = order_by_place(&all);
        let told = |rank| neighbours(Rank(rank), &order, &order, &all);
        assert_eq!(
            told(3),
            "on host 0 of 5 below switch b, after rank 0 on this host, before rank 2 on host 1"
        );
        assert_eq!(
            told(2),
            "on host 1 of 5 below switch b, after rank 3 on host 0, before rank 1 on host 2 below switch a"
        );
        assert_eq!(
            told(4),
            "on host 4 of 5, after rank 5 on host 3 below switch a, before rank 0 on host 0 below switch b"
        );
    }

    #[test]
    fn first_peers_are_neighbours_in_the_order() {
        let hosts: Vec<_> = (0..64).map(|rank| Some(rank % 2)).collect();
        let order = RankOrder::by_host(&hosts);
        let mut config = Config::default();
        config.protocol.table = Table::uniform(Algorithm::TwoStage);
        assert_eq!(first_peers(Rank(2), &order, &config), [Rank(0), Rank(4)]);
    }

    #[test]
    fn first_peers_of_many_repair_one_another_and_are_few() {
        let hosts: Vec<_> = (0..640).map(|rank| Some(rank / 8)).collect();
        let order = RankOrder::by_host(&hosts);
        let config = Config::default();
        let of = |rank| first_peers(Rank(rank), &order, &config);
        for rank in 0..640 {
            let peers = of(rank);
            assert!(!peers.is_empty() && peers.len() <= 24, "rank {rank}: {peers:?}");
            assert!(peers.iter().all(|peer| of(peer.0).contains(&Rank(rank))), "rank {rank}");
        }
    }
}
