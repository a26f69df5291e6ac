//! Frames on their way round.

use super::super::digest::{Hash, Hasher, LEN};
use super::super::progress::Progress;
use super::super::source::Source;
use super::super::staging::Output;
use super::{Channel, Chunks};
use std::collections::VecDeque;
use std::ops::DerefMut;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Broadcasts that are under way at a time, so that the next one begins while the last rank still misses something.
const IN_FLIGHT: usize = 2;
/// Between two looks at the other ranks while there is nothing to broadcast.
const SERVE_EVERY: Duration = Duration::from_millis(10);
/// How long the other threads may take to end after a failure; one may wait for a pipe that nobody reads.
const FAREWELL: Duration = Duration::from_secs(2);

/// This rank's end of the copy.
pub enum End {
    Source(Source),
    Destination(Output),
}

/// What went through here.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub bytes: u64,
    pub digest: [u8; LEN],
}

/// Why a transfer failed.
#[derive(Debug)]
pub enum Trouble {
    /// Something at this rank; the others have been told.
    Here(String),
    /// What the channel says; it names the rank.
    Channel(String),
}

pub struct Frame<B> {
    buffer: B,
    /// Bytes of data.
    len: usize,
    /// All ranks have it: it is not broadcast.
    is_held: bool,
    is_last: bool,
}

/// A thread of this rank's end, with the bytes that went through or what went wrong.
type Worker<T> = JoinHandle<Result<T, String>>;

struct Ends<B> {
    /// From where the channel takes frames.
    inlet: Receiver<Frame<B>>,
    /// Where it puts them.
    outlet: Sender<Frame<B>>,
    /// The buffer of the last chunk, where it is the channel that fills it.
    rest: Option<B>,
    file: Worker<u64>,
    hash: Option<Worker<[u8; LEN]>>,
}

/// Moves all data through the buffers: those of whole chunks, and one for the last.
pub fn run<C: Channel>(
    channel: &mut C,
    end: End,
    (chunks, hash): (&Chunks, Hash),
    buffers: (Vec<C::Buffer>, Option<C::Buffer>),
    progress: &Progress,
) -> Result<Outcome, Trouble> {
    let is_source = matches!(end, End::Source(_));
    let told = |channel: &mut C, reason: String| {
        channel.abort(&reason);
        Trouble::Here(reason)
    };
    let Ends { inlet, outlet, rest, file, hash } =
        begin(end, (chunks, hash), buffers).map_err(|reason| told(channel, reason))?;
    let moved = match is_source {
        true => send_all(channel, &inlet, &outlet, progress),
        false => receive_all(channel, chunks, &inlet, &outlet, rest, progress),
    };
    drop((inlet, outlet));
    if let Err(what) = moved {
        wait_for_end(&file);
        return Err(Trouble::Channel(what));
    }
    let bytes = join(file);
    let digest = hash.map_or(Ok([0; LEN]), join);
    let outcome = bytes.and_then(|bytes| Ok(Outcome { bytes, digest: digest? }));
    outcome.map_err(|reason| told(channel, reason))
}

/// Starts the threads, and gives them the buffers.
fn begin<B>(
    end: End,
    (chunks, hash): (&Chunks, Hash),
    (whole, rest): (Vec<B>, Option<B>),
) -> Result<Ends<B>, String>
where
    B: DerefMut<Target = [u8]> + Send + 'static,
{
    let (outlet, at_file) = mpsc::channel();
    let (to_channel, inlet) = mpsc::channel();
    // At rank 0 all are to be filled from the file, at the others from the channel.
    let first = if matches!(end, End::Source(_)) { &outlet } else { &to_channel };
    for buffer in whole {
        // Both receivers are there.
        let _ = first.send(Frame { buffer, len: 0, is_held: false, is_last: false });
    }
    let (to_next, hash) = match hash {
        Hash::None => (to_channel, None),
        _ => {
            let (to_hash, at_hash) = mpsc::channel();
            let hasher = Hasher::new(hash);
            let work = move || Ok(hash_all(hasher, &at_hash, &to_channel));
            (to_hash, Some(spawn("hash", work)?))
        }
    };
    let chunks = chunks.clone();
    let (file, rest) = match end {
        End::Source(source) => {
            let work = move || read_all(source, &chunks, (&at_file, rest), &to_next);
            (spawn("read", work)?, None)
        }
        End::Destination(output) => {
            let work = move || write_all(output, &chunks, &at_file, &to_next);
            (spawn("write", work)?, rest)
        }
    };
    Ok(Ends { inlet, outlet, rest, file, hash })
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<Worker<T>, String> {
    let thread = thread::Builder::new().name(name.into());
    thread.spawn(work).map_err(|error| format!("cannot start a thread: {error}"))
}

fn join<T>(worker: Worker<T>) -> Result<T, String> {
    worker.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Waits for a bounded time until a thread has ended.
fn wait_for_end<T>(worker: &Worker<T>) {
    let until = Instant::now() + FAREWELL;
    while !worker.is_finished() && Instant::now() < until {
        thread::sleep(SERVE_EVERY);
    }
}

/// The next frame for the channel; none if no more come. Meanwhile the other ranks are served.
fn next_frame<C: Channel>(
    channel: &mut C,
    inlet: &Receiver<Frame<C::Buffer>>,
) -> Result<Option<Frame<C::Buffer>>, String> {
    loop {
        match inlet.recv_timeout(SERVE_EVERY) {
            Ok(frame) => return Ok(Some(frame)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => channel.serve()?,
        }
    }
}

/// Broadcasts frame after frame; ends early, without an error of its own, if none comes any more.
fn send_all<C: Channel>(
    channel: &mut C,
    inlet: &Receiver<Frame<C::Buffer>>,
    outlet: &Sender<Frame<C::Buffer>>,
    progress: &Progress,
) -> Result<(), String> {
    let mut in_flight = VecDeque::new();
    loop {
        let frame = match inlet.try_recv() {
            Ok(frame) => frame,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) if !in_flight.is_empty() => {
                end_oldest(channel, &mut in_flight, outlet)?;
                continue;
            }
            Err(TryRecvError::Empty) => match next_frame(channel, inlet)? {
                Some(frame) => frame,
                None => break,
            },
        };
        let Frame { buffer, len, is_held, is_last } = frame;
        progress.advance(len as u64);
        if is_held {
            // A file that has been read needs it no more.
            let _ = outlet.send(Frame { buffer, len, is_held, is_last });
            continue;
        }
        if in_flight.len() >= IN_FLIGHT {
            end_oldest(channel, &mut in_flight, outlet)?;
        }
        in_flight.push_back(channel.start(buffer)?);
    }
    while !in_flight.is_empty() {
        end_oldest(channel, &mut in_flight, outlet)?;
    }
    Ok(())
}

fn end_oldest<C: Channel>(
    channel: &mut C,
    in_flight: &mut VecDeque<C::Pending>,
    outlet: &Sender<Frame<C::Buffer>>,
) -> Result<(), String> {
    if let Some(pending) = in_flight.pop_front() {
        let buffer = channel.wait(pending)?;
        // A file that has been read needs it no more.
        let _ = outlet.send(Frame { buffer, len: 0, is_held: false, is_last: false });
    }
    Ok(())
}

/// Receives chunk after chunk; ends early, without an error of its own, when no free buffer comes any more.
fn receive_all<C: Channel>(
    channel: &mut C,
    chunks: &Chunks,
    inlet: &Receiver<Frame<C::Buffer>>,
    outlet: &Sender<Frame<C::Buffer>>,
    mut rest: Option<C::Buffer>,
    progress: &Progress,
) -> Result<(), String> {
    let mut receiving = Receiving { channel, chunks, outlet, progress, in_flight: VecDeque::new() };
    for chunk in 0..chunks.count() {
        let buffer = match chunks.is_short(chunk) {
            true => rest.take(),
            false => receiving.free_frame(inlet)?.map(|frame| frame.buffer),
        };
        let Some(buffer) = buffer else { return Ok(()) };
        if receiving.take(chunk, buffer)? {
            break;
        }
    }
    receiving.end_all()
}

struct Receiving<'a, C: Channel> {
    channel: &'a mut C,
    chunks: &'a Chunks,
    outlet: &'a Sender<Frame<C::Buffer>>,
    progress: &'a Progress,
    /// Broadcasts, with the number of the chunk.
    in_flight: VecDeque<(C::Pending, u64)>,
}

impl<C: Channel> Receiving<'_, C> {
    /// A frame that may be filled; none if nobody writes the file any longer.
    fn free_frame(
        &mut self,
        inlet: &Receiver<Frame<C::Buffer>>,
    ) -> Result<Option<Frame<C::Buffer>>, String> {
        loop {
            match inlet.try_recv() {
                Ok(frame) => return Ok(Some(frame)),
                Err(TryRecvError::Disconnected) => return Ok(None),
                Err(TryRecvError::Empty) if !self.in_flight.is_empty() => {
                    self.end_oldest().map(|_| ())?
                }
                Err(TryRecvError::Empty) => return next_frame(self.channel, inlet),
            }
        }
    }

    /// Receives a chunk, or takes it as it is held. Returns whether the stream has ended.
    fn take(&mut self, chunk: u64, buffer: C::Buffer) -> Result<bool, String> {
        if self.chunks.is_held(chunk) {
            self.end_all()?;
            self.pass_on(buffer, self.chunks.len(chunk), chunk, true);
            return Ok(false);
        }
        let pending = self.channel.start(buffer)?;
        self.in_flight.push_back((pending, chunk));
        // Whether a stream goes on is known when its last frame is here.
        let most = if self.chunks.is_stream() { 1 } else { IN_FLIGHT };
        if self.in_flight.len() >= most { self.end_oldest() } else { Ok(false) }
    }

    fn end_all(&mut self) -> Result<(), String> {
        while !self.in_flight.is_empty() {
            self.end_oldest()?;
        }
        Ok(())
    }

    /// Waits for the oldest broadcast. Returns whether it was the last of a stream.
    fn end_oldest(&mut self) -> Result<bool, String> {
        let Some((pending, chunk)) = self.in_flight.pop_front() else { return Ok(false) };
        let buffer = self.channel.wait(pending)?;
        let most = self.chunks.len(chunk);
        let len = if self.chunks.is_stream() { count_of(&buffer, most)? } else { most };
        Ok(self.pass_on(buffer, len, chunk, false))
    }

    fn pass_on(&mut self, buffer: C::Buffer, len: usize, chunk: u64, is_held: bool) -> bool {
        let is_end = self.chunks.is_stream() && len < self.chunks.len(chunk);
        let is_last = is_end || chunk + 1 == self.chunks.count();
        self.progress.advance(len as u64);
        // If nobody writes the file any longer, the thread that did says why.
        let _ = self.outlet.send(Frame { buffer, len, is_held, is_last });
        is_end
    }
}

/// How many bytes of a stream's frame count.
fn count_of(buffer: &[u8], most: usize) -> Result<usize, String> {
    let count = buffer.last_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let count = count.and_then(|count| usize::try_from(count).ok()).filter(|count| *count <= most);
    count.ok_or_else(|| "rank 0: sent a part of the stream with an impossible length".to_owned())
}

/// Reads chunk after chunk. Its error counts only if the broadcasts have none.
fn read_all<B: DerefMut<Target = [u8]>>(
    mut source: Source,
    chunks: &Chunks,
    (frames, mut rest): (&Receiver<Frame<B>>, Option<B>),
    to_next: &Sender<Frame<B>>,
) -> Result<u64, String> {
    let mut bytes = 0;
    for chunk in 0..chunks.count() {
        let buffer = if chunks.is_short(chunk) { rest.take() } else { None };
        let buffer = buffer.or_else(|| frames.recv().ok().map(|frame| frame.buffer));
        let mut buffer = buffer.ok_or("the broadcasts have ended")?;
        let most = chunks.len(chunk);
        let len = source.read(&mut buffer[..most])?;
        if chunks.is_stream() {
            buffer[most..].copy_from_slice(&(len as u64).to_le_bytes());
        }
        bytes += len as u64;
        let is_last = if chunks.is_stream() { len < most } else { chunk + 1 == chunks.count() };
        // The channel's error counts more than that nobody takes it.
        let _ = to_next.send(Frame { buffer, len, is_held: chunks.is_held(chunk), is_last });
        if is_last {
            break;
        }
    }
    source.finish()?;
    Ok(bytes)
}

/// Writes chunk after chunk, and reads those that are held. Its error counts only if the broadcasts have none.
fn write_all<B: DerefMut<Target = [u8]>>(
    mut output: Output,
    chunks: &Chunks,
    frames: &Receiver<Frame<B>>,
    to_next: &Sender<Frame<B>>,
) -> Result<u64, String> {
    let (mut bytes, mut is_whole) = (0, chunks.count() == 0);
    while !is_whole {
        let mut frame = frames.recv().map_err(|_| "the broadcasts have ended")?;
        let data = &mut frame.buffer[..frame.len];
        match frame.is_held {
            true => output.read(data)?,
            false => output.write(data)?,
        }
        bytes += frame.len as u64;
        is_whole = frame.is_last;
        // Nobody waits for those that were written last.
        let _ = to_next.send(frame);
    }
    output.finish()?;
    Ok(bytes)
}

fn hash_all<B: DerefMut<Target = [u8]>>(
    mut hasher: Hasher,
    frames: &Receiver<Frame<B>>,
    to_next: &Sender<Frame<B>>,
) -> [u8; LEN] {
    for frame in frames {
        hasher.update(&frame.buffer[..frame.len]);
        // Nobody waits for the last ones.
        let _ = to_next.send(frame);
    }
    hasher.finish()
}
