//! Ranks as threads of one process, for tests on a device.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use verbcast::bootstrap::{Bootstrap, BootstrapError};
use verbcast::broadcast::{Broadcaster, Config};
use verbcast::rdma::NodeSharing;
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

/// The defaults, but that all goes over devices although the ranks share a host.
pub fn flat() -> Config {
    let mut config = Config::default();
    config.device.nodes = NodeSharing::Flat;
    config
}

struct Table {
    blobs: Mutex<Vec<Vec<u8>>>,
    barrier: Barrier,
}

impl Table {
    fn new(size: u32) -> Self {
        let blobs = Mutex::new(vec![Vec::new(); size as usize]);
        Table {
            blobs,
            barrier: Barrier { size, meeting: Mutex::default(), changed: Condvar::new() },
        }
    }
}

/// Where all wait for all, unless one of them panics: then the others do so, too, in place of waiting for ever.
struct Barrier {
    size: u32,
    meeting: Mutex<Round>,
    changed: Condvar,
}

#[derive(Default)]
struct Round {
    number: u32,
    arrived: u32,
    is_given_up: bool,
}

impl Barrier {
    fn wait(&self) {
        let mut round = self.meeting.lock().unwrap();
        round.arrived += 1;
        if round.arrived == self.size {
            (round.arrived, round.number) = (0, round.number + 1);
            self.changed.notify_all();
            return;
        }
        let number = round.number;
        let waits = |round: &mut Round| round.number == number && !round.is_given_up;
        let round = self.changed.wait_while(round, waits).unwrap();
        let is_met = round.number != number;
        drop(round);
        assert!(is_met, "another rank has panicked");
    }

    fn give_up(&self) {
        self.meeting.lock().unwrap().is_given_up = true;
        self.changed.notify_all();
    }
}

/// A bootstrap among threads.
pub struct Threads {
    rank: Rank,
    size: u32,
    table: Arc<Table>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        if thread::panicking() {
            self.table.barrier.give_up();
        }
    }
}

impl Bootstrap for Threads {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.table.blobs.lock().unwrap()[self.rank.index()] = blob.to_vec();
        self.table.barrier.wait();
        let all = self.table.blobs.lock().unwrap().clone();
        self.table.barrier.wait();
        Ok(all)
    }
}

/// Where the members of a communicator meet, which are some of the ranks that run.
pub struct Meeting {
    /// In the order of their ranks in the communicator.
    members: Vec<u32>,
    table: Arc<Table>,
}

impl Meeting {
    /// For the ranks `members`.
    pub fn new(members: &[u32]) -> Self {
        let table = Arc::new(Table::new(members.len() as u32));
        Meeting { members: members.to_vec(), table }
    }

    /// The bootstrap of a rank, if it is a member.
    pub fn bootstrap(&self, rank: Rank) -> Option<Threads> {
        let at = self.members.iter().position(|member| *member == rank.0)?;
        let (rank, size) = (Rank(at as u32), self.members.len() as u32);
        Some(Threads { rank, size, table: Arc::clone(&self.table) })
    }
}

/// Runs `body` as every rank of `size` at once, and returns what they return, by rank.
pub fn run<R: Send>(size: u32, body: impl Fn(&mut Threads) -> R + Sync) -> Vec<R> {
    let table = Arc::new(Table::new(size));
    thread::scope(|scope| {
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let mut bootstrap = Threads { rank: Rank(rank), size, table: Arc::clone(&table) };
                let body = &body;
                scope.spawn(move || body(&mut bootstrap))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// Broadcasts messages of `lens` bytes from rotating roots and checks every one at every rank. Each
/// message has memory of its own, which is freed before the next.
pub fn exchange(
    size: u32,
    config: impl Fn(Rank) -> Config + Sync,
    lens: &[usize],
) -> Vec<Statistics> {
    run(size, |bootstrap| {
        let config = config(bootstrap.rank());
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        let me = broadcaster.rank();
        for (op, len) in lens.iter().enumerate() {
            let root = Rank(op as u32 % size);
            let sent = message(op, *len);
            let mut buffer = if me == root { sent.clone() } else { vec![0xee; *len] };
            broadcaster.broadcast_into(root, &mut buffer).unwrap();
            assert!(buffer == sent, "{me}, broadcast {op} of {len} bytes");
        }
        broadcaster.flush().unwrap();
        let statistics = broadcaster.statistics();
        broadcaster.close().unwrap();
        statistics
    })
}

/// Bytes that differ from one broadcast to the next.
pub fn message(op: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + at / 251 + op * 17) as u8).collect()
}
