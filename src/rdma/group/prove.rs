//! The proof that a group carries datagrams, before it is used.
//!
//! In rounds, every rank multicasts a probe and listens; after each the ranks vote. It is proven
//! when everybody has heard everybody. A group on which strangers are heard is in use by another
//! job, and is given up for another draw.

use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::rdma::endpoint::{failed, own_header};
use crate::rdma::settings::Settings;
use crate::rdma::transport::RdmaTransport;
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::{Clock, Instant};
use verbcast_core::transport::{Arrival, Park, Transport, TransportError};
use verbcast_core::wire::Kind;

/// Rounds, each with twice the patience of the one before, from [`FIRST_ROUND`]. With ten percent of
/// loss, a datagram misses one rank in every round with probability 10⁻⁸.
const ROUNDS: u32 = 8;
const FIRST_ROUND: Duration = Duration::from_millis(25);

/// Which ranks were heard on the group.
#[derive(Debug)]
pub struct Heard {
    ranks: Vec<bool>,
}

impl Heard {
    pub fn new(size: usize) -> Self {
        Heard { ranks: vec![false; size] }
    }

    pub fn insert(&mut self, rank: Rank) {
        if let Some(heard) = self.ranks.get_mut(rank.index()) {
            *heard = true;
        }
    }

    fn missing(&self) -> impl Iterator<Item = Rank> {
        (0..).map(Rank).zip(&self.ranks).filter(|(_, heard)| !**heard).map(|(rank, _)| rank)
    }

    fn is_complete(&self) -> bool {
        self.missing().next().is_none()
    }
}

/// What a proof found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The group works for all ranks.
    Works,
    /// Another job uses the group.
    Taken,
}

/// Proves the group of `transport`; the outcome is the same at every rank. Where strangers are put up with,
/// it is not given up for them: their packets are told apart by the key.
pub fn prove(
    bootstrap: &mut dyn Bootstrap,
    transport: &mut RdmaTransport,
    group: &str,
    settings: &Settings,
    with_strangers: bool,
) -> Result<Proof, VoteError> {
    let clock = Clock::of_process();
    let begun = clock.now();
    transport.heard = Heard::new(bootstrap.size() as usize);
    transport.heard.insert(bootstrap.rank());
    let mut patience = FIRST_ROUND;
    let mut strangers = false;
    for round in 1..=ROUNDS {
        let outcome = listen(transport, &clock, clock.now() + patience, &mut strangers);
        let last = round == ROUNDS || clock.now() - begun > settings.timeout;
        let missing = transport.heard.missing().count();
        let ballot = match &outcome {
            Ok(()) if last && missing > 0 => Err(format!(
                "heard nothing from {missing} of {} ranks ({}{}) on group {group}",
                bootstrap.size(),
                transport.heard.missing().next().unwrap_or_default(),
                if missing > 1 { ", …" } else { "" }
            )),
            Ok(()) => Ok([u8::from(missing == 0), u8::from(strangers && !with_strangers)]),
            Err(error) => Err(error.what.clone()),
        };
        let ballot = ballot.as_ref().map(<[u8; 2]>::as_slice).map_err(String::as_str);
        let ballots = vote(bootstrap, ballot)?;
        if ballots.iter().any(|ballot| ballot.get(1) == Some(&1)) {
            return Ok(Proof::Taken);
        }
        if ballots.iter().all(|ballot| ballot.first() == Some(&1)) {
            return Ok(Proof::Works);
        }
        patience *= 2;
    }
    // The last round's vote fails for whoever misses somebody; here nobody does.
    Ok(Proof::Works)
}

/// Multicasts a probe, and listens until everybody was heard or time is up.
fn listen(
    transport: &mut RdmaTransport,
    clock: &Clock,
    until: Instant,
    strangers: &mut bool,
) -> Result<(), TransportError> {
    let header = own_header(Kind::Probe, transport.seat.key, transport.seat.rank, &[]);
    if let Some(group) = &transport.group {
        transport.endpoint.hold().datagrams.multicast(group, &header, &[]).map_err(failed)?;
    }
    let foreign = transport.foreign();
    let begun = clock.now();
    loop {
        let now = clock.now();
        let arrival = transport.poll(now)?;
        *strangers |= transport.foreign() > foreign;
        match arrival {
            Some(Arrival::Packet { buffer, .. }) => transport.recycle(buffer)?,
            Some(_) => {}
            None if transport.heard.is_complete() || now >= until => return Ok(()),
            None => transport.park(now - begun, until - now)?,
        }
    }
}
