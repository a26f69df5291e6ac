//! A rank other than 0 of a star.

use super::limits::{MAX_GREETING, max_answer};
use super::link::{Link, LinkError, frame};
use super::names::{blame, seconds};
use super::secret::{Nonces, Secret, Side, nonce};
use super::socket::Socket;
use super::star::Job;
use super::watch::Watch;
use super::{Address, BootstrapError};
use std::time::{Duration, Instant};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{
    Challenge, FrameKind, Gathered, Hello, Join, Refusal, Response, WireError,
};

/// What is said of who is not rank 0 of this job.
const ELSE: &str = "something else answers there, or rank 0 of another job";
/// Rank 0 measures the time for everyone and tells the outcome; this much longer is waited for
/// that.
const GRACE: Duration = Duration::from_secs(3);
/// The shortest and the longest pause between two attempts.
const MIN_RETRY: Duration = Duration::from_millis(50);
const MAX_RETRY: Duration = Duration::from_secs(1);
/// Longest wait for one connection, and for rank 0 to prove on it that it is rank 0: what answers there may be something
/// else, and a lost packet should not use up the whole time.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Leaf {
    link: Link,
    timeout: Duration,
    size: u32,
}

impl Leaf {
    /// Connects to rank 0 and returns when all ranks have. Until rank 0 has proven that it belongs to the job, nothing
    /// that answers ends the attempts but the time.
    pub(super) fn join(job: &Job, address: &Address) -> Result<Leaf, BootstrapError> {
        let deadline = Instant::now() + job.timeout;
        let mut pause = MIN_RETRY;
        loop {
            let patience = deadline.saturating_duration_since(Instant::now()).min(PATIENCE);
            let patience = patience.max(MIN_RETRY);
            let why = match Socket::connect(address, patience) {
                Ok(socket) => {
                    let link = Link::new(socket, MAX_GREETING);
                    let mut leaf = Leaf { link, timeout: job.timeout, size: job.size };
                    match leaf.authenticate(&job.secret, Instant::now() + patience) {
                        Ok(()) => return leaf.enter(job, address, deadline),
                        Err(why) => why,
                    }
                }
                Err(error) => error.to_string(),
            };
            if Instant::now() + pause >= deadline {
                let timeout = seconds(job.timeout);
                let what = format!("did not appear at {address} within {timeout} ({why})");
                return Err(blame(&[Rank(0)], what));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_RETRY);
        }
    }

    /// Proves that this rank belongs to the job, and sees that what answers does.
    ///
    /// # Errors
    /// If either side cannot prove that: a sentence that says why.
    fn authenticate(&mut self, secret: &Secret, deadline: Instant) -> Result<(), String> {
        let leaf = nonce().map_err(|error| error.to_string())?;
        self.link.send(frame(FrameKind::Hello, &Hello { nonce: leaf }.emit()));
        let Answer::Challenge(Challenge { nonce: hub }) = self.stranger(deadline)? else {
            return Err(ELSE.to_owned());
        };
        let nonces = Nonces { leaf, hub };
        let proof = secret.prove(Side::Leaf, &nonces);
        self.link.send(frame(FrameKind::Response, &Response { proof }.emit()));
        match self.stranger(deadline)? {
            Answer::Response(Response { proof }) if secret.accepts(Side::Hub, &nonces, &proof) => {
                Ok(())
            }
            _ => Err(ELSE.to_owned()),
        }
    }

    /// What somebody says of whom nothing is known.
    fn stranger(&mut self, deadline: Instant) -> Result<Answer, String> {
        match self.next(deadline) {
            Ok(Answer::Refused(BootstrapError { what, .. })) => {
                Err(format!("what answers there refused: {}", what.escape_debug()))
            }
            Ok(answer) => Ok(answer),
            Err(Silence::Unreadable(error @ WireError::Version { .. })) => {
                Err(format!("what answers there cannot be read: {error}"))
            }
            Err(Silence::Unreadable(_) | Silence::OutOfTurn) => Err(ELSE.to_owned()),
            Err(Silence::Closed) => Err("the connection was closed".to_owned()),
            Err(Silence::Timeout) => Err("it does not answer".to_owned()),
        }
    }

    /// Says which rank this is, and waits for all others.
    fn enter(
        mut self,
        job: &Job,
        address: &Address,
        deadline: Instant,
    ) -> Result<Leaf, BootstrapError> {
        self.link.set_limit(max_answer(job.size));
        let join = Join { rank: job.rank.0, size: job.size };
        self.link.send(frame(FrameKind::Join, &join.emit()));
        match self.next(deadline) {
            Ok(Answer::Entered) => {}
            Ok(Answer::Failed(error)) => return Err(error),
            Ok(Answer::Refused(BootstrapError { what, .. })) => {
                let what = format!("refused {} at {address}: {what}", job.rank);
                return Err(blame(&[Rank(0)], what));
            }
            Ok(_) | Err(Silence::Unreadable(_) | Silence::OutOfTurn) => {
                return Err(blame(&[Rank(0)], "sent something out of turn".to_owned()));
            }
            Err(Silence::Closed) => return Err(blame(&[Rank(0)], "left".to_owned())),
            Err(Silence::Timeout) => {
                let what = format!("did not take part within {}", seconds(job.timeout));
                return Err(blame(&[Rank(0)], what));
            }
        }
        self.answer(Instant::now() + job.timeout + GRACE)?;
        Ok(self)
    }

    pub(super) fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.exchange(blob, self.size as usize)
    }

    /// What rank 0 makes of all blobs.
    pub(super) fn judge(&mut self, blob: &[u8]) -> Result<Vec<u8>, BootstrapError> {
        self.exchange(blob, 1).map(|answer| answer.concat())
    }

    /// Gives rank 0 a blob, and returns so many.
    fn exchange(&mut self, blob: &[u8], count: usize) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.link.send(frame(FrameKind::Blob, blob));
        let answer = self.answer(Instant::now() + self.timeout)?;
        let gathered = Gathered::parse(&answer, count);
        gathered.map(|Gathered(blobs)| blobs).map_err(|error| {
            blame(&[Rank(0)], format!("sent an answer that cannot be read: {error}"))
        })
    }

    /// Waits for the outcome. The time starts anew when rank 0's does.
    fn answer(&mut self, mut deadline: Instant) -> Result<Vec<u8>, BootstrapError> {
        let what = loop {
            match self.next(deadline) {
                Ok(Answer::Entered) => deadline = Instant::now() + self.timeout + GRACE,
                Ok(Answer::Gathered(bytes)) => return Ok(bytes),
                Ok(Answer::Failed(error) | Answer::Refused(error)) => return Err(error),
                Ok(Answer::Challenge(_) | Answer::Response(_)) => {
                    break "sent something out of turn".to_owned();
                }
                Err(Silence::Closed) => break "left".to_owned(),
                Err(Silence::Unreadable(_) | Silence::OutOfTurn) => {
                    break "sent something out of turn".to_owned();
                }
                Err(Silence::Timeout) => {
                    break format!("did not take part within {}", seconds(self.timeout));
                }
            }
        };
        Err(blame(&[Rank(0)], what))
    }

    fn next(&mut self, deadline: Instant) -> Result<Answer, Silence> {
        loop {
            // What rank 0 said before it closed is still to be read.
            let written = self.link.write();
            match self.link.read() {
                Ok(Some(frame)) => {
                    return match frame.kind {
                        FrameKind::Entered => Ok(Answer::Entered),
                        FrameKind::Gathered => Ok(Answer::Gathered(frame.payload)),
                        FrameKind::Failed => Ok(Answer::Failed(reason(&frame.payload)?)),
                        FrameKind::Refused => Ok(Answer::Refused(reason(&frame.payload)?)),
                        FrameKind::Challenge => Challenge::parse(&frame.payload)
                            .map(Answer::Challenge)
                            .map_err(Silence::Unreadable),
                        FrameKind::Response => Response::parse(&frame.payload)
                            .map(Answer::Response)
                            .map_err(Silence::Unreadable),
                        FrameKind::Hello | FrameKind::Join | FrameKind::Blob => {
                            Err(Silence::OutOfTurn)
                        }
                    };
                }
                Ok(None) if written.is_err() => return Err(Silence::Closed),
                Ok(None) => {}
                Err(LinkError::Closed) => return Err(Silence::Closed),
                Err(LinkError::Unreadable(error)) => return Err(Silence::Unreadable(error)),
                Err(LinkError::OutOfTurn) => return Err(Silence::OutOfTurn),
            }
            if Instant::now() >= deadline {
                return Err(Silence::Timeout);
            }
            let mut watch = Watch::default();
            watch.link(&self.link);
            watch.wait(deadline);
        }
    }
}

/// Why rank 0 gives up.
fn reason(payload: &[u8]) -> Result<BootstrapError, Silence> {
    Refusal::parse(payload).map(BootstrapError::from).map_err(Silence::Unreadable)
}

/// What rank 0 says.
enum Answer {
    Challenge(Challenge),
    Response(Response),
    Entered,
    Gathered(Vec<u8>),
    Failed(BootstrapError),
    Refused(BootstrapError),
}

/// Why it says nothing.
enum Silence {
    Closed,
    Unreadable(WireError),
    OutOfTurn,
    Timeout,
}
