//! The memory that ranks reach in each other, and where it is.

mod registrations;
mod reports;
mod ring;
mod tail;

pub(super) use registrations::Registrations;
pub(super) use tail::{Source, Tail};

use crate::rdma::settings::Settings;
use reports::Reports;
use ring::{Ring, stride};
use verbcast_core::protocol::Counter;
use verbcast_core::rank::Rank;
use verbcast_verbs::{ProtectionDomain, Remote, Result, Span};

/// What one-sided operations of this rank's communicator and on it use.
#[derive(Debug)]
pub struct Memory {
    pub ring: Ring,
    pub reports: Reports,
}

impl Memory {
    pub fn new(
        domain: &ProtectionDomain,
        packet_len: usize,
        size: u32,
        settings: &Settings,
    ) -> Result<Self> {
        Ok(Memory {
            ring: Ring::new(domain, settings.depths.ring, packet_len)?,
            reports: Reports::new(domain, size)?,
        })
    }

    /// Parts of all of it, which keep it registered.
    pub fn keep(&self) -> Vec<Span> {
        let mut spans = self.reports.keep();
        spans.push(self.ring.keep());
        spans
    }

    /// What other ranks are told.
    pub fn exposed(&self) -> Exposed {
        Exposed { ring: self.ring.remote(), cells: self.reports.remote() }
    }
}

/// The memory that a rank exposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// Its ring.
    pub ring: Remote,
    /// Its table of cells.
    pub cells: Remote,
}

impl Exposed {
    /// Length on the wire.
    pub const WIRE_LEN: usize = 2 * 12;

    pub fn emit(&self) -> [u8; Self::WIRE_LEN] {
        let mut bytes = [0; Self::WIRE_LEN];
        for (place, remote) in bytes.chunks_exact_mut(12).zip([self.ring, self.cells]) {
            place[..8].copy_from_slice(&remote.address.to_be_bytes());
            place[8..].copy_from_slice(&remote.key.to_be_bytes());
        }
        bytes
    }

    pub fn parse(bytes: &[u8; Self::WIRE_LEN]) -> Option<Self> {
        let (ring, rest) = remote(bytes)?;
        let (cells, _) = remote(rest)?;
        Some(Exposed { ring, cells })
    }

    /// A slot of its ring, where its packets have up to `packet_len` bytes.
    pub fn slot(&self, slot: u32, packet_len: usize) -> Remote {
        self.ring.at(slot as usize * stride(packet_len))
    }

    /// The cell that `from` writes.
    pub fn cell(&self, from: Rank, counter: Counter) -> Remote {
        self.cells.at(reports::offset(from, counter))
    }
}

fn remote(bytes: &[u8]) -> Option<(Remote, &[u8])> {
    let (address, rest) = bytes.split_first_chunk()?;
    let (key, rest) = rest.split_first_chunk()?;
    let remote = Remote { address: u64::from_be_bytes(*address), key: u32::from_be_bytes(*key) };
    Some((remote, rest))
}
