//! Rank 0 waits until every other rank has introduced itself.
//!
//! Anything may connect to a port. Nothing that does is waited for: connections are read side by
//! side, a stranger's is closed, and a silent one is given up after a while.

use super::hub::dismiss;
use super::limits::MAX_BLOB;
use super::link::{Link, LinkError, Pause, frame};
use super::names::{blame, seconds};
use super::socket::Listener;
use super::{BootstrapError, star::Job};
use std::time::{Duration, Instant};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{FrameKind, Hello, MAX_HELLO, Refusal, WireError};

/// How long a connection may stay silent.
const SILENCE: Duration = Duration::from_secs(10);
/// How long ranks that come late are told why the others have given up.
const LINGER: Duration = Duration::from_secs(1);
/// Most connections that have not introduced themselves; the oldest must go for another.
const MAX_GUESTS: usize = 128;

/// What is said of who does not talk as a rank does.
const STRANGER: &str = "it is not a verbcast rank";

/// A connection that is not a rank yet, or has been refused.
struct Guest {
    link: Link,
    from: String,
    since: Instant,
    refused: bool,
}

/// What a guest turns out to be.
enum Verdict {
    Rank(Rank),
    /// Somebody else; the others are still waited for.
    Refused(String),
    /// One of this job's ranks, started in a way that cannot work.
    Fatal(BootstrapError),
}

pub(super) struct Assembly<'a> {
    job: &'a Job,
    /// By rank, from rank 1.
    links: Vec<Option<Link>>,
    guests: Vec<Guest>,
    /// Who was turned away last, for the message if somebody is missing in the end.
    refusal: Option<String>,
}

impl<'a> Assembly<'a> {
    /// Returns the links with ranks 1 and up, once all are there.
    pub(super) fn wait(job: &'a Job, listener: &Listener) -> Result<Vec<Link>, BootstrapError> {
        let links = (1..job.size).map(|_| None).collect();
        let mut assembly = Assembly { job, links, guests: Vec::new(), refusal: None };
        match assembly.run(listener) {
            Ok(()) => Ok(assembly.links.into_iter().flatten().collect()),
            Err(error) => {
                assembly.linger(listener);
                let guests = assembly.guests.into_iter().filter(|guest| !guest.refused);
                let links = assembly.links.into_iter().flatten();
                dismiss(links.chain(guests.map(|guest| guest.link)).collect(), &error);
                Err(error)
            }
        }
    }

    /// Lets those in who come a moment after the failure, so that they learn of it too.
    fn linger(&mut self, listener: &Listener) {
        let until = Instant::now() + LINGER;
        let here = |assembly: &Assembly<'_>| {
            let guests = assembly.guests.iter().filter(|guest| !guest.refused).count();
            assembly.links.iter().flatten().count() + guests
        };
        let mut pause = Pause::new();
        while here(self) < self.links.len() && Instant::now() < until {
            match self.accept(listener) {
                Ok(true) => {}
                Ok(false) => pause.sleep(until),
                Err(_) => return,
            }
        }
    }

    fn run(&mut self, listener: &Listener) -> Result<(), BootstrapError> {
        let deadline = Instant::now() + self.job.timeout;
        let mut pause = Pause::new();
        while self.links.iter().any(Option::is_none) {
            let mut news = self.accept(listener)?;
            news |= self.hear_guests()?;
            self.check_members()?;
            if news {
                pause.reset();
            } else if Instant::now() < deadline {
                pause.sleep(deadline);
            } else {
                return Err(self.missing());
            }
        }
        Ok(())
    }

    /// Takes one connection, so that a flood of them does not keep the others waiting.
    fn accept(&mut self, listener: &Listener) -> Result<bool, BootstrapError> {
        match listener.accept() {
            Ok(None) => Ok(false),
            Ok(Some((socket, from))) => {
                if self.guests.len() >= MAX_GUESTS {
                    self.guests.remove(0);
                }
                let link = Link::new(socket, MAX_HELLO);
                self.guests.push(Guest { link, from, since: Instant::now(), refused: false });
                Ok(true)
            }
            Err(error) => Err(blame(
                &[Rank(0)],
                format!("cannot take connections at {}: {error}", self.job.place()),
            )),
        }
    }

    fn hear_guests(&mut self) -> Result<bool, BootstrapError> {
        let mut news = false;
        for mut guest in std::mem::take(&mut self.guests) {
            if guest.refused {
                if !guest.link.part() && guest.since.elapsed() < SILENCE {
                    self.guests.push(guest);
                }
                continue;
            }
            let verdict = match guest.link.read() {
                Ok(None) if guest.since.elapsed() < SILENCE => {
                    self.guests.push(guest);
                    continue;
                }
                Ok(None) => Verdict::Refused("it said nothing".to_owned()),
                Err(LinkError::Closed) => Verdict::Refused("it closed at once".to_owned()),
                Ok(Some(frame)) if frame.kind == FrameKind::Hello => self.judge(&frame.payload),
                Ok(Some(_)) | Err(LinkError::OutOfTurn) => Verdict::Refused(STRANGER.to_owned()),
                Err(LinkError::Unreadable(error)) => Verdict::Refused(in_words(error)),
            };
            news = true;
            match verdict {
                Verdict::Rank(rank) => {
                    guest.link.set_limit(MAX_BLOB);
                    guest.link.send(frame(FrameKind::Entered, &[]));
                    self.links[rank.index() - 1] = Some(guest.link);
                }
                Verdict::Refused(why) => {
                    self.refusal = Some(format!("a connection from {}: {why}", guest.from));
                    let refusal = Refusal { rank: None, what: why };
                    guest.link.send(frame(FrameKind::Refused, &refusal.emit()));
                    guest.refused = true;
                    guest.since = Instant::now();
                    self.guests.push(guest);
                }
                Verdict::Fatal(error) => {
                    self.guests.push(guest);
                    return Err(error);
                }
            }
        }
        Ok(news)
    }

    fn judge(&self, bytes: &[u8]) -> Verdict {
        let hello = match Hello::parse(bytes) {
            Ok(hello) => hello,
            Err(error) => return Verdict::Refused(in_words(error)),
        };
        if hello.token != self.job.token.as_bytes() {
            return Verdict::Refused("it belongs to another job (its token differs)".to_owned());
        }
        let rank = Rank(hello.rank);
        if hello.size != self.job.size {
            let (theirs, ours) = (hello.size, self.job.size);
            let what = format!("was started as one of {theirs} ranks, but rank 0 as one of {ours}");
            return Verdict::Fatal(blame(&[rank], what));
        }
        match hello.rank.checked_sub(1).map(|index| self.links.get(index as usize)) {
            Some(Some(None)) => Verdict::Rank(rank),
            Some(None) => {
                let what = format!("does not exist among {} ranks", self.job.size);
                Verdict::Fatal(blame(&[rank], what))
            }
            None | Some(Some(Some(_))) => {
                Verdict::Fatal(blame(&[rank], "was started more than once".to_owned()))
            }
        }
    }

    /// Those who are here must still be here.
    fn check_members(&mut self) -> Result<(), BootstrapError> {
        let mut gone = Vec::new();
        for (rank, slot) in (1..).map(Rank).zip(&mut self.links) {
            let Some(link) = slot else { continue };
            match link.write().and_then(|_| link.read()) {
                Ok(None) => {}
                Err(LinkError::Closed) => {
                    *slot = None;
                    gone.push(rank);
                }
                Ok(Some(_)) | Err(LinkError::Unreadable(_) | LinkError::OutOfTurn) => {
                    return Err(blame(&[rank], "sent something out of turn".to_owned()));
                }
            }
        }
        if gone.is_empty() { Ok(()) } else { Err(blame(&gone, "left".to_owned())) }
    }

    fn missing(&self) -> BootstrapError {
        let slots = (1..).map(Rank).zip(&self.links);
        let missing: Vec<Rank> =
            slots.filter_map(|(rank, slot)| slot.is_none().then_some(rank)).collect();
        let mut what =
            format!("did not appear at {} within {}", self.job.place(), seconds(self.job.timeout));
        if let Some(refusal) = &self.refusal {
            what += &format!(" (turned away: {refusal})");
        }
        blame(&missing, what)
    }
}

/// What is said of a connection that cannot be understood: of another version, which one it is.
fn in_words(error: WireError) -> String {
    match error {
        WireError::Version { .. } => error.to_string(),
        _ => STRANGER.to_owned(),
    }
}
