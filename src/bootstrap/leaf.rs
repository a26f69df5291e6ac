//! A rank other than 0 of a star.

use super::limits::max_answer;
use super::link::{Link, LinkError, Pause, frame};
use super::names::{blame, seconds};
use super::socket::Socket;
use super::star::Job;
use super::{Address, BootstrapError};
use std::time::{Duration, Instant};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{FrameKind, Gathered, Hello, Refusal, WireError};

/// Rank 0 measures the time for everyone and tells the outcome; this much longer is waited for
/// that.
const GRACE: Duration = Duration::from_secs(3);
/// Between two attempts to connect.
const RETRY: Duration = Duration::from_millis(50);
/// Longest wait for one connection; a lost packet should not use up the whole time.
const CONNECT: Duration = Duration::from_secs(5);

pub(super) struct Leaf {
    link: Link,
    timeout: Duration,
    size: u32,
}

impl Leaf {
    /// Connects to rank 0 and returns when all ranks have.
    pub(super) fn join(job: &Job, address: &Address) -> Result<Leaf, BootstrapError> {
        let deadline = Instant::now() + job.timeout;
        let hello = Hello { rank: job.rank.0, size: job.size, token: job.token.clone().into() };
        let hello = frame(FrameKind::Hello, &hello.emit());
        loop {
            let patience = deadline.saturating_duration_since(Instant::now()).min(CONNECT);
            let why = match Socket::connect(address, patience.max(RETRY)) {
                Ok(socket) => {
                    let mut link = Link::new(socket, max_answer(job.size));
                    link.send(hello.clone());
                    let mut leaf = Leaf { link, timeout: job.timeout, size: job.size };
                    match leaf.next(deadline) {
                        Ok(Answer::Entered) => {
                            leaf.answer(Instant::now() + job.timeout + GRACE)?;
                            return Ok(leaf);
                        }
                        Ok(Answer::Refused(BootstrapError { what, .. })) => {
                            let what = format!("refused {} at {address}: {what}", job.rank);
                            return Err(blame(&[Rank(0)], what));
                        }
                        Ok(Answer::Failed(error)) => return Err(error),
                        Err(Silence::Unreadable(error @ WireError::Version { .. })) => {
                            format!("what answers there cannot be read: {error}")
                        }
                        Ok(Answer::Gathered(_))
                        | Err(Silence::Unreadable(_) | Silence::OutOfTurn) => {
                            "something else answers there".to_owned()
                        }
                        Err(Silence::Closed) => "the connection was closed".to_owned(),
                        Err(Silence::Timeout) => "it does not answer".to_owned(),
                    }
                }
                Err(error) => error.to_string(),
            };
            if Instant::now() + RETRY >= deadline {
                let timeout = seconds(job.timeout);
                let what = format!("did not appear at {address} within {timeout} ({why})");
                return Err(blame(&[Rank(0)], what));
            }
            std::thread::sleep(RETRY);
        }
    }

    pub(super) fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.link.send(frame(FrameKind::Blob, blob));
        let answer = self.answer(Instant::now() + self.timeout)?;
        let gathered = Gathered::parse(&answer, self.size as usize);
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
        let mut pause = Pause::new();
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
                        FrameKind::Hello | FrameKind::Blob => Err(Silence::OutOfTurn),
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
            pause.sleep(deadline);
        }
    }
}

/// Why rank 0 gives up.
fn reason(payload: &[u8]) -> Result<BootstrapError, Silence> {
    Refusal::parse(payload).map(BootstrapError::from).map_err(Silence::Unreadable)
}

/// What rank 0 says.
enum Answer {
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
