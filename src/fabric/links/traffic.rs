//! Messages that are all sent at once, and how long it takes until they are everywhere.

use super::engine::Links;
use super::fault::Fault;
use super::packet::{Happening, Packet, To};

/// What one source sends at time 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends.
    pub source: u32,
    /// Where it goes: one multicast LID, or the LIDs of all members, one after another.
    pub to: Vec<To>,
    /// Its bytes.
    pub bytes: u32,
}

/// What came of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// When the last packet was delivered, in nanoseconds.
    pub makespan: u64,
    /// When a packet was delivered on average, in nanoseconds.
    pub mean: f64,
    /// The time that the bytes of the busiest receiver take; nothing is faster.
    pub floor: u64,
    /// The time in which the busiest link carried bytes.
    pub busiest: u64,
    /// Packets that were delivered, each copy of a multicast counted.
    pub delivered: u64,
    /// Packets that were thrown away; see [`Parameters::lifetime`](super::Parameters::lifetime).
    pub dropped: u64,
    /// Events of the simulation.
    pub events: u64,
}

/// Sends messages over idle links, as packets of at most `mtu` bytes, until all are delivered. Packets to
/// one destination have one service level, and a source's next destination has the next.
///
/// # Errors
/// If packets do not come to their end.
pub fn carry(links: &mut Links, messages: &[Message], mtu: u32) -> Result<Load, Fault> {
    let mut sizes = Vec::new();
    let from = links.now();
    for Message { source, to, bytes } in messages {
        for (level, to) in (*source..).zip(to) {
            let mut left = *bytes;
            loop {
                let bytes = left.min(mtu.max(1));
                let tag = sizes.len() as u64;
                sizes.push(bytes);
                links.send(from, *source, Packet { to: *to, bytes, level: level as u8, tag });
                left -= bytes;
                if left == 0 {
                    break;
                }
            }
        }
    }
    let (events, mut sum) = (links.events(), 0.0);
    let mut load = Load::default();
    let mut received: Vec<u64> = Vec::new();
    while let Some((now, happening)) = links.advance()? {
        match happening {
            Happening::Left { .. } | Happening::Ended { .. } => {}
            Happening::Dropped { .. } => load.dropped += 1,
            Happening::Delivered { endpoint, tag } => {
                load.delivered += 1;
                load.makespan = now - from;
                sum += (now - from) as f64;
                received.resize(received.len().max(endpoint as usize + 1), 0);
                received[endpoint as usize] += links.parameters().passing(sizes[tag as usize]);
            }
        }
    }
    load.mean = sum / load.delivered.max(1) as f64;
    load.floor = received.into_iter().max().unwrap_or(0);
    load.busiest = links.carried().map(|(_, nanos)| nanos).max().unwrap_or(0);
    load.events = links.events() - events;
    Ok(load)
}
