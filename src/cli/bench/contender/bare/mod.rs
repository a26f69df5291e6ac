//! The floor: what multicast on the device costs by itself, whatever a protocol does.
//!
//! A packet is all message, of the path's MTU; its number is in the immediate, and there is no header, no CRC and no
//! copy. The root never looks at its own packets. Receivers have a thousand receives posted where messages are to be,
//! and tell the root how far these go, so that nothing is lost. What is here stays until the next broadcast is called.
//! There is no repair, no second root, and no sleep.

mod credits;
mod patience;
mod wire;

use super::Contender;
use crate::bench::transport::open_transport;
use crate::doctor::group::Group;
use crate::doctor::lab::{Joined, Lab};
use crate::doctor::site::Site;
use crate::launch::decide::{blame, decide};
use credits::Credits;
use patience::Patience;
use std::ops::{DerefMut, Range};
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Config, Endpoint};
use verbcast::rdma::{Description, Multicast, Settings, Waiting, survey};
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;
use wire::{DEPTH, Wire};

/// Receives by which the root's knowledge may lag behind.
const LAG: u64 = DEPTH / 4;
/// Packets of a message that stay where they are until the next one; of a longer one, the first are given up.
const KEPT: u64 = DEPTH / 2;

pub struct Bare {
    wire: Wire,
    credits: Credits,
    me: Rank,
    /// The one that there is, once it is known.
    root: Option<Rank>,
    /// The first packet of the latest message, and of the next.
    first: u64,
    next: u64,
    /// The packet up to which this rank has granted.
    granted: u64,
    waiting: Waiting,
    timeout: Duration,
    counters: Statistics,
}

impl Bare {
    pub fn open(
        bootstrap: &mut dyn Bootstrap,
        endpoint: &Endpoint,
        config: &Config,
    ) -> Result<Bare, String> {
        let (me, size) = (bootstrap.rank(), bootstrap.size());
        let (transport, _, description) =
            open_transport(bootstrap, endpoint, config, Multicast::Off)?;
        let wire = join(bootstrap, &config.device, &description)?;
        Ok(Bare {
            wire,
            credits: Credits::new(transport, me, size),
            me,
            root: None,
            first: 0,
            next: 0,
            granted: 0,
            waiting: config.device.waiting,
            timeout: config.device.timeout,
            counters: Statistics::default(),
        })
    }

    fn patience(&self) -> Patience {
        Patience::new(self.waiting, self.timeout)
    }

    fn send(&mut self, count: u64) -> Result<(), String> {
        let mut patience = self.patience();
        for packet in 0..count {
            while self.wire.sent() >= self.credits.limit() || !self.wire.has_room() {
                self.wire.submit()?;
                match self.wire.poll()? | self.credits.look()? {
                    true => patience.renew(),
                    false => patience.wait(|| "a receiver has posted no receives".to_owned())?,
                }
            }
            self.wire.send(packet)?;
        }
        self.counters.multicast_sent += count;
        self.wire.submit()
    }

    fn receive(&mut self, root: Rank, count: u64) -> Result<(), String> {
        let mut patience = self.patience();
        // Packets of later messages may have come already.
        (self.first, self.next) = (self.next, self.next + count);
        self.release(root, self.first)?;
        while self.wire.came() < self.next {
            // What was granted may wait for room.
            match self.wire.poll()? || self.credits.look()? {
                true => patience.renew(),
                false => patience.wait(|| format!("nothing has come from {root}"))?,
            }
            self.release(root, self.wire.came().saturating_sub(KEPT))?;
        }
        self.counters.multicast_received += count;
        Ok(())
    }

    /// Nobody needs the packets before `number` any more: their places are posted again.
    fn release(&mut self, root: Rank, number: u64) -> Result<(), String> {
        let until = number + DEPTH;
        if until < self.granted + LAG {
            return Ok(());
        }
        self.wire.post_until(until)?;
        self.granted = until;
        let mut patience = self.patience();
        self.credits.grant(root, until, &mut patience)
    }
}

/// A group that all ranks have joined by the port that the endpoint uses.
fn join(
    bootstrap: &mut dyn Bootstrap,
    settings: &Settings,
    description: &Description,
) -> Result<Wire, String> {
    let me = bootstrap.rank();
    let mut vote = |outcome: Result<Vec<u8>, String>| {
        decide(bootstrap, outcome.map_err(|what| blame(me, format!("bare: {what}"))))
    };
    let opened = open_lab(settings, description, me);
    let drawn = opened.as_ref().map(|lab| lab.site.draw_group().0.to_vec());
    let groups = vote(drawn.map_err(Clone::clone))?;
    let group: [u8; 16] =
        groups[0].as_slice().try_into().map_err(|_| "rank 0 has drawn no group".to_owned())?;
    let lab = opened?;
    // A subnet manager makes the group for the first that joins it.
    let join = |is_next: bool| is_next.then(|| lab.join(Group(group))).transpose();
    let as_first = join(me == Rank(0));
    vote(as_first.as_ref().map(|_| Vec::new()).map_err(Clone::clone))?;
    let as_other = join(me != Rank(0));
    let joined: Result<Option<Joined>, String> = as_other.and_then(|other| Ok(other.or(as_first?)));
    let wire = joined.and_then(|joined| match joined {
        Some(joined) => Wire::open(lab, joined),
        None => unreachable!("each rank joins in one of the two rounds"),
    });
    vote(wire.as_ref().map(|_| Vec::new()).map_err(Clone::clone))?;
    wire
}

/// The port that is described.
fn open_lab(settings: &Settings, description: &Description, me: Rank) -> Result<Lab, String> {
    let mut settings = settings.clone();
    settings.devices = vec![description.device.clone()];
    settings.port = Some(description.port);
    settings.gid_index = Some(description.gid_index);
    let survey = survey(&settings, me).map_err(|error| error.to_string())?;
    Lab::open(&Site::of(&survey, &settings)?)
}

impl Contender for Bare {
    fn buffer(&mut self, len: usize) -> Box<dyn DerefMut<Target = [u8]>> {
        Box::new(vec![0; len])
    }

    fn load(&mut self, message: &[u8]) -> Result<(), String> {
        self.wire.load(message).map_err(|what| blame(self.me, what))
    }

    fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, String> {
        if *self.root.get_or_insert(root) != root {
            let what = "bare has one root: use --root fixed:N";
            return Err(blame(self.me, what));
        }
        self.counters.operations += 1;
        let count = self.wire.packets_of(message.len());
        let outcome = match root == self.me {
            true => self.send(count),
            false => self.receive(root, count),
        };
        outcome.map(|()| true).map_err(|what| blame(self.me, format!("bare: {what}")))
    }

    fn unload(&mut self, message: &mut [u8]) -> Range<usize> {
        match self.root == Some(self.me) {
            true => 0..message.len(),
            false => self.wire.unload(self.first, message)..message.len(),
        }
    }

    fn progress(&mut self) -> Result<(), String> {
        self.credits.look().map(drop).map_err(|what| blame(self.me, what))
    }

    fn settle(&mut self) -> Result<(), String> {
        let mut patience = self.patience();
        while !self.wire.is_done() {
            let polled = self.wire.poll().and_then(|any| match any {
                true => Ok(()),
                false => patience.wait(|| "a send has not ended".to_owned()),
            });
            polled.map_err(|what| blame(self.me, format!("bare: {what}")))?;
        }
        Ok(())
    }

    fn counters(&self) -> Statistics {
        self.counters
    }

    fn abort(&mut self, _reason: &str) {}

    fn close(self: Box<Self>) -> Result<(), String> {
        let me = self.me;
        self.wire.close().map_err(|what| blame(me, what))
    }
}
