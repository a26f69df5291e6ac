use super::*;
use crate::faults::CERTAIN;
use crate::plan::{Plan, Step};
use crate::programs::Communicator;

/// Three processes. The last one is in both communicators, and the others broadcast in one each.
fn programs(acts: &[Act]) -> Programs {
    let step = |len| Step { root: Rank(0), len };
    let all = [0, 1].map(|root| Communicator {
        members: vec![Rank(root), Rank(2)],
        first_op: OpId(root),
        passed: 0,
    });
    Programs {
        plan: Plan::new(3, vec![step(8), step(36_000)]),
        communicators: all.to_vec(),
        acts: acts.to_vec(),
        batch: 16,
        waits_for_all: false,
    }
}

fn start(communicator: usize) -> Act {
    Act::Start { communicator, step: communicator }
}

fn options(repair: &str) -> Options {
    let mut options = of("window");
    options.set("repair", repair).unwrap();
    options
}

fn of(algorithm: &str) -> Options {
    let mut options = Options::default();
    options.set("algorithm", algorithm).unwrap();
    options
}

#[test]
fn who_polls_takes_what_comes_for_others() {
    let late = Act::Compute { process: Rank(2), nanos: 1_000_000 };
    let mut programs = programs(&[late, start(0), start(1), Act::Wait]);
    let ran = run(&programs, &options("pull")).unwrap();
    assert_eq!((ran.total.operations, ran.total.lost, ran.overflowed), (4, 0, 0));
    // Who polls keeps at most five datagrams, half of the receives, for another communicator.
    programs.plan.depths.receive = 10;
    let mut options = options("pull");
    options.set("credits", "off").unwrap();
    let ran = run(&programs, &options).unwrap();
    assert!(ran.overflowed > 0 && ran.total.repaired > 0, "{ran:?}");
}

#[test]
fn a_deadlock_is_noticed() {
    let (from, to) = (Rank(2), Rank(0));
    let mut programs = programs(&[start(0), Act::Wait, Act::Word { from, to }]);
    run(&programs, &options("push")).unwrap();
    programs.plan.faults.loss = CERTAIN;
    run(&programs, &options("pull")).unwrap();
    // The root waits for who misses what only the root may send again.
    let violation = run(&programs, &options("push")).unwrap_err().to_string();
    assert!(violation.contains("rank 0 is in act 2 (Word"), "{violation}");
    assert!(violation.contains("rank 2 is in act 1 (Wait)"), "{violation}");
}

#[test]
fn who_waits_for_a_word_gets_each_once() {
    let word = |from, to| Act::Word { from: Rank(from), to: Rank(to) };
    let compute = Act::Compute { process: Rank(0), nanos: 1_000_000 };
    let ran = run(&programs(&[word(1, 2), compute, word(0, 1), word(1, 2)]), &options("pull"));
    assert!(ran.unwrap().ended > 1_000_000);
}

/// The ranks of two communicators wait for a short broadcast of one, then for one of the other, then for a long one
/// of the first.
#[test]
fn who_waits_for_a_broadcast_needs_nothing_of_later_ones() {
    let start = |communicator, step| Act::Start { communicator, step };
    let steps = [(0, 8), (2, 8), (0, 800_000)].map(|(root, len)| Step { root: Rank(root), len });
    let all = Communicator { members: [0, 1, 2].map(Rank).to_vec(), first_op: OpId(0), passed: 0 };
    let mut plan = Plan::new(3, steps.to_vec());
    plan.depths.reliable_send = 2;
    let programs = Programs {
        plan,
        communicators: vec![all.clone(), all],
        acts: vec![start(0, 0), start(1, 1), start(0, 2), Act::Wait],
        batch: 16,
        waits_for_all: false,
    };
    let mut options = of("two-stage");
    options.set("run-ahead", "1").unwrap();
    run(&programs, &options).unwrap();
}
