//! How far the root may go: up to the packet for which the slowest receiver has posted a receive. Each receiver
//! writes that into the root's memory, a few times while its places go round.

use super::patience::Patience;
use verbcast::clock::Clock;
use verbcast::rdma::RdmaTransport;
use verbcast_core::protocol::{Counter, Room};
use verbcast_core::rank::Rank;
use verbcast_core::transport::{Arrival, Liveness, Transport};

pub struct Credits {
    transport: RdmaTransport,
    clock: Clock,
    /// By rank, the packet up to which it receives.
    granted: Vec<u64>,
    limit: u64,
}

impl Credits {
    /// Among the ranks of `transport`, where nobody has granted anything; this one receives nothing from itself.
    pub fn new(transport: RdmaTransport, me: Rank, size: u32) -> Credits {
        let granted = (0..size).map(|rank| if Rank(rank) == me { u64::MAX } else { 0 }).collect();
        Credits { transport, clock: Clock::of_process(), granted, limit: 0 }
    }

    /// The packet up to which all others receive.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Takes what the others have granted; whether it was anything.
    pub fn look(&mut self) -> Result<bool, String> {
        let mut any = false;
        while let Some(arrival) =
            self.transport.poll(self.clock.now()).map_err(|error| error.to_string())?
        {
            any = true;
            match arrival {
                Arrival::Reported { from, value, .. } => self.granted[from.index()] = value,
                Arrival::Packet { buffer, .. } => {
                    self.transport.recycle(buffer).map_err(|error| error.to_string())?;
                }
                Arrival::Broken { peer, reason } => {
                    return Err(format!("no connection with {peer}: {reason}"));
                }
                _ => {}
            }
        }
        // A report that had waited for room is begun now.
        self.transport.submit().map_err(|error| error.to_string())?;
        self.limit = self.granted.iter().copied().min().unwrap_or(0);
        Ok(any)
    }

    /// Tells the root the packet up to which this rank receives.
    pub fn grant(&mut self, root: Rank, until: u64, patience: &mut Patience) -> Result<(), String> {
        self.transport.connect(root).map_err(|error| error.to_string())?;
        while !self.transport.is_connected(root) || self.transport.report_room(root) == 0 {
            if !self.look()? {
                patience.wait(|| format!("no connection with {root}"))?;
            }
        }
        let told = self.transport.report(root, Counter::Acknowledged, until);
        told.and_then(|_| self.transport.submit()).map_err(|error| error.to_string())
    }
}
