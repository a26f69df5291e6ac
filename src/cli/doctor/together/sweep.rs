//! Datagrams of all sizes, from the first rank and from the last one.

use super::Circle;
use crate::doctor::bounded::step;
use crate::doctor::finding::{Finding, Tried};
use crate::doctor::lab::{Arrival, GRH, Mailbox};
use serde::{Deserialize, Serialize};
use std::thread;
use std::time::{Duration, Instant};

/// Datagrams of each size.
const SENT: u32 = 32;
/// Between two of them: this is not about speed.
const GAP: Duration = Duration::from_millis(1);
/// After this time without a datagram nothing comes any more.
const QUIET: Duration = Duration::from_millis(300);
/// Datagrams of this size go wherever any go.
const SMALL: usize = 64;

/// What a rank has heard of a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Heard {
    /// Microseconds until the first datagram of the group.
    first: Option<u64>,
    /// Datagrams by their size.
    counts: Vec<(usize, u32)>,
}

pub fn run(circle: &mut Circle<'_>) -> Vec<Finding> {
    let mut senders = vec![0, circle.size() - 1];
    senders.dedup();
    let mut deliveries = Vec::new();
    let mut paths = Vec::new();
    for sender in senders {
        step(format!("datagrams of all sizes from {}", circle.names[sender]));
        match from(circle, sender) {
            Ok(heard) => {
                deliveries.push(judge_delivery(circle.names, sender, &heard));
                paths.push(judge_path(circle.names, sender, &heard));
            }
            Err(what) => deliveries.push(Tried::broken(what, "see the message")),
        }
    }
    vec![
        Finding::new(12, "every rank hears the first and the last one", worst(deliveries)),
        Finding::new(6, "datagrams of all sizes up to the ports' MTU arrive", worst(paths)),
    ]
}

/// The first that is broken, or the first.
fn worst(tried: Vec<Tried>) -> Tried {
    let broken = tried.iter().find(|tried| tried.advice.is_some());
    let chosen = broken.or(tried.first()).cloned();
    chosen.unwrap_or_else(|| Tried::not_tried("the above first"))
}

fn sizes(mtu: usize) -> Vec<usize> {
    let mut sizes: Vec<_> = std::iter::successors(Some(SMALL), |size| Some(2 * size))
        .take_while(|size| *size < mtu)
        .collect();
    sizes.push(mtu);
    sizes
}

fn from(circle: &mut Circle<'_>, sender: usize) -> Result<Vec<Heard>, String> {
    let (mut mailbox, _attachment) = circle.member(128)?;
    let is_sender = circle.me().index() == sender;
    let first = match is_sender {
        true => call(circle, &mut mailbox).map(|()| Some(0)),
        false => listen(circle, &mut mailbox),
    };
    let mut counts = Vec::new();
    let mut outcome = first.as_ref().map(|_| ()).map_err(Clone::clone);
    for size in sizes(circle.mtu) {
        circle.barrier(outcome)?;
        outcome = match is_sender {
            true => send(circle, &mut mailbox, size),
            false => count(&mut mailbox, size).map(|count| counts.push((size, count))),
        };
    }
    let heard = outcome.and(first).map(|first| Heard { first, counts });
    circle.gather(heard)
}

/// Multicasts for as long as a new group may take to deliver.
fn call(circle: &Circle<'_>, mailbox: &mut Mailbox) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < circle.settling() {
        mailbox.send(&circle.joined, &[0; 8])?;
        while mailbox.receive(Duration::ZERO)?.is_some() {}
        thread::sleep(20 * GAP);
    }
    mailbox.settle()
}

/// Microseconds until something of the group arrives.
fn listen(circle: &Circle<'_>, mailbox: &mut Mailbox) -> Result<Option<u64>, String> {
    let begun = Instant::now();
    let mut first = None;
    while begun.elapsed() < circle.settling() + QUIET {
        let arrival = mailbox.receive(QUIET)?;
        if matches!(arrival, Some(Arrival::Datagram(_))) && first.is_none() {
            first = Some(begun.elapsed().as_micros() as u64);
        }
    }
    Ok(first)
}

fn send(circle: &Circle<'_>, mailbox: &mut Mailbox, size: usize) -> Result<(), String> {
    for _ in 0..SENT {
        mailbox.send(&circle.joined, &vec![size as u8; size])?;
        while mailbox.receive(Duration::ZERO)?.is_some() {}
        thread::sleep(GAP);
    }
    mailbox.settle()
}

fn count(mailbox: &mut Mailbox, size: usize) -> Result<u32, String> {
    let mut count = 0;
    // The sender begins at the same time, a barrier's time apart.
    let mut patience = 3 * QUIET;
    while let Some(arrival) = mailbox.receive(patience)? {
        if matches!(&arrival, Arrival::Datagram(bytes) if bytes.len() == GRH + size) {
            count += 1;
        }
        patience = if count == SENT { Duration::ZERO } else { QUIET };
    }
    Ok(count)
}

fn judge_delivery(names: &[String], sender: usize, heard: &[Heard]) -> Tried {
    let others = || heard.iter().enumerate().filter(|(rank, _)| *rank != sender);
    let is_deaf =
        |heard: &Heard| heard.first.is_none() && heard.counts.iter().all(|(_, n)| *n == 0);
    let deaf: Vec<_> = others()
        .filter(|(_, heard)| is_deaf(heard))
        .map(|(rank, _)| names[rank].as_str())
        .collect();
    if deaf.is_empty() {
        let last = others().filter_map(|(_, heard)| heard.first).max().unwrap_or(0);
        return Tried::holds(format!("after {:.1} ms at the last rank", last as f64 / 1e3));
    }
    Tried::broken(
        format!(
            "{} of {} do not hear {}: {}",
            deaf.len(),
            names.len() - 1,
            names[sender],
            deaf.join(", ")
        ),
        "is multicast forwarded between these hosts? InfiniBand: are all ports in the subnet \
         manager's multicast tables (ibdiagnet, saquery -g)? RoCE: IGMP snooping needs a querier, \
         firewalls must pass UDP port 4791, and hosts must be in one VLAN or routed multicast. \
         Ranks of one host alone: the adapter keeps multicasts from its own host",
    )
}

fn judge_path(names: &[String], sender: usize, heard: &[Heard]) -> Tried {
    let mut lost = 0;
    for (rank, Heard { counts, .. }) in heard.iter().enumerate().filter(|(rank, _)| *rank != sender)
    {
        let arrives = counts.iter().filter(|(_, count)| *count > 0).map(|(size, _)| *size).max();
        let vanishes = counts.iter().find(|(size, count)| *count == 0 && Some(*size) > arrives);
        if let (Some(arrives), Some((vanishes, _))) = (arrives, vanishes) {
            return Tried::broken(
                format!(
                    "{} to {}: datagrams of {arrives} bytes arrive, of {vanishes} bytes do not",
                    names[sender], names[rank]
                ),
                "the path carries less than the ports' MTU. RoCE: set the MTU of all switches and \
                 interfaces in between to at least the RDMA MTU and 100 bytes more, or the hosts' \
                 interfaces to less (ip link set … mtu …). InfiniBand: a port or switch of a smaller \
                 MTU; see the group's MTU (saquery -g)",
            );
        }
        lost = lost.max(counts.iter().map(|(_, count)| SENT - (*count).min(SENT)).sum());
    }
    let all = SENT as usize * heard.iter().map(|heard| heard.counts.len()).max().unwrap_or(0);
    let largest = heard.iter().flat_map(|heard| &heard.counts).map(|(size, _)| *size).max();
    Tried::holds(format!(
        "up to {} bytes; at most {lost} of {all} lost at a rank",
        largest.unwrap_or(0)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::super::finding::Outcome;
    use super::*;

    fn heard(counts: &[(usize, u32)]) -> Heard {
        let first = counts.iter().any(|(_, count)| *count > 0).then_some(900);
        Heard { first, counts: counts.to_vec() }
    }

    #[test]
    fn a_path_that_carries_less_is_named_with_its_sizes() {
        let names = ["rank 0 (a)", "rank 1 (b)"].map(str::to_owned);
        let whole = [heard(&[]), heard(&[(64, 32), (2048, 30), (4096, 32)])];
        let tried = judge_path(&names, 0, &whole);
        assert_eq!(tried.outcome, Outcome::Holds, "{}", tried.came);
        assert!(tried.came.contains("4096 bytes; at most 2 of 96"), "{}", tried.came);
        let narrow = [heard(&[]), heard(&[(64, 32), (1024, 31), (2048, 0), (4096, 0)])];
        let tried = judge_path(&names, 0, &narrow);
        assert_eq!(tried.outcome, Outcome::Broken);
        let expected =
            "rank 0 (a) to rank 1 (b): datagrams of 1024 bytes arrive, of 2048 bytes do not";
        assert_eq!(tried.came, expected);
    }

    #[test]
    fn who_hears_nothing_is_named() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let all = [heard(&[(64, 3)]), heard(&[]), heard(&[(64, 1)])];
        assert_eq!(judge_delivery(&names, 1, &all).outcome, Outcome::Holds);
        let tried = judge_delivery(&names, 0, &all);
        assert_eq!(tried.came, "1 of 2 do not hear a: b");
        // That says nothing of the path's MTU.
        assert_eq!(judge_path(&names, 0, &all).outcome, Outcome::Holds);
    }

    #[test]
    fn sizes_end_with_the_mtu() {
        assert_eq!(sizes(256), [64, 128, 256]);
        assert_eq!(sizes(1000), [64, 128, 256, 512, 1000]);
    }
}
