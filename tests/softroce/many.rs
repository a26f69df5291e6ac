//! Many communicators of a process over one endpoint, on a device.

use crate::needs;
use crate::ranks;
use crate::ranks::Meeting;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Config, Endpoint, Usage};
use verbcast::clock::Clock;
use verbcast::rdma::{self, RdmaTransport};
use verbcast_core::protocol::Room;
use verbcast_core::rank::Rank;
use verbcast_core::transport::{Arrival, Liveness, Park, Payload, Transport};
use verbcast_core::wire::HEADER_LEN;

/// Ranks, and communicators that each of them is in.
const SOME: (u32, usize) = (8, 40);
const MANY: (u32, usize) = (16, 200);
const LENS: [usize; 7] = [1, 5000, 0, 40_000, 8, 200_000, 4048];
/// How long anything may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(devices: &[String], faults: Option<&str>) -> Config {
    let mut config = ranks::flat();
    config.device.devices = devices.to_vec();
    config.faults = faults.map(|faults| faults.parse().unwrap());
    config
}

/// The communicators that are made at a time, so that every rank is in one of them: of all ranks, of every
/// other one, of halves, of all in reverse.
fn memberships(ranks: u32, round: usize) -> Vec<Vec<u32>> {
    let all = || 0..ranks;
    let half = ranks / 2;
    match round % 4 {
        0 => vec![all().collect()],
        1 => (0..2).map(|odd| all().filter(|rank| rank % 2 == odd).collect()).collect(),
        2 => vec![(0..half).collect(), (half..ranks).collect()],
        _ => vec![all().rev().collect()],
    }
}

fn meetings(ranks: u32, count: usize) -> Vec<Vec<Meeting>> {
    let meet =
        |round| memberships(ranks, round).iter().map(|members| Meeting::new(members)).collect();
    (0..count).map(meet).collect()
}

/// The bootstrap of the communicator of a round that a rank is in.
fn bootstrap(meetings: &[Meeting], me: Rank) -> ranks::Threads {
    meetings.iter().find_map(|meeting| meeting.bootstrap(me)).unwrap()
}

/// Broadcasts from a root that changes, and checks the bytes.
fn broadcast(broadcaster: &mut Broadcaster, round: usize, step: usize) {
    let (me, size) = (broadcaster.rank(), broadcaster.size());
    let root = Rank(step as u32 % size);
    let sent = ranks::message(1000 * round + step, LENS[(round + step) % LENS.len()]);
    let mut buffer = if me == root { sent.clone() } else { vec![0xee; sent.len()] };
    broadcaster.broadcast_into(root, &mut buffer).unwrap();
    assert!(buffer == sent, "{me} of {size}, round {round}, step {step}");
}

fn many((ranks, communicators): (u32, usize), faults: Option<&str>, steps: usize) {
    let Some(devices) = needs::devices() else { return };
    let meetings = meetings(ranks, communicators);
    let config = config(&devices, faults);
    let all = ranks::run(ranks, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut broadcasters: Vec<_> = meetings
            .iter()
            .map(|meetings| {
                let mut bootstrap = bootstrap(meetings, me);
                Broadcaster::new_on(&endpoint, &mut bootstrap, &config).unwrap()
            })
            .collect();
        for step in 0..steps {
            for (round, broadcaster) in broadcasters.iter_mut().enumerate() {
                broadcast(broadcaster, round, step);
            }
        }
        let usage = endpoint.usage();
        let lost: u64 = broadcasters.iter().map(|one| one.statistics().lost).sum();
        world.all_gather(&[]).unwrap();
        for broadcaster in broadcasters {
            broadcaster.close().unwrap();
        }
        (usage, lost)
    });
    for (usage, lost) in &all {
        println!("{usage:?}, {lost} lost");
        assert_eq!(usage.communicators, communicators);
        let most = 1 + 2 * (ranks as usize - 1);
        assert!(usage.queue_pairs <= most, "{usage:?}");
        assert_eq!(usage.groups, 3, "one for all ranks, and one for each part: {usage:?}");
        let apart = communicators * config.device.registered_memory(4096, ranks);
        assert!(usage.registered_memory < apart / 4, "{usage:?}");
    }
    assert!(faults.is_none() || all.iter().any(|(_, lost)| *lost > 0));
}

#[test]
fn many_communicators_share_what_one_takes() {
    many(SOME, None, 3);
}

#[test]
#[ignore = "takes minutes on an emulated machine"]
fn hundreds_of_communicators_of_sixteen_ranks_share_what_one_takes() {
    many(MANY, None, 2);
}

#[test]
fn many_communicators_repair_their_losses() {
    many(SOME, Some("loss=0.1,seed=5"), 2);
}

/// Ranks 0, 1, 2 and 3 are in so many communicators, each with a broadcast of rank 0. Rank 3 has them all by multicast, and
/// then waits without a look at its device for a word of rank 2, which comes late to all of them and has to pass all of
/// them on to rank 3.
#[test]
fn who_waits_elsewhere_holds_up_no_rank_that_is_late() {
    let Some(devices) = needs::devices() else { return };
    const COMMUNICATORS: usize = 70;
    /// Rank 2 comes no later than this, for rank 3 may stay until it does.
    const LATE: Duration = Duration::from_secs(3);
    let meetings: Vec<_> = (0..COMMUNICATORS).map(|_| Meeting::new(&[0, 1, 2, 3])).collect();
    let mut config = config(&devices, None);
    config.protocol.set("algorithm", "two-stage").unwrap();
    config.device.depths.reliable_receive = 32;
    config.device.depths.reliable_send = 32;
    let (is_away, has_come) = (AtomicBool::new(false), AtomicBool::new(false));
    let until = |flag: &AtomicBool, most: Duration| {
        let began = Instant::now();
        while !flag.load(Ordering::SeqCst) && began.elapsed() < most {
            std::thread::sleep(Duration::from_millis(1));
        }
        flag.load(Ordering::SeqCst)
    };
    let heard = ranks::run(4, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut broadcasters: Vec<_> = meetings
            .iter()
            .map(|meeting| {
                let mut bootstrap = meeting.bootstrap(me).unwrap();
                Broadcaster::new_on(&endpoint, &mut bootstrap, &config).unwrap()
            })
            .collect();
        world.all_gather(&[]).unwrap();
        if me == Rank(2) {
            until(&is_away, LATE);
        }
        for broadcaster in &mut broadcasters {
            broadcast(broadcaster, 0, 0);
        }
        let has_heard = match me {
            Rank(3) => {
                is_away.store(true, Ordering::SeqCst);
                until(&has_come, PATIENCE)
            }
            me => {
                has_come.fetch_or(me == Rank(2), Ordering::SeqCst);
                true
            }
        };
        for broadcaster in &mut broadcasters {
            broadcast(broadcaster, 0, 1);
        }
        world.all_gather(&[]).unwrap();
        broadcasters.into_iter().for_each(|one| one.close().unwrap());
        has_heard
    });
    assert!(heard.into_iter().all(|heard| heard), "rank 2 waited for rank 3, which waited for it");
}

#[test]
fn a_communicator_is_closed_while_others_go_on() {
    let Some(devices) = needs::devices() else { return };
    const RANKS: u32 = SOME.0;
    let meetings = meetings(RANKS, 6);
    let config = config(&devices, None);
    let rid = AtomicU32::new(0);
    ranks::run(RANKS, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        assert_eq!(endpoint.usage(), Usage::default());
        let mut broadcasters: Vec<_> = meetings
            .iter()
            .map(|meetings| {
                let mut bootstrap = bootstrap(meetings, me);
                Some(Broadcaster::new_on(&endpoint, &mut bootstrap, &config).unwrap())
            })
            .collect();
        let mut step = 0;
        // One after the other, but for the last two.
        for closed in [3, 0, 1, 4] {
            for (round, broadcaster) in broadcasters.iter_mut().enumerate() {
                if let Some(broadcaster) = broadcaster {
                    broadcast(broadcaster, round, step);
                }
            }
            step += 1;
            // Some leave at once, others later.
            if me.0.is_multiple_of(2) {
                broadcasters[closed].take().unwrap().close().unwrap();
            }
            for (round, broadcaster) in broadcasters.iter_mut().enumerate() {
                if let Some(broadcaster) = broadcaster
                    && round != closed
                {
                    broadcast(broadcaster, round, step);
                }
            }
            if let Some(broadcaster) = broadcasters[closed].take() {
                broadcaster.close().unwrap();
            }
            step += 1;
        }
        world.all_gather(&[]).unwrap();
        let open = broadcasters.iter_mut().enumerate();
        for (round, broadcaster) in
            open.filter_map(|(round, broadcaster)| Some((round, broadcaster.as_mut()?)))
        {
            broadcast(broadcaster, round, step);
        }
        // What others could still reach is given back when all have closed it.
        let began = Instant::now();
        let mut is_rid = false;
        while rid.load(Ordering::SeqCst) < RANKS {
            broadcasters.iter_mut().flatten().for_each(|one| one.progress().unwrap());
            let usage = endpoint.usage();
            assert_eq!(usage.communicators, 2);
            if usage.left == 0 && !std::mem::replace(&mut is_rid, true) {
                rid.fetch_add(1, Ordering::SeqCst);
            }
            assert!(began.elapsed() < PATIENCE, "{me}: {usage:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        broadcasters.into_iter().flatten().for_each(|one| one.close().unwrap());
    });
}

#[test]
fn a_group_is_shared_with_communicators_of_other_ranks() {
    let Some(devices) = needs::devices() else { return };
    let all = Meeting::new(&[0, 1, 2, 3, 4, 5]);
    let halves = [Meeting::new(&[0, 1, 2]), Meeting::new(&[5, 4, 3])];
    let mut config = config(&devices, None);
    config.device.groups = 1;
    let foreign = ranks::run(6, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut all = all.bootstrap(me).unwrap();
        let mut all = Broadcaster::new_on(&endpoint, &mut all, &config).unwrap();
        let mut half = bootstrap(&halves, me);
        let mut half = Broadcaster::new_on(&endpoint, &mut half, &config).unwrap();
        assert_eq!(endpoint.usage().groups, 1);
        assert_eq!(all.description().group, half.description().group);
        for step in 0..10 {
            broadcast(&mut half, 1, step);
            broadcast(&mut all, 0, step);
        }
        let foreign = half.statistics().foreign;
        all.close().unwrap();
        // The group stays with the last communicator that is in it.
        broadcast(&mut half, 1, 10);
        assert_eq!(endpoint.usage().groups, 1);
        half.close().unwrap();
        assert_eq!(endpoint.usage().groups, 0);
        foreign
    });
    assert!(foreign.iter().all(|packets| *packets > 0), "{foreign:?}");
}

#[test]
fn two_threads_of_each_rank_broadcast_at_once() {
    let Some(devices) = needs::devices() else { return };
    const SIZE: u32 = 4;
    let order: Vec<_> = (0..SIZE).collect();
    let meetings: Vec<_> = (0..2).map(|_| Meeting::new(&order)).collect();
    let config = config(&devices, None);
    ranks::run(SIZE, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        std::thread::scope(|scope| {
            for (round, meeting) in meetings.iter().enumerate() {
                let (endpoint, config) = (&endpoint, &config);
                scope.spawn(move || {
                    let mut bootstrap = meeting.bootstrap(me).unwrap();
                    let made = Broadcaster::new_on(endpoint, &mut bootstrap, config);
                    let mut broadcaster = made.unwrap();
                    for step in 0..40 {
                        broadcast(&mut broadcaster, round, step);
                    }
                    broadcaster.close().unwrap();
                });
            }
        });
        let usage = endpoint.usage();
        assert!(usage.queue_pairs <= 1 + 2 * (SIZE as usize - 1), "{usage:?}");
    });
}

#[test]
fn threads_of_the_root_broadcast_the_same_message_at_once() {
    let Some(devices) = needs::devices() else { return };
    const SIZE: u32 = 3;
    let order: Vec<_> = (0..SIZE).collect();
    let meetings: Vec<_> = (0..2).map(|_| Meeting::new(&order)).collect();
    let config = config(&devices, None);
    ranks::run(SIZE, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        // In memory that nobody may write to, short and long.
        let messages = LENS.map(|len| ranks::message(len, len));
        std::thread::scope(|scope| {
            for meeting in &meetings {
                let (endpoint, config, messages) = (&endpoint, &config, &messages);
                scope.spawn(move || {
                    let mut bootstrap = meeting.bootstrap(me).unwrap();
                    let made = Broadcaster::new_on(endpoint, &mut bootstrap, config);
                    let mut broadcaster = made.unwrap();
                    for sent in messages {
                        if me == Rank(1) {
                            broadcaster.broadcast_from(sent).unwrap();
                            continue;
                        }
                        let mut buffer = vec![0xee; sent.len()];
                        broadcaster.broadcast_into(Rank(1), &mut buffer).unwrap();
                        assert!(buffer == *sent, "{me}, {} bytes", sent.len());
                    }
                    broadcaster.close().unwrap();
                });
            }
        });
    });
}

#[test]
fn a_rank_that_panics_is_named_in_all_its_communicators_and_no_other() {
    let Some(devices) = needs::devices() else { return };
    let memberships: [&[u32]; 3] = [&[0, 1, 2, 3], &[3, 2, 1, 0], &[2, 0, 1]];
    let meetings = memberships.map(Meeting::new);
    let config = config(&devices, None);
    ranks::run(4, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut broadcasters: Vec<_> = meetings
            .iter()
            .filter_map(|meeting| meeting.bootstrap(me))
            .map(|mut bootstrap| Broadcaster::new_on(&endpoint, &mut bootstrap, &config).unwrap())
            .collect();
        for (round, broadcaster) in broadcasters.iter_mut().enumerate() {
            broadcast(broadcaster, round, 0);
        }
        world.all_gather(&[]).unwrap();
        if me == Rank(3) {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                let _broadcasters = broadcasters;
                panic!("on purpose");
            }));
            assert!(panicked.is_err());
            return;
        }
        for (broadcaster, named) in broadcasters.iter_mut().zip(["rank 3", "rank 0"]) {
            let error = loop {
                if let Err(error) = broadcaster.broadcast_into(Rank(1), &mut [0_u8; 50_000]) {
                    break error.to_string();
                }
            };
            assert!(error.starts_with(named), "{me}: {error}");
        }
        let last = broadcasters.last_mut().unwrap();
        for step in 1..10 {
            broadcast(last, 2, step);
        }
        broadcasters.pop().unwrap().close().unwrap();
    });
}

/// The next arrival that is not a packet.
fn next(transport: &mut RdmaTransport, clock: &Clock) -> Arrival {
    let begun = clock.now();
    loop {
        let now = clock.now();
        match transport.poll(now).unwrap() {
            Some(Arrival::Packet { buffer, .. }) => transport.recycle(buffer).unwrap(),
            Some(arrival) => return arrival,
            None => transport.park(now - begun, PATIENCE).unwrap(),
        }
        assert!(now - begun < PATIENCE);
    }
}

#[test]
fn an_adapter_that_is_gone_is_reported_in_every_communicator() {
    let Some(devices) = needs::devices() else { return };
    let meetings = [Meeting::new(&[0, 1]), Meeting::new(&[1, 0])];
    ranks::run(2, |world| {
        let me = world.rank();
        let mut settings = ranks::flat().device;
        settings.devices = devices.clone();
        settings.ack_timeout = Duration::from_millis(500);
        let endpoint = Endpoint::new(&settings);
        let [mut first, mut second] = [0, 1].map(|at: usize| {
            let mut bootstrap = meetings[at].bootstrap(me).unwrap();
            let other = [Rank(1 - bootstrap.rank().0)];
            rdma::establish_on(&mut bootstrap, &endpoint, &settings, &other).unwrap().0
        });
        if me == Rank(1) {
            drop((first, second, endpoint));
            world.all_gather(&[]).unwrap();
            return;
        }
        world.all_gather(&[]).unwrap();
        let clock = Clock::of_process();
        first.probe(Rank(1)).unwrap();
        for (transport, gone) in [(&mut first, Rank(1)), (&mut second, Rank(0))] {
            match next(transport, &clock) {
                Arrival::Broken { peer, reason } => {
                    println!("{peer}: {reason}");
                    assert_eq!(peer, gone);
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn ranks_with_the_same_endpoint_are_refused() {
    let Some(devices) = needs::devices() else { return };
    let config = config(&devices, None);
    let endpoint = Endpoint::new(&config.device);
    let errors = ranks::run(2, |bootstrap| {
        Broadcaster::new_on(&endpoint, bootstrap, &config).unwrap_err().to_string()
    });
    for error in errors {
        assert!(error.contains("rank 1") && error.contains("same endpoint"), "{error}");
    }
}

#[test]
fn datagrams_on_their_way_outlive_their_communicator() {
    let Some(devices) = needs::devices() else { return };
    let config = config(&devices, None);
    let meetings: Vec<_> = (0..8).map(|_| Meeting::new(&[0, 1])).collect();
    ranks::run(2, |world| {
        let me = world.rank();
        let endpoint = Endpoint::new(&config.device);
        let mut lasting = Broadcaster::new_on(&endpoint, world, &config).unwrap();
        for (round, meeting) in meetings.iter().enumerate() {
            let mut bootstrap = meeting.bootstrap(me).unwrap();
            let made = rdma::establish_on(&mut bootstrap, &endpoint, &config.device, &[]);
            let mut brief = made.unwrap().0;
            // The group's address handle is given up while the device has yet to look it up.
            while brief.multicast_room() > 0 {
                brief.multicast(&[0; HEADER_LEN], Payload::Bytes(&[0; 1000])).unwrap();
            }
            drop(brief);
            broadcast(&mut lasting, 0, round);
        }
        lasting.close().unwrap();
    });
}
