//! What becomes of the ranks of other hosts when something happens to one: a host that is switched off, whose clock stops,
//! that is cut off for less or more than an adapter may be silent, or whose own cable is taken out, while ranks set up,
//! broadcast or leave, with the host in each place. Each goes on unharmed, or ends in time with an error that names a rank of
//! that host.

mod job;
mod part;
mod verdict;

use super::failures::to_host;
use super::{LIMIT, softroce};
use crate::needs;
use job::{Job, Place, wait_until};
use part::{OVER, Phase, STRUCK};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use verdict::{Ends, Row};

/// What `VERBCAST_TIMEOUT` and `VERBCAST_ACK_TIMEOUT` say in these jobs.
const TIMEOUT: Duration = Duration::from_secs(10);
const ACK_TIMEOUT: Duration = Duration::from_secs(4);
/// How long ranks may take until they are where they are struck, with the start of their hosts.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Until all ranks that are left must have ended, after what happened to the host is over.
const END_LIMIT: Duration = Duration::from_secs(90);
/// How often a host is struck in each phase.
const RUNS: u32 = 5;

/// What happens to a host.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Off,
    Paused(Duration),
    /// Behind the switch, so that its adapter does not see it.
    Cut(Duration),
    /// At the adapter.
    Unplugged(Duration),
}

const PAUSED: Fault = Fault::Paused(Duration::from_secs(20));
/// For less than an adapter may be silent.
const CUT_BRIEFLY: Fault = Fault::Cut(Duration::from_secs(2));
/// For longer than anything is waited for.
const CUT_FOR_LONG: Fault = Fault::Cut(Duration::from_secs(20));
const UNPLUGGED: Fault = Fault::Unplugged(Duration::from_secs(2));

impl Fault {
    fn name(self) -> String {
        match self {
            Fault::Off => "off".to_owned(),
            Fault::Paused(length) => format!("paused {} s", length.as_secs()),
            Fault::Cut(length) => format!("cut off {} s", length.as_secs()),
            Fault::Unplugged(length) => format!("unplugged {} s", length.as_secs()),
        }
    }

    /// What begins it, what ends it, and how long it is.
    fn verbs(self) -> (&'static str, Option<&'static str>, Duration) {
        match self {
            Fault::Off => ("stop", None, TIMEOUT),
            Fault::Paused(length) => ("pause", Some("resume"), length),
            Fault::Cut(length) => ("cut", Some("heal"), length),
            Fault::Unplugged(length) => ("unplug", Some("plug"), length),
        }
    }
}

/// A host to which it has happened; what can be undone of it is undone when this is dropped.
struct Struck {
    host: String,
    finish: Option<&'static str>,
}

impl Struck {
    fn begin(host: u32, begin: &str, finish: Option<&'static str>) -> Struck {
        let host = host.to_string();
        to_host(&host, begin);
        Struck { host, finish }
    }
}

impl Drop for Struck {
    fn drop(&mut self) {
        if let Some(verb) = self.finish {
            to_host(&self.host, verb);
        }
    }
}

/// Strikes the last of so many hosts once, while one job for each place is in a phase.
fn strike(phase: Phase, fault: Fault, hosts: u32, run: u32) -> Vec<Row> {
    let name = format!("survivors-{}-{}", phase.name(), fault.name().replace(' ', "-"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let jobs = Place::ALL.map(|place| Job::new(place, hosts, &folder));
    // With one that is late the others certainly are in the phase; without, they are anywhere in it.
    let one_is_late = run.is_multiple_of(2) && phase != Phase::Broadcast;
    let said = folder.join("said");
    let mut child = job::start(&jobs, hosts, (phase, one_is_late), &said);
    let are_there = wait_until(START_LIMIT, || jobs.iter().all(Job::are_there));
    if !are_there {
        end(&mut child);
        let said = fs::read_to_string(said).unwrap();
        panic!("the ranks are not there after {START_LIMIT:?}: see {}\n{said}", folder.display());
    }
    thread::sleep(moment(phase, run));
    let ends = happen(&jobs, fault, hosts);
    end(&mut child);
    let rows = jobs.iter().zip(ends).map(|(job, ends)| Row::new(job, ends, phase, run));
    let rows: Vec<Row> = rows.collect();
    for row in &rows {
        println!("| {} | {} | {row}", phase.name(), fault.name());
    }
    if rows.iter().all(Row::is_good) {
        let _ = fs::remove_dir_all(&folder);
    }
    rows
}

/// Lets it happen, and watches how the ranks end.
fn happen(jobs: &[Job], fault: Fault, hosts: u32) -> Vec<Ends<'_>> {
    let (begin, finish, length) = fault.verbs();
    let mut ends: Vec<Ends> = jobs.iter().map(Ends::of).collect();
    let struck = Struck::begin(hosts, begin, finish);
    let began = Instant::now();
    jobs.iter().for_each(|job| job.tell(STRUCK));
    let mut have_ended = || {
        ends.iter_mut().for_each(|ends| ends.look(began));
        ends.iter().all(Ends::are_all)
    };
    // It lasts as long as it does, whoever has ended.
    wait_until(length, || {
        have_ended();
        false
    });
    drop(struck);
    // Broadcasts that nothing happened to go on for a while.
    let has_ended = wait_until(Duration::from_secs(3), &mut have_ended);
    jobs.iter().for_each(|job| job.tell(OVER));
    let _ = has_ended || wait_until(END_LIMIT, &mut have_ended);
    if finish.is_some() {
        let all = || jobs.iter().all(|job| job.all_ranks().all(|rank| job.end_of(rank).is_some()));
        assert!(wait_until(END_LIMIT, all), "ranks of host {hosts} go on for ever");
    }
    ends
}

/// When in the phase: runs differ.
fn moment(phase: Phase, run: u32) -> Duration {
    let longest = match phase {
        Phase::SetUp => 5000,
        Phase::Broadcast => 2000,
        Phase::Close => 300,
    };
    Duration::from_millis(u64::from(longest * run / RUNS))
}

/// Ends what runs the ranks, which ends them.
fn end(child: &mut Child) {
    let is_over = wait_until(Duration::from_secs(10), || child.try_wait().unwrap().is_some());
    if !is_over {
        kill_process(Pid::from_child(child), Signal::TERM).unwrap();
    }
    child.wait().unwrap();
}

/// Strikes the host again and again.
fn all_runs(phase: Phase, fault: Fault) {
    if env::var_os("VERBCAST_CLUSTER").is_none() {
        return needs::skip("VERBCAST_CLUSTER is not set");
    }
    let rows: Vec<Row> = (0..RUNS).flat_map(|run| strike(phase, fault, 3, run)).collect();
    verdict::assert_good(&rows);
    if matches!(fault, Fault::Cut(length) if length < ACK_TIMEOUT) {
        verdict::assert_unharmed(&rows);
    }
}

macro_rules! in_each_phase {
    ($($name:ident: $fault:expr),*) => {$(
        mod $name {
            use super::*;

            #[test]
            #[ignore = "minutes: a host is struck five times"]
            fn in_set_up() {
                all_runs(Phase::SetUp, $fault);
            }

            #[test]
            #[ignore = "minutes: a host is struck five times"]
            fn in_broadcasts() {
                all_runs(Phase::Broadcast, $fault);
            }

            #[test]
            #[ignore = "minutes: a host is struck five times"]
            fn in_close() {
                all_runs(Phase::Close, $fault);
            }
        }
    )*};
}

in_each_phase! {
    who_is_left_when_a_host_is_switched_off: Fault::Off,
    who_is_left_when_a_host_is_paused: PAUSED,
    who_is_left_when_a_host_is_cut_off_briefly: CUT_BRIEFLY,
    who_is_left_when_a_host_is_cut_off_for_long: CUT_FOR_LONG,
    who_is_left_when_a_host_is_unplugged: UNPLUGGED
}

#[test]
fn a_host_that_is_paused_is_named_in_every_place() {
    if env::var_os("VERBCAST_CLUSTER").is_none() {
        return needs::skip("VERBCAST_CLUSTER is not set");
    }
    verdict::assert_good(&strike(Phase::Broadcast, PAUSED, 2, 1));
}
