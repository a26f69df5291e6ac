//! What is said after a copy.

use super::args::CopyArgs;
use super::digest::Hash;
use super::manifest::Manifest;
use super::meeting;
use super::plan::Plan;
use super::transfer::{COUNT_LEN, Chunks};
use crate::failure::Failure;
use crate::incidents;
use crate::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use verbcast::bootstrap::name_ranks;
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

/// Of all ranks before they report, in a copy that is not resumed.
const MEETINGS: u64 = 2;
/// Hosts that are named in the text; JSON has all.
const MAX_HOSTS: usize = 16;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankReport {
    pub rank: u32,
    pub host: String,
    pub device: String,
    /// Bytes of data that it has sent or has.
    pub bytes: u64,
    /// Their hash, in hexadecimal digits.
    pub digest: Option<String>,
    #[serde(flatten)]
    pub counters: Statistics,
}

impl Message for RankReport {
    const FORMAT: &'static str = "verbcast copy report 2";
}

/// A copy that has succeeded at every rank.
#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    pub source: String,
    pub destination: String,
    /// Files; folders and links are not counted.
    pub files: u64,
    /// Bytes of all files, with their holes.
    pub bytes: u64,
    /// Bytes of all files, without their holes.
    pub data_bytes: u64,
    /// Bytes that every rank had from an earlier copy.
    pub resumed_bytes: u64,
    pub seconds: f64,
    /// 10⁶ bytes of data per second, to each rank.
    pub megabytes_per_second: f64,
    pub hash: Hash,
    /// Of the data of all files one after the other.
    pub digest: Option<String>,
    /// The same, if the hash is SHA-256.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
    /// Whether what was written was read back.
    pub verified: bool,
    pub chunk: u64,
    /// Bytes of the file in one packet.
    pub packet_payload: u64,
    /// Packets that the root would multicast if it sent each byte once.
    pub packets_needed: u64,
    /// Packets that the root has multicast.
    pub packets_multicast: u64,
    /// The ranks that have the copy, by host.
    pub hosts: BTreeMap<String, Vec<u32>>,
    pub ranks: Vec<RankReport>,
    pub total: Statistics,
}

/// What a copy that has failed says in JSON.
#[derive(Serialize)]
struct Failed<'a> {
    errors: &'a [String],
}

pub fn print_failure(errors: &[String]) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&Failed { errors }).map_err(Failure::new)?;
    crate::print(&(text + "\n"))
}

impl Summary {
    pub fn new(
        args: &CopyArgs,
        plan: &Plan,
        manifest: &Manifest,
        (chunks, payload, seconds): (&Chunks, usize, f64),
        ranks: Vec<RankReport>,
    ) -> Summary {
        let total = ranks.iter().map(|report| report.counters).sum();
        let payload = payload.max(1) as u64;
        let data = ranks.first().map_or(0, |root| root.bytes);
        let count = if chunks.is_stream() { data / plan.chunk + 1 } else { chunks.count() };
        let held: u64 =
            (0..count).filter(|&at| chunks.is_held(at)).map(|at| chunks.len(at) as u64).sum();
        let trailer = if chunks.is_stream() { COUNT_LEN as u64 } else { 0 };
        let sent = (0..count).filter(|&at| !chunks.is_held(at));
        let sent: u64 = sent.map(|at| (chunks.len(at) as u64 + trailer).div_ceil(payload)).sum();
        let digest = ranks.first().and_then(|report| report.digest.clone());
        let mut hosts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for report in ranks.iter().skip(1) {
            hosts.entry(report.host.clone()).or_default().push(report.rank);
        }
        let sources: Vec<_> = args.src.iter().map(|src| src.display().to_string()).collect();
        Summary {
            source: sources.join(" "),
            destination: args.dst.to_string_lossy().into_owned(),
            files: manifest.files(),
            bytes: plan.data.map_or(data, |_| manifest.size()),
            data_bytes: data,
            resumed_bytes: held,
            seconds,
            megabytes_per_second: if seconds > 0.0 { data as f64 / 1e6 / seconds } else { 0.0 },
            hash: plan.hash,
            sha256: digest.clone().filter(|_| plan.hash == Hash::Sha256),
            digest,
            verified: plan.verify,
            chunk: plan.chunk,
            packet_payload: payload,
            packets_needed: plan.manifest.div_ceil(payload) + sent + MEETINGS * meeting::PACKETS,
            packets_multicast: ranks.first().map_or(0, |root| root.counters.multicast_sent),
            hosts,
            ranks,
            total,
        }
    }

    /// Prints it; on standard error if the other output is that of the data.
    pub fn print(&self, json: bool, on_stderr: bool) -> Result<(), Failure> {
        let text = match json {
            true => serde_json::to_string_pretty(self).map_err(Failure::new)? + "\n",
            false => self.text(),
        };
        if on_stderr {
            // There is nobody left to tell if standard error is closed.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            return Ok(());
        }
        crate::print(&text)
    }

    fn text(&self) -> String {
        let mut text = format!(
            "copied {} to {} on {} ranks\n{} bytes in {:.3} s, {:.1} MB/s to each rank\n",
            self.source,
            self.destination,
            self.ranks.len().saturating_sub(1),
            self.bytes,
            self.seconds,
            self.megabytes_per_second,
        );
        if self.files != 1 {
            let _ = writeln!(text, "{} files", self.files);
        }
        if self.data_bytes != self.bytes {
            let _ = writeln!(text, "{} bytes of them are data, the others holes", self.data_bytes);
        }
        if self.resumed_bytes > 0 {
            let _ = writeln!(text, "{} bytes were there from an earlier copy", self.resumed_bytes);
        }
        let read_back = if self.verified { ", as read back" } else { "" };
        let _ = match &self.digest {
            Some(digest) => writeln!(text, "{} {digest} at all ranks{read_back}", self.hash.name()),
            None => writeln!(text, "nothing was hashed; all ranks have {} bytes", self.data_bytes),
        };
        for (host, ranks) in self.hosts.iter().take(MAX_HOSTS) {
            let ranks: Vec<Rank> = ranks.iter().copied().map(Rank).collect();
            let _ = writeln!(text, "{host}: {}", name_ranks(&ranks));
        }
        if self.hosts.len() > MAX_HOSTS {
            let _ = writeln!(
                text,
                "and {} more hosts, which --json names",
                self.hosts.len() - MAX_HOSTS
            );
        }
        let _ = writeln!(
            text,
            "{} packets multicast by rank 0, {} needed for {} bytes each",
            self.packets_multicast, self.packets_needed, self.packet_payload
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
        let report = RankReport {
            rank: 1,
            host: "h".to_owned(),
            device: "a".to_owned(),
            bytes: 9,
            digest: Some("b".to_owned()),
            counters,
        };
        let text = serde_json::to_string(&report).unwrap();
        assert!(text.contains("\"lost\":3,"), "the counters stand beside the rank: {text}");
        assert_eq!(serde_json::from_str::<RankReport>(&text).unwrap().counters, counters);
    }
}
