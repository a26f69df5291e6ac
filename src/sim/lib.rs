//! A deterministic simulator: thousands of ranks in one thread, each the very driver and core that run
//! on hardware.
//!
//! Simulated are the ranks' CPUs (what a call costs, and that one rank's calls come one after
//! another), their adapters (posted receives and their overflow, rings, counters, one message after
//! another on the wire) and the wire (latencies, loss, bursts of it, duplication, delay, wrong
//! bytes). What one rank reads of another's ring may be replaced meanwhile. Not simulated
//! is what the adapter's memory accesses cost. Time is an integer of nanoseconds; everything random comes
//! from one seed, so that a run repeats exactly.
//!
//! Processes in a row may share [nodes](Plan::ranks_per_node): memory, through which one of them hands on what its adapter
//! receives.
//!
//! Processes may have several communicators over one endpoint each, and programs that wait for one another by other means
//! than broadcasts ([`run_programs`]).
//!
//! The wire is plain latencies ([`simulate`]), or the links and switches of a fabric
//! ([`simulate_on`]): then every packet of a protocol, acknowledgements of adapters included, competes on
//! [`links`](verbcast_fabric::links) with all others, those of other jobs too. Links lose nothing, as
//! InfiniBand's; a datagram is lost where it finds no receive. Only probes of a peer's life take a plain
//! latency still.
//!
//! ```
//! use verbcast_core::protocol::choice::{Algorithm, Table};
//! use verbcast_core::protocol::options::Options;
//! use verbcast_core::rank::Rank;
//! use verbcast_sim::{Plan, Step, simulate};
//!
//! let plan = Plan::new(64, vec![Step { root: Rank(0), len: 8 }]);
//! let mut options = Options::default();
//! options.table = Table::uniform(Algorithm::Window);
//! let outcome = simulate(&plan, &options).unwrap();
//! assert!(outcome.latency(0, Rank(0)) < 20_000);
//! ```

#![forbid(unsafe_code)]

mod checkers;
mod cluster;
mod communicator;
mod costs;
mod draw;
mod endpoint;
mod event;
mod faults;
mod inbox;
mod jobs;
mod lent;
mod network;
mod node;
mod outcome;
mod pattern;
mod plan;
mod port;
mod processes;
mod programs;
mod queue;
mod read;
mod routes;
mod short;
mod spare;
mod streams;
pub mod swarm;
mod transport;
mod wire;

pub use cluster::Cluster;
pub use costs::Costs;
pub use draw::Draw;
pub use faults::{CERTAIN, Faults};
pub use outcome::{Call, Outcome, Violation};
pub use plan::{Computing, Plan, Step};
pub use processes::{Ran, run as run_programs};
pub use programs::{Act, Communicator, Programs};
pub use routes::Routes;
pub use transport::SimTransport;
pub use wire::{Fabric, Traffic};

use jobs::Jobs;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;

/// Runs a plan with the protocols and parameters of `options`.
///
/// # Errors
/// If the options contradict the plan, or anything does not hold that must: the bytes and their order,
/// the bounds of buffers, an end of all waiting, nothing owed in the end.
pub fn simulate(plan: &Plan, options: &Options) -> Result<Outcome, Violation> {
    simulate_observed(plan, options, |_, _| {})
}

/// As [`simulate`]; calls `observe` whenever a broadcast, counted from 0, ends at a rank.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_observed(
    plan: &Plan,
    options: &Options,
    observe: impl FnMut(Rank, usize),
) -> Result<Outcome, Violation> {
    Cluster::new(plan, options)?.observed(observe).run()
}

/// Runs jobs on a fabric, each with its plan; all start at time 0. Calls `observe` whenever a broadcast
/// ends at a rank of any job.
///
/// # Errors
/// As [`simulate`], and if there is not a host for each rank, or packets come to a standstill.
pub fn simulate_on(
    fabric: Fabric,
    plans: &[Plan],
    options: &Options,
    observe: impl Fn(Rank, usize),
) -> Result<(Vec<Outcome>, Traffic), Violation> {
    let mut clusters = Vec::new();
    for plan in plans {
        clusters.push(Cluster::new(plan, options)?.observed(&observe));
    }
    Jobs::on(fabric, clusters)?.run()
}
