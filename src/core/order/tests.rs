use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// So many ranks, dealt out in turn to hosts.
fn cyclic(size: u32, hosts: u32) -> RankOrder {
    RankOrder::by_host(&(0..size).map(|rank| Some(rank % hosts)).collect::<Vec<_>>())
}

/// Ranks on these hosts, each of which has the switches above it that a table says.
fn below(switches: &[&[u32]], hosts: &[usize]) -> RankOrder {
    RankOrder::by_place(
        &hosts.iter().map(|host| Some((switches[*host], *host))).collect::<Vec<_>>(),
    )
}

/// So many ranks, dealt out in turn to hosts, so many of which are below each switch, and so many of these below each further
/// one.
fn tall(size: u32, hosts: u32, width: u32) -> RankOrder {
    let switches: Vec<_> = (0..hosts).map(|host| [host / width / width, host / width]).collect();
    let place = |rank: u32| Some((&switches[(rank % hosts) as usize][..], rank % hosts));
    RankOrder::by_place(&(0..size).map(place).collect::<Vec<_>>())
}

/// Placements of all kinds.
pub fn placements() -> Vec<RankOrder> {
    let told: [&[u32]; 7] = [
        &[7, 7, 7, 3, 3],
        &[1, 0, 1, 0, 1, 2],
        &[5, 4, 4, 5, 9, 9, 9, 9, 5],
        &[2, 1, 1, 1, 1, 2],
        &[1, 2, 3, 4],
        &[6, 6, 6],
        &[8],
    ];
    let of =
        |hosts: &[u32]| RankOrder::by_host(&hosts.iter().copied().map(Some).collect::<Vec<_>>());
    let dealt = (1..17).flat_map(|size| (1..=size).map(move |hosts| cyclic(size, hosts)));
    let (a, b, c): (&[u32], &[u32], &[u32]) = (&[1, 1], &[1, 2], &[3, 4, 5]);
    let switched = [
        // Ways of different lengths, a host that nobody knows, one that is alone, and one that has many ranks.
        below(&[a, b, c, a, &[]], &[4, 0, 1, 2, 3, 0, 1, 2, 2, 2, 2, 4]),
        below(&[a, a, b, b, c, c], &[0, 2, 4, 1, 3, 5]),
        below(&[&[], &[], a, a], &[0, 2, 0, 1, 2, 3]),
        below(&[a, b, b, b, b, b, b], &[0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6]),
    ];
    let dealt_below =
        (6..15).flat_map(|size| (4..=size.min(9)).map(move |hosts| tall(size, hosts, 2)));
    told.into_iter().map(of).chain(dealt).chain(switched).chain(dealt_below).collect()
}

fn ranks(order: &RankOrder) -> impl Iterator<Item = Rank> + use<> {
    (0..order.size()).map(Rank)
}

fn ring(order: &RankOrder) -> Vec<u32> {
    (0..order.size()).map(|hops| order.after(Rank(0), hops).0).collect()
}

/// How often the ring goes from one group of a level to another.
fn crossings(order: &RankOrder, level: usize) -> u32 {
    let group = |rank| order.group(level, order.position(rank));
    ranks(order).filter(|rank| group(*rank) != group(order.successor(*rank))).count() as u32
}

#[test]
fn the_ring_goes_through_each_rank_once() {
    for order in placements() {
        let ring: Vec<_> = (0..order.size()).map(|hops| order.after(Rank(0), hops)).collect();
        assert_eq!(BTreeSet::from_iter(ring.clone()).len(), ring.len(), "{order:?}");
        for (hops, rank) in (0..).zip(&ring) {
            assert_eq!(order.hops(Rank(0), *rank), hops, "{order:?}");
            assert_eq!(order.predecessor(order.successor(*rank)), *rank, "{order:?}");
        }
    }
}

#[test]
fn the_ring_enters_each_switch_and_host_once() {
    for order in placements() {
        for level in 1..order.rank_level() {
            assert_eq!(crossings(&order, level), order.count(level), "{order:?}");
        }
    }
    let order = cyclic(6, 2);
    assert_eq!(ring(&order), [0, 2, 4, 1, 3, 5]);
    assert_eq!(order.ring_peers(Rank(4)), [Rank(2), Rank(1)]);
}

#[test]
fn hosts_stand_in_the_order_of_their_first_ranks() {
    let order = RankOrder::by_host(&["b", "a", "b", "c", "a"].map(Some));
    assert_eq!(ring(&order), [0, 2, 1, 4, 3]);
    assert_eq!([0, 1, 2, 3, 4].map(|rank| order.host(Rank(rank))), [0, 1, 0, 2, 1]);
}

#[test]
fn switches_stand_in_the_order_of_the_first_ranks_below_them() {
    let (a, b, c): (&[u32], &[u32], &[u32]) = (&[9, 5], &[9, 4], &[1, 5]);
    // Host 2 is below the switch of host 0, host 4 below another one of the same row.
    let order = below(&[a, c, a, c, b], &[0, 1, 2, 3, 4, 0, 1]);
    assert_eq!(ring(&order), [0, 5, 2, 4, 1, 6, 3]);
    let places = ranks(&order).map(|rank| order.place(rank)).collect::<Vec<_>>();
    assert_eq!(places[0..3], [[0, 0, 0], [1, 2, 3], [0, 0, 1]]);
    assert_eq!((order.hosts(), order.count(1), order.count(2)), (5, 2, 3));
}

#[test]
fn what_is_below_no_switch_comes_last() {
    let order = below(&[&[], &[7], &[8], &[7], &[8]], &[0, 1, 2, 3, 4]);
    assert_eq!(ring(&order), [0, 1, 3, 2, 4]);
    assert_eq!(order.position(Rank(0)), 4);
    // Also below a switch that others are below, and where it is the only one.
    let order = below(&[&[7], &[7, 1], &[7, 2], &[7, 1]], &[0, 1, 2, 3]);
    assert_eq!([0, 1, 2, 3].map(|rank| order.position(Rank(rank))), [3, 0, 2, 1]);
}

#[test]
fn each_rank_has_a_host_of_its_own_and_switches_are_followed() {
    let order = below(&[&[1], &[2], &[1], &[2]], &[0, 1, 2, 3]);
    assert_eq!(ring(&order), [0, 2, 1, 3]);
    assert_eq!((order.hosts(), order.count(1)), (4, 2));
}

#[test]
fn switches_that_say_nothing_are_left_out() {
    let by_host = RankOrder::by_host(&[3, 1, 3, 1].map(Some));
    let of = |one: &[u32], other: &[u32]| {
        RankOrder::by_place(&[(one, 3), (other, 1), (one, 3), (other, 1)].map(Some))
    };
    // One for all, one for each host, and both.
    for (one, other) in
        [(&[5][..], &[5][..]), (&[5], &[6]), (&[5, 5], &[5, 6]), (&[5, 5, 7], &[5, 6, 7])]
    {
        assert_eq!(of(one, other), by_host);
    }
    assert_eq!(below(&[&[1], &[1], &[1]], &[0, 1, 2]), RankOrder::by_number(3));
    assert_eq!(below(&[&[1], &[2], &[]], &[0, 1, 2]), RankOrder::by_number(3));
    assert_eq!(below(&[&[1]], &[0, 0, 0]), RankOrder::by_number(3));
}

#[test]
fn a_host_is_where_its_first_rank_that_knows_says() {
    let (none, one, other): (&[u32], &[u32], &[u32]) = (&[], &[1], &[2]);
    let told = [(none, 0), (other, 1), (one, 0), (one, 2), (other, 0), (one, 1), (other, 3)];
    let agreed = [(one, 0), (other, 1), (one, 0), (one, 2), (one, 0), (other, 1), (other, 3)];
    let order = RankOrder::by_place(&told.map(Some));
    assert_eq!(order, RankOrder::by_place(&agreed.map(Some)));
    assert_eq!(ring(&order), [0, 2, 4, 3, 1, 5, 6]);
}

#[test]
fn what_hosts_and_switches_are_called_does_not_matter() {
    let told = ["b", "a", "b", "c", "a"].map(Some);
    let renamed = [7, 9, 7, 1, 9].map(Some);
    assert_eq!(RankOrder::by_host(&told), RankOrder::by_host(&renamed));
    let hosts = [0, 1, 2, 3, 0, 2];
    let told = below(&[&[1, 1], &[2, 3], &[1, 2], &[2, 3]], &hosts);
    let renamed = below(&[&[2, 9], &[1, 3], &[2, 8], &[1, 3]], &hosts);
    assert_eq!((told.levels().len(), told), (3, renamed));
}

#[test]
fn ranks_keep_their_numbers_where_hosts_say_nothing() {
    let by_number = RankOrder::by_number(4);
    for told in [[Some(1); 4], [1, 2, 3, 4].map(Some), [Some(1), Some(2), None, Some(2)]] {
        assert_eq!(RankOrder::by_host(&told), by_number);
    }
    let switches: &[u32] = &[1];
    let told = [Some((switches, 1)), Some((&[2], 2)), None, Some((switches, 3))];
    assert_eq!(RankOrder::by_place(&told), by_number);
    assert_eq!((by_number.successor(Rank(3)), by_number.predecessor(Rank(0))), (Rank(0), Rank(3)));
    assert_eq!(by_number.from(Rank(3)).rank(1), Rank(0));
    assert_eq!(RankOrder::by_number(1).ring_peers(Rank(0)), []);
    assert_eq!(by_number.place(Rank(2)), []);
}

/// A root is the first, and the groups of all levels are runs, each within one of the level above.
fn assert_runs(order: &RankOrder, root: Rank) {
    let from = order.from(root);
    for level in 0..=from.rank_level() {
        let groups = from.groups(level);
        assert_eq!((from.group(level, root), from.first(level, 0)), (0, 0), "{order:?}");
        assert_eq!(from.first(level, groups), order.size());
        for number in 0..order.size() {
            let rank = from.rank(number);
            assert_eq!(from.number(rank), number, "{order:?} {root}");
            let group = from.group(level, rank);
            let run = from.first(level, group)..from.first(level, group + 1);
            assert!(run.contains(&number), "{order:?} {root}");
        }
        let mut next = 0;
        for group in (0..groups).filter(|_| level < from.rank_level()) {
            let below = from.below(level, group);
            assert_eq!(below.start, next, "{order:?} {root}");
            assert_eq!(from.first(level + 1, below.start), from.first(level, group));
            next = below.end;
        }
        assert!(next == 0 || next == from.groups(level + 1));
    }
}

#[test]
fn a_root_is_the_first_and_groups_are_runs() {
    for order in placements() {
        ranks(&order).for_each(|root| assert_runs(&order, root));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Random trees of switches with hosts anywhere below them, and random placements of ranks on these.
    #[test]
    fn a_ring_enters_each_switch_of_any_tree_once(
        paths in prop::collection::vec(prop::collection::vec(0..3_u32, 0..4), 1..10),
        hosts in prop::collection::vec(any::<prop::sample::Index>(), 1..24),
        root: prop::sample::Index,
    ) {
        let hosts: Vec<_> = hosts.iter().map(|host| host.index(paths.len())).collect();
        let told: Vec<_> = hosts.iter().map(|host| Some((&paths[*host][..], *host))).collect();
        let order = RankOrder::by_place(&told);
        // Names with their paths, apart from what the order makes of them.
        for depth in 1..4 {
            let switch = |rank: &u32| paths[hosts[*rank as usize]].get(..depth);
            let ring = ring(&order);
            let entered = ring.iter().zip(ring.iter().cycle().skip(1));
            let entered = entered.filter(|(from, to)| switch(from) != switch(to));
            let entered: Vec<_> = entered.filter_map(|(_, to)| switch(to)).collect();
            let distinct: BTreeSet<_> = entered.iter().collect();
            prop_assert_eq!(distinct.len(), entered.len(), "{:?}: {:?}", told, ring);
        }
        for level in 1..order.rank_level() {
            prop_assert_eq!(crossings(&order, level), order.count(level));
        }
        assert_runs(&order, Rank(root.index(hosts.len()) as u32));
    }
}
