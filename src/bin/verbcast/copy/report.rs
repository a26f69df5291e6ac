//! What is said after a copy.

use super::plan::Plan;
use crate::cli::CopyArgs;
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use verbcast::driver::Statistics;

/// What a rank tells the launcher, as one line of JSON.
#[derive(Serialize, Deserialize)]
pub enum Report {
    /// It has the file; rank 0 sums up.
    Done(Option<Box<Summary>>),
    /// It does not have the file.
    Failed(String),
}

impl Report {
    pub fn send(&self) -> Result<(), Failure> {
        let line = serde_json::to_string(self).map_err(Failure::new)?;
        crate::print(&(line + "\n"))
    }
}

/// Packets of one rank, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    pub multicast_sent: u64,
    pub multicast_received: u64,
    pub reliable_sent: u64,
    pub reliable_received: u64,
    pub lost: u64,
    pub repaired: u64,
    pub duplicates: u64,
    pub redundant: u64,
    pub late: u64,
    pub overflowed: u64,
    pub foreign: u64,
    pub damaged: u64,
    pub sent_in_place: u64,
    pub received_in_place: u64,
    pub moved: u64,
    pub receive_flushes: u64,
    pub registrations: u64,
    pub registration_hits: u64,
}

impl From<Statistics> for Counters {
    fn from(s: Statistics) -> Self {
        Counters {
            multicast_sent: s.multicast_sent,
            multicast_received: s.multicast_received,
            reliable_sent: s.reliable_sent,
            reliable_received: s.reliable_received,
            lost: s.lost,
            repaired: s.repaired,
            duplicates: s.duplicates,
            redundant: s.redundant,
            late: s.late,
            overflowed: s.overflowed,
            foreign: s.foreign,
            damaged: s.damaged,
            sent_in_place: s.sent_in_place,
            received_in_place: s.received_in_place,
            moved: s.moved,
            receive_flushes: s.receive_flushes,
            registrations: s.registrations,
            registration_hits: s.registration_hits,
        }
    }
}

impl Counters {
    fn add(&mut self, other: &Counters) {
        self.multicast_sent += other.multicast_sent;
        self.multicast_received += other.multicast_received;
        self.reliable_sent += other.reliable_sent;
        self.reliable_received += other.reliable_received;
        self.lost += other.lost;
        self.repaired += other.repaired;
        self.duplicates += other.duplicates;
        self.redundant += other.redundant;
        self.late += other.late;
        self.overflowed += other.overflowed;
        self.foreign += other.foreign;
        self.damaged += other.damaged;
        self.sent_in_place += other.sent_in_place;
        self.received_in_place += other.received_in_place;
        self.moved += other.moved;
        self.receive_flushes += other.receive_flushes;
        self.registrations += other.registrations;
        self.registration_hits += other.registration_hits;
    }

    fn row(&self, rank: &str, device: &str) -> String {
        format!(
            "{rank:>5}  {device:<10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8} {:>8}\n",
            self.multicast_sent,
            self.multicast_received,
            self.lost,
            self.repaired,
            self.duplicates,
            self.foreign,
            self.damaged
        )
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankReport {
    pub rank: u32,
    pub device: String,
    pub sha256: String,
    #[serde(flatten)]
    pub counters: Counters,
}

/// A copy that has succeeded at every rank.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    pub source: String,
    pub destination: String,
    pub bytes: u64,
    pub seconds: f64,
    /// 10⁶ bytes per second, to each rank.
    pub megabytes_per_second: f64,
    pub sha256: String,
    pub chunk: u64,
    /// Bytes of the file in one packet.
    pub packet_payload: u64,
    /// Packets that the root would multicast if it sent each byte once.
    pub packets_needed: u64,
    /// Packets that the root has multicast.
    pub packets_multicast: u64,
    pub ranks: Vec<RankReport>,
    pub total: Counters,
}

impl Summary {
    pub fn new(
        args: &CopyArgs,
        plan: &Plan,
        seconds: f64,
        payload: usize,
        ranks: Vec<RankReport>,
    ) -> Summary {
        let mut total = Counters::default();
        for report in &ranks {
            total.add(&report.counters);
        }
        let payload = payload.max(1) as u64;
        let packets = |bytes: u64| bytes.div_ceil(payload);
        let rate = if seconds > 0.0 { plan.length as f64 / 1e6 / seconds } else { 0.0 };
        Summary {
            source: args.src.display().to_string(),
            destination: args.dst.clone(),
            bytes: plan.length,
            seconds,
            megabytes_per_second: rate,
            sha256: ranks.first().map(|report| report.sha256.clone()).unwrap_or_default(),
            chunk: plan.chunk,
            packet_payload: payload,
            packets_needed: plan.length / plan.chunk * packets(plan.chunk)
                + packets(plan.length % plan.chunk),
            packets_multicast: ranks.first().map_or(0, |root| root.counters.multicast_sent),
            ranks,
            total,
        }
    }

    pub fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            let text = serde_json::to_string_pretty(self).map_err(Failure::new)?;
            return crate::print(&(text + "\n"));
        }
        crate::print(&self.text())
    }

    fn text(&self) -> String {
        let mut text = format!(
            "copied {} to {} on {} ranks\n{} bytes in {:.3} s, {:.1} MB/s to each rank\n\
             SHA-256 {}\n{} packets multicast by rank 0, {} needed for {} bytes each\n",
            self.source,
            self.destination,
            self.ranks.len().saturating_sub(1),
            self.bytes,
            self.seconds,
            self.megabytes_per_second,
            self.sha256,
            self.packets_multicast,
            self.packets_needed,
            self.packet_payload
        );
        // Writing to a String does not fail.
        let Counters { sent_in_place, received_in_place, moved, receive_flushes, .. } = self.total;
        let _ = writeln!(
            text,
            "without a copy: {sent_in_place} packets sent, {received_in_place} received; {moved} were \
             moved, {receive_flushes} times the receive queue was flushed\n"
        );
        let _ = writeln!(
            text,
            "{:>5}  {:<10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8} {:>8}",
            "rank",
            "device",
            "sent",
            "received",
            "lost",
            "repaired",
            "duplicates",
            "foreign",
            "damaged"
        );
        for report in &self.ranks {
            text += &report.counters.row(&report.rank.to_string(), &report.device);
        }
        text + &self.total.row("total", "")
    }
}
