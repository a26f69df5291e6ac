//! The data: one broadcast per chunk, hashed on both sides.

use super::destination::Partial;
use super::plan::Plan;
use super::progress::Progress;
use super::source::Source;
use sha2::{Digest, Sha256};
use verbcast::broadcast::Broadcaster;
use verbcast::rank::Rank;

/// Broadcasts from rank 0.
pub trait Channel {
    /// Gives rank 0's `bytes` to all.
    fn broadcast(&mut self, bytes: &mut [u8]) -> Result<(), String>;

    /// Makes every rank's next broadcast fail with this rank and `reason`.
    fn abort(&mut self, reason: &str);
}

impl Channel for Broadcaster {
    fn broadcast(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        self.broadcast_into(Rank(0), bytes).map_err(|error| error.to_string())
    }

    fn abort(&mut self, reason: &str) {
        Broadcaster::abort(self, reason);
    }
}

/// This rank's end of the copy.
pub enum End {
    Source(Source),
    Destination(Partial),
}

/// Why a transfer failed.
#[derive(Debug)]
pub enum Trouble {
    /// Something at this rank; the others have been told.
    Here(String),
    /// What the channel says; it names the rank.
    Channel(String),
}

/// Bytes of the largest broadcast: at most 1 GiB, which fits.
pub fn buffer_len(plan: &Plan) -> usize {
    plan.chunk.min(plan.length) as usize
}

/// Moves the whole file through a buffer. Returns the SHA-256 of what went through here.
pub fn run(
    channel: &mut dyn Channel,
    end: &mut End,
    plan: &Plan,
    buffer: &mut [u8],
    progress: &Progress,
) -> Result<[u8; 32], Trouble> {
    let mut hash = Sha256::new();
    let mut left = plan.length;
    while left > 0 {
        let len = left.min(plan.chunk);
        let chunk = &mut buffer[..len as usize];
        if let End::Source(source) = end {
            here(channel, source.read(chunk))?;
        }
        channel.broadcast(chunk).map_err(Trouble::Channel)?;
        if let End::Destination(partial) = end {
            here(channel, partial.write(chunk))?;
        }
        hash.update(chunk);
        left -= len;
        progress.advance(len);
    }
    let finished = match end {
        End::Source(source) => source.finish(),
        End::Destination(partial) => partial.complete(plan.mode),
    };
    here(channel, finished)?;
    Ok(hash.finalize().into())
}

/// Tells the others if a step failed at this rank.
fn here(channel: &mut dyn Channel, outcome: Result<(), String>) -> Result<(), Trouble> {
    outcome.map_err(|reason| {
        channel.abort(&reason);
        Trouble::Here(reason)
    })
}
