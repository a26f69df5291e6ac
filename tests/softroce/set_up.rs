//! What making a communicator asks of its ranks: exchanges in which all wait for all, counted. They may become fewer, but
//! not more; `ci/ledger` prints them with their bytes.

use crate::needs;
use crate::ranks::{self, Meeting};
use std::task::Poll;
use std::time::{Duration, Instant};
use verbcast::bootstrap::{Bootstrap, Counted};
use verbcast::broadcast::{Broadcaster, Config, Endpoint, Further};
use verbcast::rdma::{Multicast, NodeSharing};
use verbcast_core::rank::Rank;

const RANKS: u32 = 4;
/// How long anything may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(devices: &[String]) -> Config {
    let mut config = ranks::flat();
    config.device.devices = devices.to_vec();
    config
}

/// Every rank has each of some messages.
fn exchange(broadcaster: &mut Broadcaster, seed: usize) {
    for op in 0..3 {
        let root = Rank(op as u32 % broadcaster.size());
        let sent = ranks::message(seed + op, 5000);
        let mut buffer =
            if broadcaster.rank() == root { sent.clone() } else { vec![0; sent.len()] };
        broadcaster.broadcast_into(root, &mut buffer).unwrap();
        assert!(buffer == sent, "{} of {}", broadcaster.rank(), broadcaster.size());
    }
}

#[test]
fn a_further_communicator_takes_two_exchanges_and_a_further_order_one() {
    let Some(devices) = needs::devices() else { return };
    let config = config(&devices);
    let (again, reversed) = (Meeting::new(&[0, 1, 2, 3]), Meeting::new(&[3, 2, 1, 0]));
    let parts = [Meeting::new(&[0, 1]), Meeting::new(&[2, 3])];
    let again_parts = [Meeting::new(&[0, 1]), Meeting::new(&[2, 3])];
    let all = ranks::run(RANKS, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let part = &parts[me.index() / 2];
        let meetings = [&again, &reversed, part, &again_parts[me.index() / 2]];
        let mut rounds = Vec::new();
        let mut broadcasters = Vec::new();
        let mut make = |bootstrap: &mut dyn Bootstrap| {
            let mut counted = Counted::new(bootstrap);
            broadcasters.push(Broadcaster::new_on(&endpoint, &mut counted, &config).unwrap());
            rounds.push(counted.take().rounds);
        };
        make(world);
        for meeting in meetings {
            make(&mut meeting.bootstrap(me).unwrap());
        }
        let mut counted = Counted::new(&mut *world);
        let prepared = broadcasters[0].further();
        let further = Further::complete(prepared, &mut counted).unwrap();
        rounds.push(counted.take().rounds);
        broadcasters.push(further);
        let groups = endpoint.usage().groups;
        for (seed, broadcaster) in broadcasters.iter_mut().enumerate() {
            exchange(broadcaster, 10 * seed);
        }
        world.all_gather(&[]).unwrap();
        broadcasters.into_iter().for_each(|broadcaster| broadcaster.close().unwrap());
        (rounds, groups)
    });
    for (rounds, groups) in all {
        println!("{rounds:?}, {groups} groups");
        let [first, again, reversed, part, again_part, further] = rounds[..] else {
            panic!("{rounds:?}")
        };
        // The proof of a group may take a few more, where packets are lost.
        assert!(first >= 5, "introductions, a group, its proof and connections: {first}");
        assert_eq!((again, reversed, again_part), (2, 2, 2), "of processes that share a group");
        assert!(part >= 3, "of some of them, in a group of their own: {part}");
        assert_eq!(further, 1);
        assert_eq!(groups, 2, "one for all ranks, and one for each part");
    }
}

#[test]
fn ranks_that_share_memory_take_one_exchange_more() {
    let Some(devices) = needs::devices() else { return };
    for nodes in [NodeSharing::Shared { most: 2 }, NodeSharing::Auto] {
        let mut config = config(&devices);
        config.device.nodes = nodes;
        let again = Meeting::new(&[0, 1, 2, 3]);
        let all = ranks::run(RANKS, |world| {
            let me = world.rank();
            let endpoint = Endpoint::new(&config.device);
            let mut first = Broadcaster::new_on(&endpoint, world, &config).unwrap();
            let mut meeting = again.bootstrap(me).unwrap();
            let mut counted = Counted::new(&mut meeting);
            let mut second = Broadcaster::new_on(&endpoint, &mut counted, &config).unwrap();
            let of_second = counted.take().rounds;
            let mut counted = Counted::new(&mut *world);
            let mut further = Further::complete(first.further(), &mut counted).unwrap();
            let of_further = counted.take().rounds;
            exchange(&mut second, 0);
            exchange(&mut further, 10);
            world.all_gather(&[]).unwrap();
            further.close().unwrap();
            second.close().unwrap();
            first.close().unwrap();
            (of_second, of_further)
        });
        assert!(all.iter().all(|rounds| *rounds == (3, 2)), "{nodes:?}: {all:?}");
    }
}

/// Orders of their own: each rank begins them in another sequence.
#[test]
fn further_broadcasters_go_on_in_any_order() {
    let Some(devices) = needs::devices() else { return };
    let config = config(&devices);
    const FURTHER: usize = 6;
    ranks::run(RANKS, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut first = Broadcaster::new_on(&endpoint, world, &config).unwrap();
        let mut all: Vec<_> =
            (0..FURTHER).map(|_| Further::complete(first.further(), world).unwrap()).collect();
        for round in 0..3 {
            let order: Vec<_> =
                (0..FURTHER).map(|at| (at + me.index() + round) % FURTHER).collect();
            let message = |at| ranks::message(FURTHER * round + at, 3000 * (at + 1));
            let mut pending: Vec<_> = order
                .iter()
                .map(|at| {
                    let root = Rank(*at as u32 % RANKS);
                    let sent = message(*at);
                    let bytes = if me == root { sent } else { vec![0; sent.len()] };
                    (*at, all[*at].start(root, bytes).unwrap())
                })
                .collect();
            // Who waits for one may be the root of another, so all go on together.
            let until = Instant::now() + PATIENCE;
            while !pending.is_empty() {
                assert!(Instant::now() < until, "{me}, round {round}: {} are left", pending.len());
                pending.retain_mut(|(at, pending)| match all[*at].try_wait(pending) {
                    Poll::Pending => true,
                    Poll::Ready(came) => {
                        assert!(came.unwrap() == message(*at), "{me}, {at}, round {round}");
                        false
                    }
                });
            }
        }
        // What the others have outlives the one that they came from.
        world.all_gather(&[]).unwrap();
        first.close().unwrap();
        exchange(&mut all[0], 0);
        all.into_iter().for_each(|one| one.close().unwrap());
    });
}

/// A rank that cannot have a further one is named by all, and what there was goes on.
#[test]
fn who_cannot_have_a_further_order_is_named_by_all() {
    let Some(devices) = needs::devices() else { return };
    let pairs = NodeSharing::Shared { most: 2 };
    for nodes in [NodeSharing::Flat, pairs, NodeSharing::Auto] {
        println!("{nodes:?}");
        let mut config = config(&devices);
        config.device.nodes = nodes;
        refuse_a_further_order(&config);
    }
}

fn refuse_a_further_order(config: &Config) {
    ranks::run(3, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut first = Broadcaster::new_on(&endpoint, world, config).unwrap();
        let mut prepared = first.further();
        if me == Rank(1) {
            prepared = Err("has none on purpose".to_owned());
        }
        let error = Further::complete(prepared, world).unwrap_err();
        assert_eq!(error.to_string(), "rank 1: has none on purpose");
        let mut again = Further::complete(first.further(), world).unwrap();
        exchange(&mut again, 1);
        exchange(&mut first, 2);
        world.all_gather(&[]).unwrap();
        again.close().unwrap();
        first.close().unwrap();
    });
}

/// Where one rank does not get on, all say so, whichever step the others are at; also where they would go on without a
/// group if it were that.
#[test]
fn a_rank_that_has_one_endpoint_twice_is_named_by_all() {
    let Some(devices) = needs::devices() else { return };
    for multicast in [Multicast::Require, Multicast::Prefer, Multicast::Off] {
        let mut config = config(&devices);
        config.device.multicast = multicast;
        let shared = Endpoint::new(&config.device);
        ranks::run(3, |world| {
            let own = Endpoint::new(&config.device);
            let endpoint = if world.rank() == Rank(0) { &own } else { &shared };
            let error = Broadcaster::new_on(endpoint, world, &config).unwrap_err();
            assert!(
                error.to_string().contains("rank 2: uses the same endpoint as rank 1"),
                "{error}"
            );
        });
    }
}
