//! Simulations against the papers' models and claims.

use verbcast_core::model::{Parameters, mean_penalty_rounds};
use verbcast_core::protocol::choice::Algorithm;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_sim::{CERTAIN, Computing, Costs, Faults, Outcome, Plan, Step, simulate};

const MILLISECOND: u64 = 1_000_000;

/// The paper's cluster and short messages.
fn plan(size: u32, steps: usize) -> Plan {
    let step = Step { root: Rank(0), len: 8 };
    Plan { costs: Costs::of(&Parameters::paper()), ..Plan::new(size, vec![step; steps]) }
}

fn run(plan: &Plan, settings: &[(&str, &str)]) -> Outcome {
    let mut options = Options::default();
    for (name, value) in settings {
        options.set(name, value).unwrap();
    }
    simulate(plan, &options).unwrap()
}

fn latency(size: u32, settings: &[(&str, &str)]) -> u64 {
    run(&plan(size, 1), settings).latency(0, Rank(0))
}

/// Nanoseconds that each of many back-to-back broadcasts takes the root.
fn period(size: u32, settings: &[(&str, &str)]) -> u64 {
    let steps = 60;
    let outcome = run(&plan(size, steps), settings);
    let ended = |step: usize| outcome.calls[step][0].ended;
    (ended(steps - 1) - ended(steps / 2 - 1)) / (steps / 2) as u64
}

#[track_caller]
fn close(simulated: f64, expected: f64, tolerance: f64) {
    let off = simulated / expected - 1.0;
    assert!(off.abs() <= tolerance, "{simulated} is off {expected} by {:.1} %", off * 100.0);
}

#[test]
fn latencies_agree_with_the_model() {
    let model = Parameters::paper();
    for size in [2, 8, 64, 1024] {
        let binomial = latency(size, &[("algorithm", "binomial")]);
        close(binomial as f64, model.binomial(size) as f64, 0.05);
        let window = latency(size, &[("algorithm", "window")]);
        close(window as f64, model.single_root() as f64, 0.05);
    }
}

#[test]
fn co_roots_add_no_more_than_their_own_sends() {
    // The model leaves out what a co-root spends on those below it (Liu 2004, section 6.2: "around 2 µs
    // overhead" with one).
    let model = Parameters::paper();
    for (size, groups) in [(8, 2), (64, 8), (1024, 128)] {
        let groups_text = groups.to_string();
        let with = latency(size, &[("algorithm", "window"), ("co-roots", &groups_text)]);
        let least = model.co_roots(size, groups);
        let sends = u64::from(groups.ilog2()) * model.t_um;
        assert!((least..=least + sends).contains(&with), "{size} ranks, {groups} groups: {with}");
    }
}

#[test]
fn at_1024_ranks_the_window_family_is_as_much_faster_as_the_paper_says() {
    let binomial = latency(1024, &[("algorithm", "binomial")]) as f64;
    let window = latency(1024, &[("algorithm", "window")]) as f64;
    assert!(binomial / window >= 3.86, "only {}", binomial / window);
}

#[test]
fn the_best_number_of_co_roots_is_the_papers_where_each_acknowledgement_is_processed() {
    // With one buffer no acknowledgement stands for several broadcasts.
    let one_buffer = |groups: u32| {
        let groups = groups.to_string();
        let settings = [
            ("algorithm", "window"),
            ("window", "1"),
            ("repair", "push"),
            ("repair-after", "100000"),
            ("credits", "off"),
            ("co-roots", &groups),
        ];
        period(1024, &settings)
    };
    let best = [1, 8, 32, 64, 128, 256, 512, 1024].into_iter().min_by_key(|n| one_buffer(*n));
    assert_eq!(best, Some(128));
    assert_eq!(Parameters::paper().optimal_co_roots(1024), 128);
}

#[test]
fn two_stage_takes_as_long_at_16384_ranks_as_at_16() {
    let [few, many] = [16, 16_384].map(|size| latency(size, &[("algorithm", "two-stage")]));
    assert!(many as f64 <= 1.2 * few as f64, "{many} against {few}");
}

#[test]
fn penalty_rounds_are_as_many_as_the_chain_of_losses_is_long() {
    let steps = 60;
    let base = latency(1000, &[("algorithm", "two-stage")]);
    let round = Parameters::paper().t_pp;
    for loss in [0.1, 0.3, 0.5] {
        let mut plan = plan(1000, steps);
        plan.interval = 2 * MILLISECOND;
        plan.faults.loss = (loss * f64::from(CERTAIN)) as u32;
        let outcome = run(&plan, &[("algorithm", "two-stage")]);
        let rounds = outcome.calls.iter().map(|calls| {
            let waited = calls[1..].iter().map(|call| call.ended - calls[0].began);
            waited.map(|time| (time as f64 - base as f64) / round as f64).sum::<f64>()
        });
        let mean = rounds.sum::<f64>() / (steps * 999) as f64;
        close(mean, mean_penalty_rounds(loss, 1000), 0.05);
        close(mean_penalty_rounds(loss, 1000), loss / (1.0 - loss), 0.05);
    }
}

/// The longest latency of ten lossy broadcasts after each of which the root computes for 10 ms.
fn with_computing_root(settings: &[(&str, &str)]) -> u64 {
    let steps = 10;
    let mut plan = plan(64, steps);
    plan.interval = 20 * MILLISECOND;
    plan.faults = Faults { loss: CERTAIN / 10, ..Faults::default() };
    plan.leaves = true;
    let computing = |after| Computing { rank: Rank(0), after, nanos: 10 * MILLISECOND };
    plan.computing = (0..steps).map(computing).collect();
    let outcome = run(&plan, settings);
    assert!(outcome.total().repaired > 0, "nothing was lost");
    (0..steps).map(|step| outcome.latency(step, Rank(0))).max().unwrap()
}

#[test]
fn a_root_that_computes_delays_nobody() {
    for settings in [
        &[("algorithm", "window"), ("repair", "pull"), ("repair-after", "100")],
        &[("algorithm", "two-stage-on-demand"), ("repair", "pull"), ("repair-after", "100")],
        &[("algorithm", "two-stage"), ("repair", "pull"), ("repair-after", "100")],
    ] {
        let longest = with_computing_root(settings);
        assert!(longest < MILLISECOND, "{settings:?}: {longest} ns");
    }
}

#[test]
fn a_root_that_must_push_delays_those_who_lost_something() {
    // The other half of the claim: where only the root can repair, its absence shows.
    let mut plan = plan(64, 2);
    plan.interval = 20 * MILLISECOND;
    plan.faults = Faults { loss: CERTAIN / 10, ..Faults::default() };
    plan.computing = vec![Computing { rank: Rank(0), after: 0, nanos: 10 * MILLISECOND }];
    let outcome = run(&plan, &[("algorithm", "window"), ("repair", "push")]);
    assert!(outcome.latency(0, Rank(0)) > 10 * MILLISECOND);
}

#[test]
fn a_message_comes_whole_through_bursts_and_overflow() {
    for algorithm in ["two-stage", "two-stage-on-demand", "window", "co-root", "basic"] {
        let mut plan = Plan::new(16, vec![Step { root: Rank(3), len: 300_000 }; 2]);
        plan.faults = Faults { burst_begins: 20_000, burst_ends: 200_000, ..Faults::default() };
        plan.depths.receive = 8;
        let outcome = run(&plan, &[("algorithm", algorithm), ("credits", "off")]);
        assert!(outcome.total().repaired > 0, "{algorithm}");
    }
}

#[test]
fn credits_keep_receive_queues_from_overflowing() {
    let overflowed = |credits: &str| {
        let mut plan = Plan::new(16, vec![Step { root: Rank(3), len: 300_000 }; 2]);
        plan.depths.receive = 8;
        plan.slow = vec![(Rank(5), 20)];
        run(&plan, &[("algorithm", "window"), ("credits", credits)]).overflowed
    };
    assert!(overflowed("off") > 0);
    assert_eq!(overflowed("on"), 0);
}

/// However deep the queues are in which fragments wait, and however slow a receiver is, nothing is sent twice.
#[test]
fn what_waits_in_queues_is_not_repaired() {
    for ring in [32, 128, 512] {
        for slow in [1, 10] {
            let mut plan = Plan::new(8, vec![Step { root: Rank(0), len: 4000 }; 1500]);
            plan.depths.ring = ring;
            (plan.depths.receive, plan.depths.send) = (2 * ring, ring);
            plan.slow = vec![(Rank(5), slow)];
            let total = run(&plan, &[("algorithm", "window"), ("in-flight", "2000")]).total();
            let what = format!("ring of {ring}, {slow} times as slow: {total:?}");
            assert_eq!((total.reliable_sent, total.fetched, total.lost), (0, 0, 0), "{what}");
        }
    }
}

#[test]
fn lazy_acknowledgements_are_fewer() {
    let reports = |acknowledge: &str| {
        let plan = Plan { interval: 50_000, ..plan(8, 60) };
        let settings = [("algorithm", "window"), ("acknowledge", acknowledge), ("credits", "off")];
        run(&plan, &settings).total().reports_written
    };
    let (each, every, skewed) = (reports("each"), reports("every:10"), reports("skewed:10"));
    assert_eq!(each, 7 * 60);
    assert!(each > 5 * every && each > 5 * skewed, "{every}, {skewed}");
}

/// Fragments that all ranks but the root lost while each came late to every broadcast, or none did.
fn lost_by_latecomers(late: bool, sync: &str) -> u64 {
    let steps = 60;
    let mut plan = plan(8, steps);
    plan.steps = vec![Step { root: Rank(0), len: 200_000 }; steps];
    plan.interval = 20 * MILLISECOND;
    plan.depths.receive = 64;
    if late {
        plan.late = (1..8).map(|rank| (Rank(rank), 3 * MILLISECOND)).collect();
    }
    let settings = [("algorithm", "two-stage"), ("run-ahead", "64"), ("sync", sync)];
    run(&plan, &settings).total().lost
}

#[test]
fn an_adaptive_root_waits_where_waiting_helps() {
    let (never, adaptive) =
        (lost_by_latecomers(true, "none"), lost_by_latecomers(true, "adaptive"));
    println!("lost by latecomers: {never} without a delay, {adaptive} with an adaptive one");
    assert!(never > 0 && adaptive * 2 < never, "{adaptive} of {never}");
    assert_eq!(lost_by_latecomers(false, "adaptive"), 0);
}

/// A chain in which credits take many hops to the root.
#[test]
fn a_long_chain_that_loses_nothing_waits_for_no_timer() {
    for acknowledge in ["needed", "each", "every:10"] {
        let settings = [("algorithm", "two-stage-on-demand"), ("acknowledge", acknowledge)];
        let outcome = run(&plan(96, 400), &settings);
        let ended = outcome.calls.iter().flatten().map(|call| call.ended).max();
        assert!(ended < Some(12 * MILLISECOND), "{acknowledge}: {ended:?}");
        assert_eq!(outcome.total().fetches, 0, "{acknowledge}");
    }
}

/// A co-root that is late, to which the root neither sends nor is next on the ring, tells its credit when the root has left.
#[test]
fn a_co_root_may_tell_its_credit_when_the_root_has_left() {
    for by in ["write", "message"] {
        let mut plan = Plan::new(8, Vec::new());
        let len = 16 * plan.fragment_len();
        plan.steps = [0, 1].map(|root| Step { root: Rank(root), len }).to_vec();
        plan.departs = true;
        plan.late = vec![(Rank(3), 10 * MILLISECOND)];
        plan.computing = vec![Computing { rank: Rank(3), after: 0, nanos: 10 * MILLISECOND }];
        let settings = [
            ("algorithm", "window"),
            ("co-roots", "8"),
            ("window", "32"),
            ("credits", "on"),
            ("acknowledge", "each"),
            ("acknowledge-by", by),
        ];
        let outcome = run(&plan, &settings);
        assert_eq!(outcome.failures, vec![None; 8], "{by}");
    }
}

/// A rank that takes a broadcast to have another length is told so, and so is everybody.
#[test]
fn a_disagreement_is_named_at_all_ranks() {
    for algorithm in ["two-stage", "two-stage-on-demand", "window", "co-root", "binomial", "chain"]
    {
        let mut plan = Plan::new(4, vec![Step { root: Rank(0), len: 5000 }; 3]);
        (plan.mistaken, plan.interval) = (Some((Rank(2), 0, 1)), MILLISECOND);
        let outcome = run(&plan, &[("algorithm", algorithm)]);
        for failure in &outcome.failures {
            let (_, why) = failure.as_ref().expect("the third broadcast cannot end");
            assert!(why.contains("5000 bytes where this rank expects 1"), "{algorithm}: {why}");
        }
    }
}

/// Also where the two lengths take different protocols, whichever they are and whatever is lost.
#[test]
fn a_disagreement_across_protocols_is_named_at_all_ranks() {
    let names = Algorithm::NAMES.map(|(name, _)| name);
    let pairs = names.iter().flat_map(|short| names.iter().map(move |long| (short, long)));
    for (short, long) in pairs.filter(|(short, long)| short != long) {
        let table = format!("ranks any bytes <= 100 {short}\nranks any bytes any {long}\n");
        let mut options = Options::default();
        options.table = table.parse().unwrap();
        for (len, mistaken, loss) in
            [(5000, 50, 0), (50, 5000, 0), (5000, 50, 500_000), (50, 5000, 500_000)]
        {
            let what = format!("{short}, {long}: {mistaken} for {len} bytes, loss {loss}");
            let mut plan = Plan::new(4, vec![Step { root: Rank(0), len }; 3]);
            (plan.mistaken, plan.interval) = (Some((Rank(2), 1, mistaken)), MILLISECOND);
            plan.faults.loss = loss;
            let outcome =
                simulate(&plan, &options).unwrap_or_else(|violation| panic!("{what}: {violation}"));
            let (_, why) = outcome.failures[2].as_ref().unwrap_or_else(|| panic!("{what}"));
            assert!(why.contains("where this rank expects"), "{what}: {why}");
        }
    }
}

/// Where the wire buffers less than a ring holds, so that what exceeds it is dropped. How much that is shows soon.
#[test]
fn a_root_does_not_go_on_sending_bursts_that_are_dropped() {
    let lost = |messages: usize| {
        let mut plan = Plan::new(4, vec![Step { root: Rank(0), len: 256 << 10 }; messages]);
        plan.depths.ring = 256;
        (plan.depths.receive, plan.depths.send) = (512, 256);
        plan.faults = Faults { buffer: 40, passing: 20_000, ..Faults::default() };
        run(&plan, &[("algorithm", "window")]).total().lost
    };
    let (soon, later) = (lost(16), lost(16 * 20));
    assert!(soon > 0 && later < 3 * soon, "{soon} of 4 MiB, {later} of 80 MiB");
}
