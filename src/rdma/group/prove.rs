//! The proof that a group carries whole packets, before it is used.
//!
//! In rounds, ranks multicast probes and listen: [`Waves`] says who and when. After each round the ranks vote. The group
//! is proven when everybody has heard everybody by a packet of whole length. Each comes with a short one: where these
//! arrive and the whole ones do not, the path carries less than the ports' MTU, and all ranks halve the length of
//! packets. A group on which strangers are heard is in use by another job, and is given up for another draw.
//!
//! Nothing but the time of a step of the set-up bounds the proof: a subnet manager may answer joins long before the
//! switches know the group.

use super::member::{Heard, Member};
use super::waves::{Turn, Waves};
use crate::bootstrap::{Bootstrap, VoteError, read_all, vote};
use crate::clock::Clock;
use crate::rdma::settings::Settings;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{HEADER_LEN, ProofBallot};

/// The patience of a wave's first round; it doubles with each further one.
const FIRST_ROUND: Duration = Duration::from_millis(25);
const MAX_ROUND: Duration = Duration::from_millis(800);
/// Short probes of a rank without a whole one that are no chance: where one packet in five is lost, this happens to
/// one pair of ranks in 10⁵.
const SHORT_ALONE: u32 = 8;
/// InfiniBand's smallest MTU.
const MIN_PACKET_LEN: usize = 256;

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
    let (clock, size) = (Clock::of_process(), bootstrap.size() as usize);
    let begun = clock.now();
    let mut waves = Waves::new(size, settings.depths.receive);
    let mut unheard = listen_anew(member, bootstrap.rank(), size);
    let mut patience = FIRST_ROUND;
    let mut strangers = false;
    loop {
        let round = Round { rank: bootstrap.rank(), waves: &waves, unheard: &unheard, patience };
        let outcome = round.listen(member, &clock, &mut strangers);
        let missing = member.heard().missing();
        let missing: Vec<_> = (0..).zip(missing).map(|(at, one)| one && waves.has(at)).collect();
        let packet_len = member.packet_len();
        let has_heard_short_alone =
            packet_len > MIN_PACKET_LEN && member.heard().is_short_alone(SHORT_ALONE);
        let is_late = clock.now() - begun >= settings.timeout;
        let ballot = match outcome {
            Ok(()) if is_late && missing.contains(&true) => {
                Err(silence(member, &missing, group, settings))
            }
            Ok(()) => {
                let has_heard_strangers = strangers && !with_strangers;
                Ok(ProofBallot { has_heard_strangers, has_heard_short_alone, missing }.emit())
            }
            Err(error) => Err(error.to_string()),
        };
        let ballot = ballot.as_ref().map(Vec::as_slice).map_err(String::as_str);
        let ballots = read_all(&vote(bootstrap, ballot)?, ProofBallot::parse)?;
        if ballots.iter().any(|ballot| ballot.has_heard_strangers) {
            return Ok(Proof::Taken);
        }
        if ballots.iter().any(|ballot| ballot.has_heard_short_alone) {
            halve(member, group, bootstrap.rank() == Rank(0));
            unheard = listen_anew(member, bootstrap.rank(), size);
            waves.restart();
            patience = FIRST_ROUND;
            continue;
        }
        let is_unheard =
            |rank| ballots.iter().any(|ballot| ballot.missing.get(rank) == Some(&true));
        unheard = (0..size).map(is_unheard).collect();
        patience = (2 * patience).min(MAX_ROUND);
        if !unheard.contains(&true) {
            if !waves.advance() {
                return Ok(Proof::Works);
            }
            unheard = vec![true; size];
            patience = FIRST_ROUND;
        }
    }
}

/// Nobody has been heard, but the own rank; who probes in the first round.
fn listen_anew(member: &mut impl Member, rank: Rank, size: usize) -> Vec<bool> {
    let packet_len = member.packet_len();
    *member.heard() = Heard::new(size, packet_len);
    member.heard().insert(rank, packet_len);
    vec![true; size]
}

fn halve(member: &mut impl Member, group: &str, tells: bool) {
    let before = member.packet_len();
    let packet_len = before / 2;
    member.limit_packet_len(packet_len);
    if tells {
        tracing::warn!(
            "group {group} carries short packets but none of {before} bytes, which all ports can: trying an \
             MTU of {packet_len} (have all switches on the way the ports' MTU?)"
        );
    }
}

/// What a rank says that has not heard all in time.
fn silence(member: &impl Member, missing: &[bool], group: &str, settings: &Settings) -> String {
    let ranks = || (0..).map(Rank).zip(missing).filter(|(_, missing)| **missing);
    let (count, first) = (ranks().count(), ranks().next().map_or(Rank(0), |(rank, _)| rank));
    let why = match ranks().all(|(rank, _)| member.is_beside(rank)) {
        true => {
            ": only ranks at the same port, whose adapter seems to keep multicasts from its own host; use one \
             rank on each host, or VERBCAST_MULTICAST=off"
        }
        false => "",
    };
    format!(
        "heard nothing from {count} of {} ranks ({first}{}) on group {group} within {:?}{why}",
        missing.len(),
        if count > 1 { ", …" } else { "" },
        settings.timeout
    )
}

/// A round of a proof.
struct Round<'a> {
    rank: Rank,
    waves: &'a Waves,
    /// The ranks that someone has not heard.
    unheard: &'a [bool],
    /// How long to listen when the last rank has probed.
    patience: Duration,
}

impl Round<'_> {
    /// Multicasts probes when it is time, and listens until all that probe were heard or time is up.
    fn listen(
        &self,
        member: &mut impl Member,
        clock: &Clock,
        strangers: &mut bool,
    ) -> Result<(), TransportError> {
        let begun = clock.now();
        let (mut turn, last) = self.waves.turn(self.rank, self.unheard);
        let until = begun + last + self.patience;
        let foreign = member.foreign();
        let mut idle_since = begun;
        loop {
            let now = clock.now();
            if let Some(Turn { repeats, .. }) = turn.take_if(|turn| now >= begun + turn.after) {
                for _ in 0..repeats {
                    member.send_probe(member.packet_len())?;
                    member.send_probe(HEADER_LEN)?;
                }
            }
            let came = member.receive(now)?;
            *strangers |= member.foreign() > foreign;
            if came {
                idle_since = now;
                continue;
            }
            if turn.is_none() && (self.has_heard_all(member) || now >= until) {
                return Ok(());
            }
            let next = turn.map_or(until, |turn: Turn| begun + turn.after);
            member.wait(now - idle_since, next - now)?;
        }
    }

    fn has_heard_all(&self, member: &mut impl Member) -> bool {
        let size = self.unheard.len();
        member.heard().has((0..size).filter(|rank| self.waves.has(*rank) && self.unheard[*rank]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Job, Wire};
    use super::*;

    fn proven(job: &Job, wire: &Wire, settings: &Settings) -> Vec<Result<(Proof, usize), String>> {
        job.run(wire, |bootstrap, member| {
            let proof = prove(bootstrap, member, "G", settings, false);
            proof.map(|proof| (proof, member.packet_len())).map_err(|error| error.to_string())
        })
    }

    fn settings() -> Settings {
        Settings { timeout: Duration::from_secs(20), ..Settings::default() }
    }

    #[test]
    fn whole_packets_prove_a_group() {
        let job = Job { size: 20 };
        let outcomes = proven(&job, &Wire { carries: 4096, ..Wire::default() }, &settings());
        assert!(
            outcomes.iter().all(|outcome| *outcome == Ok((Proof::Works, 4096))),
            "{outcomes:?}"
        );
    }

    #[test]
    fn where_only_short_packets_come_all_ranks_halve_the_mtu() {
        let job = Job { size: 3 };
        let outcomes = proven(&job, &Wire { carries: 1500, ..Wire::default() }, &settings());
        assert!(
            outcomes.iter().all(|outcome| *outcome == Ok((Proof::Works, 1024))),
            "{outcomes:?}"
        );
    }

    #[test]
    fn losses_are_not_taken_for_a_smaller_mtu() {
        let job = Job { size: 4 };
        let outcomes =
            proven(&job, &Wire { carries: 4096, loses_of_ten: 2, ..Wire::default() }, &settings());
        assert!(
            outcomes.iter().all(|outcome| *outcome == Ok((Proof::Works, 4096))),
            "{outcomes:?}"
        );
    }

    #[test]
    fn a_group_that_carries_nothing_fails_when_time_is_up() {
        let job = Job { size: 2 };
        let settings = Settings { timeout: Duration::from_millis(200), ..Settings::default() };
        let outcomes = proven(&job, &Wire { carries: 0, ..Wire::default() }, &settings);
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert!(error.contains("heard nothing from 1 of 2 ranks"), "{error}");
            assert!(!error.contains("own host"), "{error}");
        }
        let wire = Wire { is_one_port: true, ..Wire::default() };
        for outcome in proven(&job, &wire, &settings) {
            let error = outcome.unwrap_err();
            assert!(error.contains("multicasts from its own host"), "{error}");
        }
    }
}
