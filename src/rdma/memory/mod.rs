//! The memory that ranks reach in each other, and where it is.

mod registrations;
mod reports;
mod ring;
mod tail;

pub(super) use registrations::Registrations;
pub(super) use ring::Kept;
pub(super) use tail::{Source, Tail};

use crate::rdma::settings::{Settings, payload_stride};
use reports::Reports;
use ring::Ring;
use std::ops::Range;
use verbcast_core::protocol::Counter;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Region;
use verbcast_verbs::{ProtectionDomain, Remote, Result, Span};

/// What one-sided operations of this rank's communicator and on it use.
#[derive(Debug)]
pub struct Memory {
    pub ring: Ring,
    pub reports: Reports,
}

impl Memory {
    /// With so many bytes in each slot of the ring, in a communicator of `size` ranks.
    pub fn new(
        domain: &ProtectionDomain,
        slot_len: usize,
        size: u32,
        settings: &Settings,
    ) -> Result<Self> {
        Ok(Memory {
            ring: Ring::new(domain, settings.depths.ring, slot_len)?,
            reports: Reports::new(domain, size)?,
        })
    }

    /// Bytes of a packet of its ring at most.
    pub fn slot_len(&self) -> usize {
        self.ring.slot_len()
    }

    /// Slots of its ring.
    pub fn ring_len(&self) -> u32 {
        self.ring.len()
    }

    /// Parts of all of it, which keep it registered.
    pub fn keep(&self) -> Vec<Span> {
        let mut spans = self.reports.keep();
        spans.push(self.ring.keep());
        spans
    }

    /// What other ranks are told: where its ring is, and its table of cells.
    pub fn exposed(&self) -> (Region, Region) {
        (region(self.ring.remote()), region(self.reports.remote()))
    }
}

/// The memory that a rank exposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The payloads of its ring.
    pub ring: Remote,
    /// Its table of cells.
    pub cells: Remote,
}

impl Exposed {
    /// From what its [introduction](verbcast_core::wire::Introduction) says.
    pub fn new(ring: Region, cells: Region) -> Self {
        Exposed { ring: remote(ring), cells: remote(cells) }
    }

    /// The payload in a slot of its ring, whose packets have so many bytes at most.
    pub fn payload(&self, slot: u32, slot_len: usize) -> Remote {
        self.ring.at(slot as usize * payload_stride(slot_len))
    }

    /// The headers of some slots of its ring, the last one first.
    pub fn headers(&self, slots: &Range<u32>) -> Remote {
        ring::headers(self.ring, slots)
    }

    /// The cell that `from` writes.
    pub fn cell(&self, from: Rank, counter: Counter) -> Remote {
        self.cells.at(reports::offset(from, counter))
    }
}

fn region(Remote { address, key }: Remote) -> Region {
    Region { address, key }
}

pub(super) fn remote(Region { address, key }: Region) -> Remote {
    Remote { address, key }
}
