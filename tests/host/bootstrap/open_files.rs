//! Rank 0 has a connection with every other rank, and a process may have so many files open.

use super::{Job, job, run, tcp};
use std::env;
use std::process::Command;
use std::thread;
use verbcast::bootstrap::Bootstrap;

/// What rank 0 is told that runs in a process of its own: where it listens.
const PLACE: &str = "VERBCAST_TEST_PLACE";
/// Ranks that are more than the files that this process may have open at first.
const MANY: u32 = 40;

/// The process of [`among_many`].
#[test]
#[ignore = "a part of other tests"]
fn rank_0_of_many() {
    let place = env::var(PLACE).unwrap().parse().unwrap();
    let outcome = job(0, MANY, &place, 30).join().and_then(|mut star| star.barrier());
    println!("rank 0 says {outcome:?}");
}

/// What rank 0 says that has this limit of open files, the soft and the hard one, and what each other rank does.
fn among_many(limit: &str, timeout: u64) -> (String, Vec<Result<(), String>>) {
    let address = tcp();
    let mut hub = Command::new("prlimit");
    hub.arg(format!("--nofile={limit}")).arg(env::current_exe().unwrap());
    hub.args(["--exact", "bootstrap::open_files::rank_0_of_many", "--ignored", "--nocapture"]);
    hub.env(PLACE, address.to_string());
    thread::scope(|scope| {
        let hub = scope.spawn(move || String::from_utf8(hub.output().unwrap().stdout).unwrap());
        let jobs: Vec<Job> = (1..MANY).map(|rank| job(rank, MANY, &address, timeout)).collect();
        let outcomes = run(&jobs, |job| job.join()?.barrier());
        (hub.join().unwrap(), outcomes)
    })
}

#[test]
fn rank_0_opens_as_many_connections_as_it_may() {
    let (said, outcomes) = among_many("16:4096", 30);
    assert!(said.contains("rank 0 says Ok(())"), "{said}");
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

#[test]
fn rank_0_that_may_not_open_enough_connections_says_so_at_once() {
    let (said, outcomes) = among_many("16:32", 5);
    assert!(said.contains("open files") && said.contains("may have 32 (`ulimit -Hn`)"), "{said}");
    let is_told = |outcome: &Result<(), String>| {
        outcome.as_ref().is_err_and(|what| what.starts_with("rank 0 "))
    };
    assert!(outcomes.iter().all(is_told), "{outcomes:?}");
    let is_why = |outcome: &Result<(), String>| {
        outcome.as_ref().is_err_and(|what| what.contains("open files"))
    };
    assert!(outcomes.iter().any(is_why), "nobody was told: {outcomes:?}");
}
