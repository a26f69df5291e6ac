//! The data: one broadcast per chunk, hashed on both sides.

#[cfg(test)]
mod tests;

use super::destination::Partial;
use super::plan::Plan;
use super::progress::Progress;
use super::source::Source;
use sha2::{Digest, Sha256};
use std::ops::DerefMut;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

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

impl End {
    fn read_or_write(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        match self {
            End::Source(source) => source.read(bytes),
            End::Destination(partial) => partial.write(bytes),
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        match self {
            End::Source(source) => source.finish(),
            End::Destination(partial) => partial.complete(),
        }
    }
}

/// Why a transfer failed.
#[derive(Debug)]
pub enum Trouble {
    /// Something at this rank; the others have been told.
    Here(String),
    /// What the channel says; it names the rank.
    Channel(String),
}

/// The lengths of the buffers that a transfer needs: one is broadcast while the other is read or written. A
/// broadcast is of at most 1 GiB, which fits.
pub fn buffer_lengths(plan: &Plan) -> impl Iterator<Item = usize> {
    let count = plan.length.div_ceil(plan.chunk).clamp(1, 2);
    let len = plan.chunk.min(plan.length);
    (0..count).map(move |_| len as usize)
}

/// Moves the whole file through the buffers. Returns the SHA-256 of what went through here.
///
/// The file is read or written and hashed by a thread of its own, while the chunk before or after goes through the
/// channel.
pub fn run(
    channel: &mut dyn Channel,
    end: &mut End,
    plan: &Plan,
    buffers: &mut [impl DerefMut<Target = [u8]>],
    progress: &Progress,
) -> Result<[u8; 32], Trouble> {
    let (to_file, at_file) = mpsc::channel();
    let (from_file, at_channel) = mpsc::channel();
    for buffer in buffers {
        // Neither receiver is gone yet.
        let _ = match end {
            End::Source(_) => to_file.send(&mut **buffer),
            End::Destination(_) => from_file.send(&mut **buffer),
        };
    }
    let file = thread::scope(|scope| {
        let thread = thread::Builder::new().name("file".into());
        let file = match thread.spawn_scoped(scope, || file_side(end, plan, at_file, from_file)) {
            Ok(file) => file,
            Err(error) => return Ok(Err(format!("cannot start a thread: {error}"))),
        };
        let broadcast = broadcast_all(channel, plan, at_channel, to_file, progress);
        let file = file.join().unwrap_or_else(|panic| resume_unwind(panic));
        broadcast.map(|()| file)
    })?;
    file.map_err(|reason| {
        channel.abort(&reason);
        Trouble::Here(reason)
    })
}

/// Broadcasts chunk after chunk, in buffers from the file's side; ends early, without an error of its own, if none comes
/// any more.
fn broadcast_all<'b>(
    channel: &mut dyn Channel,
    plan: &Plan,
    buffers: Receiver<&'b mut [u8]>,
    to_file: Sender<&'b mut [u8]>,
    progress: &Progress,
) -> Result<(), Trouble> {
    for len in chunk_lengths(plan) {
        let Ok(buffer) = buffers.recv() else { break };
        channel.broadcast(&mut buffer[..len]).map_err(Trouble::Channel)?;
        progress.advance(len as u64);
        // A file that has been read needs it no more.
        let _ = to_file.send(buffer);
    }
    Ok(())
}

/// Reads or writes chunk after chunk, and hashes them. Its error counts only if the broadcasts have none.
fn file_side<'b>(
    end: &mut End,
    plan: &Plan,
    buffers: Receiver<&'b mut [u8]>,
    to_channel: Sender<&'b mut [u8]>,
) -> Result<[u8; 32], String> {
    let mut hash = Sha256::new();
    for len in chunk_lengths(plan) {
        let buffer = buffers.recv().map_err(|_| "the broadcasts have ended")?;
        let chunk = &mut buffer[..len];
        end.read_or_write(chunk)?;
        hash.update(chunk);
        // Nobody waits for those that were written last.
        let _ = to_channel.send(buffer);
    }
    end.finish()?;
    Ok(hash.finalize().into())
}

fn chunk_lengths(plan: &Plan) -> impl Iterator<Item = usize> {
    let (whole, rest) = (plan.length / plan.chunk, plan.length % plan.chunk);
    (0..whole).map(|_| plan.chunk).chain((rest > 0).then_some(rest)).map(|len| len as usize)
}
