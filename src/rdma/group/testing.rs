//! Ranks in threads, and a wire between them, for tests.

use super::join_error::JoinError;
use super::member::{Heard, Member};
use super::order::PortSpeed;
use crate::bootstrap::{Bootstrap, BootstrapError};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Barrier, Mutex};
use std::time::Duration;
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::GroupAddress;

/// So many ranks.
pub struct Job {
    pub size: usize,
}

/// What a wire does with packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wire {
    /// Bytes of the longest packet that comes through.
    pub carries: usize,
    /// Of ten packets, so many are lost, by chance.
    pub loses_of_ten: u32,
    /// All ranks use one port.
    pub is_one_port: bool,
}

/// Receives that a rank has posted.
const DEPTH: usize = 64;

struct Shared {
    size: usize,
    wire: Wire,
    blobs: Mutex<Vec<Vec<u8>>>,
    step: Barrier,
    joined: Mutex<Vec<Rank>>,
    queues: Vec<Mutex<VecDeque<(Rank, usize)>>>,
}

impl Job {
    /// Runs a function at every rank; what each returns.
    pub fn run<T: Send>(
        &self,
        wire: &Wire,
        rank: impl Fn(&mut dyn Bootstrap, &mut Fake<'_>) -> T + Sync,
    ) -> Vec<T> {
        let shared = &Shared {
            size: self.size,
            wire: *wire,
            blobs: Mutex::new(vec![Vec::new(); self.size]),
            step: Barrier::new(self.size),
            joined: Mutex::default(),
            queues: (0..self.size).map(|_| Mutex::default()).collect(),
        };
        std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..self.size as u32).map(Rank).collect();
            let start = |own| {
                let rank = &rank;
                scope.spawn(move || rank(&mut Place { own, shared }, &mut Fake::new(own, shared)))
            };
            let threads: Vec<_> = ranks.into_iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

/// A rank's place among the others.
struct Place<'a> {
    own: Rank,
    shared: &'a Shared,
}

impl Bootstrap for Place<'_> {
    fn rank(&self) -> Rank {
        self.own
    }

    fn size(&self) -> u32 {
        self.shared.size as u32
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.shared.blobs.lock().unwrap()[self.own.index()] = blob.to_vec();
        self.shared.step.wait();
        let blobs = self.shared.blobs.lock().unwrap().clone();
        self.shared.step.wait();
        Ok(blobs)
    }
}

/// A rank on the wire.
pub struct Fake<'a> {
    own: Rank,
    shared: &'a Shared,
    random: ChaCha8Rng,
    heard: Heard,
    packet_len: usize,
    /// Its joins fail for good.
    pub is_refused: bool,
    /// The group that it is in.
    pub group: Option<GroupAddress>,
    /// A group in which it hears strangers all the time.
    pub taken: Option<GroupAddress>,
    strangers: Cell<u64>,
}

impl<'a> Fake<'a> {
    /// The ranks that have joined, in their order.
    pub fn joined(&self) -> Vec<Rank> {
        self.shared.joined.lock().unwrap().clone()
    }

    fn new(own: Rank, shared: &'a Shared) -> Self {
        let random = ChaCha8Rng::seed_from_u64(own.0.into());
        Fake {
            own,
            shared,
            random,
            heard: Heard::new(0, 0),
            packet_len: 4096,
            is_refused: false,
            group: None,
            taken: None,
            strangers: Cell::new(0),
        }
    }
}

impl Member for Fake<'_> {
    fn join(
        &mut self,
        (group, _): (GroupAddress, PortSpeed),
        _patience: Duration,
    ) -> Result<(), JoinError> {
        if self.is_refused {
            return Err(JoinError::Never("refused".to_owned()));
        }
        self.shared.joined.lock().unwrap().push(self.own);
        self.group = Some(group);
        Ok(())
    }

    fn leave(&mut self) {
        self.group = None;
    }

    fn go_without(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn packet_len(&self) -> usize {
        self.packet_len
    }

    fn limit_packet_len(&mut self, packet_len: usize) {
        self.packet_len = packet_len;
    }

    fn send_probe(&mut self, len: usize) -> Result<(), TransportError> {
        for queue in &self.shared.queues {
            let is_lost = self.random.next_u32() % 10 < self.shared.wire.loses_of_ten;
            let mut queue = queue.lock().unwrap();
            if len <= self.shared.wire.carries && !is_lost && queue.len() < DEPTH {
                queue.push_back((self.own, len));
            }
        }
        Ok(())
    }

    fn receive(&mut self, _now: Instant) -> Result<bool, TransportError> {
        let came = self.shared.queues[self.own.index()].lock().unwrap().pop_front();
        if let Some((from, len)) = came {
            self.heard.insert(from, len);
        }
        Ok(came.is_some())
    }

    fn wait(&mut self, _idle: Duration, at_most: Duration) -> Result<(), TransportError> {
        std::thread::sleep(at_most.min(Duration::from_millis(1)));
        Ok(())
    }

    fn is_beside(&self, _rank: Rank) -> bool {
        self.shared.wire.is_one_port
    }

    fn heard(&mut self) -> &mut Heard {
        &mut self.heard
    }

    fn foreign(&self) -> u64 {
        let is_taken = self.group.is_some() && self.group == self.taken;
        self.strangers.set(self.strangers.get() + u64::from(is_taken));
        self.strangers.get()
    }
}
