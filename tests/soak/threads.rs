//! A round in one process: each rank a thread with an endpoint of its own, which its communicators share.

use crate::draw::Round;
use crate::ranks::{self, Meeting};
use crate::{Outcome, ledger};
use std::thread;
use verbcast::Rank;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Endpoint};

/// Runs it; then nothing that it made is there any more.
pub fn run(round: &Round, devices: &[String]) -> Outcome {
    let meetings: Vec<_> =
        round.communicators.iter().map(|members| Meeting::new(members)).collect();
    let outcomes = ranks::run(round.size, |world| {
        let me = world.rank();
        let config = round.config(&devices[me.index() % devices.len()]);
        let endpoint = Endpoint::new(&config.device);
        let mut mine = Vec::new();
        for meeting in &meetings {
            let made = meeting
                .bootstrap(me)
                .map(|mut bootstrap| Broadcaster::new_on(&endpoint, &mut bootstrap, &config));
            mine.push(made.transpose().map_err(|error| format!("{me}: {error}"))?);
        }
        let outcome = steps(round, &mut mine).map_err(|error| format!("{me}: {error}"));
        // In the order of all.
        for broadcaster in mine.into_iter().flatten() {
            broadcaster.close().map_err(|error| format!("{me} closes: {error}"))?;
        }
        outcome
    });
    for outcome in outcomes {
        outcome?;
    }
    let live = ledger::live();
    if !live.is_empty() {
        return Err(format!("left behind: {live:?}").into());
    }
    Ok(())
}

/// The broadcasts of a rank, whose memberships these are.
pub fn steps(round: &Round, mine: &mut [Option<Broadcaster>]) -> Result<(), String> {
    for (at, step) in round.steps.iter().enumerate() {
        let Some(broadcaster) = &mut mine[step.communicator] else { continue };
        let me = broadcaster.rank();
        if let Some((rank, length)) = step.away
            && me == Rank(rank)
        {
            thread::sleep(length);
        }
        let sent = ranks::message(round.number as usize * 101 + at, step.len);
        let mut buffer = if me == Rank(step.root) { sent.clone() } else { vec![0xee; step.len] };
        broadcaster
            .broadcast_into(Rank(step.root), &mut buffer)
            .map_err(|error| format!("step {at}: {error}"))?;
        if buffer != sent {
            let wrong = buffer.iter().zip(&sent).filter(|(one, other)| one != other).count();
            return Err(format!("step {at}: {wrong} of {} bytes are wrong", step.len));
        }
    }
    Ok(())
}
