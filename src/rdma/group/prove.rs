//! The proof that a group carries datagrams, before it is used.
//!
//! In rounds, every rank multicasts a probe and listens; after each the ranks vote. It is proven
//! when everybody has heard everybody. A group on which strangers are heard is in use by another
//! job, and is given up for another draw.

use super::member::{Heard, Member};
use crate::bootstrap::{Bootstrap, VoteError, read_all, vote};
use crate::rdma::settings::Settings;
use std::time::Duration;
use verbcast_core::time::{Clock, Instant};
use verbcast_core::transport::{Arrival, TransportError};
use verbcast_core::wire::ProofBallot;

/// Rounds, each with twice the patience of the one before, from [`FIRST_ROUND`]. With ten percent of
/// loss, a datagram misses one rank in every round with probability 10⁻⁸.
const ROUNDS: u32 = 8;
const FIRST_ROUND: Duration = Duration::from_millis(25);

/// What a proof found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The group works for all ranks.
    Works,
    /// Another job uses the group.
    Taken,
}

/// Proves the group of `member`; the outcome is the same at every rank. If foreign traffic is tolerated,
/// the group is not given up for it: its packets are told apart by the key.
pub fn prove(
    bootstrap: &mut dyn Bootstrap,
    member: &mut impl Member,
    group: &str,
    settings: &Settings,
    with_strangers: bool,
) -> Result<Proof, VoteError> {
    let clock = Clock::of_process();
    let begun = clock.now();
    *member.heard() = Heard::new(bootstrap.size() as usize);
    member.heard().insert(bootstrap.rank());
    let mut patience = FIRST_ROUND;
    let mut strangers = false;
    for round in 1..=ROUNDS {
        let outcome = listen(member, &clock, clock.now() + patience, &mut strangers);
        let last = round == ROUNDS || clock.now() - begun > settings.timeout;
        let missing = member.heard().missing().count();
        let ballot = match &outcome {
            Ok(()) if last && missing > 0 => Err(format!(
                "heard nothing from {missing} of {} ranks ({}{}) on group {group}",
                bootstrap.size(),
                member.heard().missing().next().unwrap_or_default(),
                if missing > 1 { ", …" } else { "" }
            )),
            Ok(()) => {
                let has_heard_strangers = strangers && !with_strangers;
                Ok(ProofBallot { has_heard_all: missing == 0, has_heard_strangers }.emit())
            }
            Err(error) => Err(error.to_string()),
        };
        let ballot = ballot.as_ref().map(Vec::as_slice).map_err(String::as_str);
        let ballots = read_all(&vote(bootstrap, ballot)?, ProofBallot::parse)?;
        if ballots.iter().any(|ballot| ballot.has_heard_strangers) {
            return Ok(Proof::Taken);
        }
        if ballots.iter().all(|ballot| ballot.has_heard_all) {
            return Ok(Proof::Works);
        }
        patience *= 2;
    }
    // The last round's vote fails for whoever misses somebody; here nobody does.
    Ok(Proof::Works)
}

/// Multicasts a probe, and listens until everybody was heard or time is up.
fn listen(
    member: &mut impl Member,
    clock: &Clock,
    until: Instant,
    strangers: &mut bool,
) -> Result<(), TransportError> {
    member.send_probe()?;
    let foreign = member.foreign();
    let begun = clock.now();
    loop {
        let now = clock.now();
        let arrival = member.poll(now)?;
        *strangers |= member.foreign() > foreign;
        match arrival {
            Some(Arrival::Packet { buffer, .. }) => member.recycle(buffer)?,
            Some(_) => {}
            None if member.heard().is_complete() || now >= until => return Ok(()),
            None => member.park(now - begun, until - now)?,
        }
    }
}
