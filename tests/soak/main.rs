//! Broadcasts for as long as is wanted: rounds drawn from a seed, of random sizes, roots, communicators, algorithms and
//! faults, in one process whose ranks are threads; and now and then of processes, one of which is stopped for a while or
//! killed. Every byte is compared. Memory, descriptors and what was made of the device stay as they were.
//!
//! `soak --seconds S --seed N [--first R] [--rounds K]`, which `ci/soak` runs on SoftRoCE; a failure prints the line that
//! repeats its round. Needs RDMA devices, named in `VERBCAST_TEST_DEVICES`.

#[path = "../refusals/calls.rs"]
mod calls;
mod draw;
mod flat;
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
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A round that takes longer is told.
const LONG: Duration = Duration::from_secs(20);

type Outcome = Result<(), Box<dyn Error>>;

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
    let mut totals = [0_u64; 4];
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
        totals[0] += 1;
        totals[1] += u64::from(round.trouble.is_some());
        totals[2] += round.steps.len() as u64;
        totals[3] += round.bytes();
        number += 1;
        if totals[0] % 20 == 0 {
            println!("{totals:?} after {:.0?}; {}", begun.elapsed(), flat.in_words());
        }
    }
    flat.judge()?;
    let [rounds, troubled, broadcasts, bytes] = totals;
    println!(
        "{rounds} rounds, {troubled} of them with a rank that was stopped or killed, {broadcasts} broadcasts of {bytes} bytes \
         in all; {}",
        flat.in_words()
    );
    Ok(())
}

fn main() -> ExitCode {
    let outcome = match processes::own_part() {
        Some(part) => part,
        None => {
            ledger::begin(None);
            Wanted::read().and_then(|wanted| soak(&wanted, &devices()?))
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
