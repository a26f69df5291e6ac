//! A connection to rank 0 that is not a rank yet.
//!
//! It says hello, is challenged, proves that it belongs to the job, is shown that rank 0 does, and only then says which
//! rank it is. Until its proof it learns nothing about the job, and nothing that it does ends anything but itself.

use super::limits::MAX_GREETING;
use super::link::{Link, LinkError, frame};
use super::secret::{Nonces, Secret, Side, nonce};
use super::socket::Socket;
use std::time::{Duration, Instant};
use verbcast_core::wire::{Challenge, FrameKind, Hello, Join, Refusal, Response, WireError};

/// How long a connection may take to say which rank it is, or to take the last word.
const SILENCE: Duration = Duration::from_secs(10);

/// What is said of who does not talk as a rank does.
const STRANGER: &str = "it is not a verbcast rank";

/// How far a guest has come.
#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Connected,
    Challenged(Nonces),
    Proven,
    Refused,
}

/// What was heard of a guest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing new.
    Nothing,
    /// It has come a step further.
    Step,
    /// It says which rank it is, and belongs to the job.
    Join(Join),
    /// It is over.
    Gone,
}

pub(super) struct Guest {
    link: Link,
    /// Whom the connection is from.
    pub(super) from: String,
    since: Instant,
    stage: Stage,
}

impl Guest {
    pub(super) fn new(socket: Socket, from: String) -> Self {
        let link = Link::new(socket, MAX_GREETING);
        Guest { link, from, since: Instant::now(), stage: Stage::Connected }
    }

    /// Whether it has proven that it belongs to the job.
    pub(super) fn is_proven(&self) -> bool {
        self.stage == Stage::Proven
    }

    /// Whether it was refused.
    pub(super) fn is_refused(&self) -> bool {
        self.stage == Stage::Refused
    }

    /// The connection.
    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// The link with a guest that has become a rank.
    pub(super) fn into_link(self) -> Link {
        self.link
    }

    /// Takes what it has said and answers.
    ///
    /// # Errors
    /// Why it is to be refused.
    pub(super) fn hear(&mut self, secret: &Secret) -> Result<Heard, String> {
        if self.stage == Stage::Refused {
            let is_over = self.link.part() || self.since.elapsed() >= SILENCE;
            return Ok(if is_over { Heard::Gone } else { Heard::Nothing });
        }
        let heard = self.link.write().and_then(|_| self.link.read());
        let frame = match heard {
            Ok(Some(frame)) => frame,
            Ok(None) if self.since.elapsed() < SILENCE => return Ok(Heard::Nothing),
            Ok(None) => return Err("it did not say in time who it is".to_owned()),
            Err(LinkError::Closed) => return Err("it closed at once".to_owned()),
            Err(LinkError::OutOfTurn) => return Err(STRANGER.to_owned()),
            Err(LinkError::Unreadable(error)) => return Err(in_words(error)),
        };
        let heard = self.answer(frame.kind, &frame.payload, secret)?;
        // What cannot be written now is tried again with the next look.
        let _ = self.link.write();
        Ok(heard)
    }

    fn answer(
        &mut self,
        kind: FrameKind,
        payload: &[u8],
        secret: &Secret,
    ) -> Result<Heard, String> {
        match (&self.stage, kind) {
            (Stage::Connected, FrameKind::Hello) => {
                let leaf = Hello::parse(payload).map_err(in_words)?.nonce;
                let hub = nonce().map_err(|error| error.to_string())?;
                self.link.send(frame(FrameKind::Challenge, &Challenge { nonce: hub }.emit()));
                self.stage = Stage::Challenged(Nonces { leaf, hub });
                Ok(Heard::Step)
            }
            (Stage::Challenged(nonces), FrameKind::Response) => {
                let response = Response::parse(payload).map_err(in_words)?;
                if !secret.accepts(Side::Leaf, nonces, &response.proof) {
                    return Err("it belongs to another job (its token differs)".to_owned());
                }
                let proof = secret.prove(Side::Hub, nonces);
                self.link.send(frame(FrameKind::Response, &Response { proof }.emit()));
                self.stage = Stage::Proven;
                Ok(Heard::Step)
            }
            (Stage::Proven, FrameKind::Join) => {
                Join::parse(payload).map(Heard::Join).map_err(in_words)
            }
            _ => Err(STRANGER.to_owned()),
        }
    }

    /// Tells it why it is no guest any more.
    pub(super) fn refuse(&mut self, why: String) {
        let refusal = Refusal { rank: None, what: why };
        self.link.send(frame(FrameKind::Refused, &refusal.emit()));
        self.stage = Stage::Refused;
        self.since = Instant::now();
    }
}

/// What is said of a connection that cannot be understood: of another version, which one it is.
fn in_words(error: WireError) -> String {
    match error {
        WireError::Version { .. } => error.to_string(),
        _ => STRANGER.to_owned(),
    }
}
