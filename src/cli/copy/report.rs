//! What is said after a copy.

use super::plan::Plan;
use crate::cli::CopyArgs;
use crate::failure::Failure;
use crate::incidents;
use crate::message::Message;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use verbcast_core::driver::Statistics;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankReport {
    pub rank: u32,
    pub device: String,
    pub sha256: String,
    #[serde(flatten)]
    pub counters: Statistics,
}

impl Message for RankReport {
    const FORMAT: &'static str = "verbcast copy report 1";
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
    pub total: Statistics,
}

impl Summary {
    pub fn new(
        args: &CopyArgs,
        plan: &Plan,
        seconds: f64,
        payload: usize,
        ranks: Vec<RankReport>,
    ) -> Summary {
        let total = ranks.iter().map(|report| report.counters).sum();
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
        let Statistics { sent_in_place, received_in_place, moved, receive_flushes, .. } =
            self.total;
        let _ = writeln!(
            text,
            "without a copy: {sent_in_place} packets sent, {received_in_place} received; {moved} were \
             moved, {receive_flushes} times the receive queue was flushed"
        );
        if let Some(line) = incidents::line(&self.total) {
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
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
            text += &row(&report.counters, &report.rank.to_string(), &report.device);
        }
        text + &row(&self.total, "total", "")
    }
}

fn row(counters: &Statistics, rank: &str, device: &str) -> String {
    format!(
        "{rank:>5}  {device:<10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>8} {:>8}\n",
        counters.multicast_sent,
        counters.multicast_received,
        counters.lost,
        counters.repaired,
        counters.duplicates,
        counters.foreign,
        counters.damaged
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ranks_report_is_read_as_it_was_written() {
        let counters = Statistics { lost: 3, registration_hits: 5, ..Statistics::default() };
        let report =
            RankReport { rank: 1, device: "a".to_owned(), sha256: "b".to_owned(), counters };
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.contains("\"lost\":3,"), "the counters stand beside the rank: {text}");
        assert_eq!(serde_json::from_str::<RankReport>(&text).unwrap().counters, counters);
    }
}
