//! Broadcasts for as long as is wanted: rounds drawn from a seed, of random sizes, roots, communicators, algorithms and
//! faults, in one process whose ranks are threads; and now and then of processes, one of which is stopped for a while or
//! killed. Every byte is compared. Memory, descriptors and what was made of the device stay as they were. As a rank of a job
//! (`VERBCAST_RANK`) it is one process of its rounds.
//!
//! `soak --seconds S --seed N [--first R] [--rounds K]`, which `ci/soak` runs on SoftRoCE; a failure prints the line that
//! repeats its round. Needs RDMA devices, named in `VERBCAST_TEST_DEVICES`.

#[path = "../refusals/calls.rs"]
mod calls;
mod draw;
mod flat;
mod job;
#[path = "../refusals/ledger.rs"]
#[allow(dead_code, reason = "nothing is refused here")]
mod ledger;
#[path = "../refusals/operations.rs"]
mod operations;
mod processes;
#[path = "../support/ranks.rs"]
mod ranks;
#[path = "../refusals/real.rs"]
mod real;
mod threads;
mod watch;

use draw::Round;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use verbcast::Environment;

/// A round that takes longer is told.
const LONG: Duration = Duration::from_secs(20);

type Outcome = Result<(), Box<dyn Error>>;

/// What was done so far.
#[derive(Default)]
struct Totals {
    rounds: u64,
    troubled: u64,
    broadcasts: u64,
    bytes: u64,
}

impl Totals {
    fn add(&mut self, round: &Round) {
        self.rounds += 1;
        self.troubled += u64::from(round.trouble.is_some());
        self.broadcasts += round.steps.len() as u64;
        self.bytes += round.bytes();
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Totals { rounds, troubled, broadcasts, bytes } = self;
        write!(
            f,
            "{rounds} rounds, {troubled} of them with a rank that was stopped or killed, {broadcasts} broadcasts of {bytes} \
             bytes in all"
        )
    }
}

/// What the command line says.
struct Wanted {
    length: Duration,
    seed: u64,
    first: u64,
    rounds: u64,
}

impl Wanted {
    fn read() -> Result<Wanted, Box<dyn Error>> {
        let mut wanted =
            Wanted { length: Duration::from_secs(60), seed: 1, first: 0, rounds: u64::MAX };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value: u64 = arguments.next().ok_or(format!("{name} takes a number"))?.parse()?;
            match name.as_str() {
                "--seconds" => wanted.length = Duration::from_secs(value),
                "--seed" => wanted.seed = value,
                "--first" => wanted.first = value,
                "--rounds" => wanted.rounds = value,
                _ => {
                    return Err(
                        format!("{name} is none of --seconds, --seed, --first, --rounds").into()
                    );
                }
            }
        }
        Ok(wanted)
    }
}

fn devices() -> Result<Vec<String>, Box<dyn Error>> {
    let names = std::env::var("VERBCAST_TEST_DEVICES")
        .map_err(|_| "no RDMA device: VERBCAST_TEST_DEVICES is not set")?;
    Ok(names.split(',').map(str::to_owned).collect())
}

fn soak(wanted: &Wanted, devices: &[String]) -> Outcome {
    let begun = Instant::now();
    let mut flat = flat::Flat::default();
    let mut totals = Totals::default();
    let mut number = wanted.first;
    while number - wanted.first < wanted.rounds && begun.elapsed() < wanted.length {
        let round = Round::draw(wanted.seed, number);
        let watch = watch::Watch::over(&round);
        let began = Instant::now();
        let outcome = match round.trouble {
            None => threads::run(&round, devices).and_then(|()| flat.look()),
            Some(trouble) => processes::run(&round, trouble),
        };
        drop(watch);
        if began.elapsed() > LONG {
            println!("round {number} took {:.0?}: {round:?}", began.elapsed());
        }
        if let Err(error) = outcome {
            round.complain(&error.to_string());
            return Err("a round failed".into());
        }
        totals.add(&round);
        number += 1;
        if totals.rounds % 20 == 0 {
            println!("{totals} after {:.0?}; {}", begun.elapsed(), flat.in_words());
        }
    }
    flat.judge()?;
    println!("{totals}; {}", flat.in_words());
    Ok(())
}

fn main() -> ExitCode {
    let outcome = match processes::own_part() {
        Some(part) => part,
        None => {
            ledger::begin(None);
            Wanted::read().and_then(|wanted| match Environment::from_env()? {
                Some(environment) => job::run(&wanted, &environment, &devices()?),
                None => soak(&wanted, &devices()?),
            })
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
