//! Rounds of a job whose ranks are processes on several hosts, each one process for all rounds: hosts are paused and cut off
//! meanwhile, for less than anything is waited for.

use crate::draw::Round;
use crate::flat::Flat;
use crate::watch::Watch;
use crate::{Outcome, Totals, Wanted, ledger, threads};
use std::error::Error;
use std::time::{Duration, Instant};
use verbcast::bootstrap::Bootstrap;
use verbcast::{Broadcaster, Environment, Rank, Star};

/// How long a host may be away, with what is lost and sent again after that.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(wanted: &Wanted, environment: &Environment, devices: &[String]) -> Outcome {
    let begun = Instant::now();
    let (mut flat, mut totals) = (Flat::default(), Totals::default());
    let device = &devices[0];
    for number in wanted.first.. {
        let round = Round::of_job(wanted.seed, number, environment.size);
        let watch = Watch::over(&round);
        let goes_on = number - wanted.first < wanted.rounds && begun.elapsed() < wanted.length;
        let outcome = take_part(&round, environment, device, goes_on);
        drop(watch);
        let was_played = outcome.inspect_err(|error| round.complain(&error.to_string()))?;
        if !was_played {
            break;
        }
        flat.look().inspect_err(|error| round.complain(&error.to_string()))?;
        totals.add(&round);
    }
    flat.judge()?;
    println!("{}: {totals}; {}", environment.rank, flat.in_words());
    Ok(())
}

/// A rank's part of a round, if rank 0 has it that they go on.
fn take_part(
    round: &Round,
    environment: &Environment,
    device: &str,
    goes_on: bool,
) -> Result<bool, Box<dyn Error>> {
    let mut config = round.config(device);
    config.device.timeout = PATIENCE;
    config.device.ack_timeout = PATIENCE / 6;
    let token = format!("{} {}", environment.token, round.number);
    let environment = Environment { token, ..environment.clone() };
    // Others may be in the round before still.
    let mut bootstrap = Star::join(&environment, 3 * PATIENCE)?;
    let all = bootstrap.all_gather(&[u8::from(goes_on)])?;
    if all[Rank(0).index()] == [0] {
        return Ok(false);
    }
    let mut mine = [Some(Broadcaster::new(&mut bootstrap, &config)?)];
    threads::steps(round, &mut mine)?;
    for broadcaster in mine.into_iter().flatten() {
        broadcaster.close()?;
    }
    let live = ledger::live();
    if live.is_empty() { Ok(true) } else { Err(format!("left behind: {live:?}").into()) }
}
