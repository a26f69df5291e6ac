//! Rank 0 of a star: collects from every rank and answers all.

use super::BootstrapError;
use super::limits::MAX_TOTAL;
use super::link::{Link, LinkError, frame};
use super::names::{at, blame, seconds};
use super::watch::Watch;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{FrameKind, Gathered, Refusal};

/// How long the last word may take to reach the others.
const PARTING: Duration = Duration::from_secs(1);

pub(super) struct Hub {
    /// By rank, from rank 1; `None` for one that has left.
    links: Vec<Option<Link>>,
    /// Where these are, also once they have left.
    peers: Vec<Option<IpAddr>>,
    timeout: Duration,
}

impl Hub {
    /// Takes over the links with ranks 1 and up and tells them that all have appeared.
    pub(super) fn new(links: Vec<Link>, timeout: Duration) -> Self {
        let peers = links.iter().map(Link::peer).collect();
        let mut hub = Hub { links: links.into_iter().map(Some).collect(), peers, timeout };
        hub.answer(&Gathered::emit(&[]), Instant::now() + timeout);
        hub
    }

    pub(super) fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        let deadline = Instant::now() + self.timeout;
        let gathered = self.collect(blob, deadline).and_then(|blobs| {
            let total: usize = blobs.iter().map(Vec::len).sum();
            if total <= MAX_TOTAL {
                return Ok(blobs);
            }
            let what = format!("all ranks together gave {total} bytes, more than {MAX_TOTAL}");
            Err(BootstrapError { rank: None, what })
        });
        match gathered {
            Ok(blobs) => {
                self.answer(&Gathered::emit(&blobs), deadline);
                Ok(blobs)
            }
            Err(error) => Err(self.give_up(error)),
        }
    }

    /// Collects from every rank, and answers all with what is made of it.
    pub(super) fn judge(
        &mut self,
        blob: &[u8],
        judge: impl FnOnce(Vec<Vec<u8>>) -> Vec<u8>,
    ) -> Result<Vec<u8>, BootstrapError> {
        let deadline = Instant::now() + self.timeout;
        match self.collect(blob, deadline) {
            Ok(blobs) => {
                self.postpone();
                let verdict = judge(blobs);
                self.answer(&Gathered::emit(std::slice::from_ref(&verdict)), deadline);
                Ok(verdict)
            }
            Err(error) => Err(self.give_up(error)),
        }
    }

    /// Tells all why there is no answer.
    fn give_up(&mut self, error: BootstrapError) -> BootstrapError {
        dismiss(self.links.drain(..).flatten().collect(), &error);
        error
    }

    /// Starts the others' time anew.
    pub(super) fn postpone(&mut self) {
        let entered = frame(FrameKind::Entered, &[]);
        for link in self.links.iter_mut().flatten() {
            link.send(entered.clone());
            // What it does not take is written in the next exchange, which also says who has left.
            let _ = link.write();
        }
    }

    fn collect(&mut self, own: &[u8], deadline: Instant) -> Result<Vec<Vec<u8>>, BootstrapError> {
        let mut blobs = vec![None; self.links.len() + 1];
        blobs[0] = Some(own.to_vec());
        self.postpone();
        // At first something may have come before.
        let mut is_ready = vec![true; self.links.len()];
        while blobs.iter().any(Option::is_none) {
            let mut gone = Vec::new();
            for (index, link) in self.links.iter_mut().enumerate().filter(|(at, _)| is_ready[*at]) {
                let rank = Rank(index as u32 + 1);
                match link.as_mut().map_or(Err(LinkError::Closed), hear) {
                    Ok(None) => {}
                    Ok(Some(blob)) if blobs[rank.index()].is_none() => {
                        blobs[rank.index()] = Some(blob);
                    }
                    Err(LinkError::Closed) => {
                        *link = None;
                        gone.push(rank);
                    }
                    Ok(Some(_)) | Err(LinkError::Unreadable(_) | LinkError::OutOfTurn) => {
                        return Err(blame(&[rank], "sent something out of turn".to_owned()));
                    }
                }
            }
            if !gone.is_empty() {
                return Err(self.blame(&gone, "left".to_owned()));
            }
            if Instant::now() >= deadline && blobs.iter().any(Option::is_none) {
                let missing: Vec<Rank> = (0..)
                    .map(Rank)
                    .zip(&blobs)
                    .filter_map(|(rank, blob)| blob.is_none().then_some(rank))
                    .collect();
                let what = format!("did not take part within {}", seconds(self.timeout));
                return Err(self.blame(&missing, what));
            }
            if blobs.iter().any(Option::is_none) {
                is_ready = self.watch().wait(deadline);
            }
        }
        Ok(blobs.into_iter().flatten().collect())
    }

    /// All links, by rank.
    fn watch(&self) -> Watch<'_> {
        let mut watch = Watch::default();
        for link in &self.links {
            match link {
                Some(link) => watch.link(link),
                None => watch.nothing(),
            }
        }
        watch
    }

    /// Says what ranks have done, and where they are.
    fn blame(&self, ranks: &[Rank], what: String) -> BootstrapError {
        let peers =
            ranks.iter().filter_map(|rank| *self.peers.get(rank.index().checked_sub(1)?)?);
        blame(ranks, what + &at(peers))
    }

    /// Sends the result to every rank. One that does not take it has left, which the next call
    /// will say: this one has succeeded for the others.
    fn answer(&mut self, gathered: &[u8], deadline: Instant) {
        let answer = frame(FrameKind::Gathered, gathered);
        for link in self.links.iter_mut().flatten() {
            link.send(answer.clone());
        }
        let deadline = deadline.max(Instant::now() + PARTING);
        loop {
            let is_late = Instant::now() >= deadline;
            for slot in &mut self.links {
                match slot.as_mut().map(Link::write) {
                    Some(Ok(false)) if !is_late => {}
                    Some(Ok(false) | Err(_)) => *slot = None,
                    Some(Ok(true)) | None => {}
                }
            }
            let mut slow =
                self.links.iter().flatten().filter(|link| link.has_unwritten()).peekable();
            if slow.peek().is_none() {
                return;
            }
            let mut watch = Watch::default();
            slow.for_each(|link| watch.writer(link));
            watch.wait(deadline);
        }
    }
}

/// The blob that a rank has sent, if it is there.
fn hear(link: &mut Link) -> Result<Option<Vec<u8>>, LinkError> {
    link.write()?;
    match link.read()? {
        None => Ok(None),
        Some(frame) if frame.kind == FrameKind::Blob => Ok(Some(frame.payload)),
        Some(_) => Err(LinkError::OutOfTurn),
    }
}

/// Tells every link why it is closed.
pub(super) fn dismiss(mut links: Vec<Link>, error: &BootstrapError) {
    let last_word = frame(FrameKind::Failed, &Refusal::from(error).emit());
    for link in &mut links {
        link.send(last_word.clone());
    }
    let deadline = Instant::now() + PARTING;
    loop {
        links.retain_mut(|link| !link.part());
        if links.is_empty() || Instant::now() >= deadline {
            return;
        }
        let mut watch = Watch::default();
        links.iter().for_each(|link| watch.link(link));
        watch.wait(deadline);
    }
}
