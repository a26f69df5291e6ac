//! Rank 0 waits until every other rank has introduced itself.
//!
//! Anything may connect to a port. Nothing that does is waited for: connections are read side by side, a stranger's is
//! closed, a silent one is given up after a while, and there are no more of them at once than a bound. What a
//! [guest](super::guest) does before it has proven to belong to the job ends nothing for the others.

use super::descriptors::make_room;
use super::guest::{Guest, Heard};
use super::hub::dismiss;
use super::limits::MAX_BLOB;
use super::link::{Link, LinkError, frame};
use super::names::{blame, seconds};
use super::socket::Listener;
use super::turned_away::TurnedAway;
use super::watch::Watch;
use super::{BootstrapError, star::Job};
use std::thread;
use std::time::{Duration, Instant};
use verbcast_core::rank::Rank;
use verbcast_core::wire::{FrameKind, Join};

/// How long ranks that come late are told why the others have given up.
const LINGER: Duration = Duration::from_secs(1);
/// Most connections that have not introduced themselves beside those of the ranks that are missing; one of them must go
/// for another.
const MAX_STRANGERS: usize = 128;
/// How often it is looked who has been silent for too long.
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked who has come late.
const LOOK: Duration = Duration::from_millis(5);
/// Connections taken between two looks at those that are there, so that a flood of them does not keep these waiting.
const MAX_TAKEN: usize = 32;

pub(super) struct Assembly<'a> {
    job: &'a Job,
    /// By rank, from rank 1.
    links: Vec<Option<Link>>,
    guests: Vec<Guest>,
    turned_away: TurnedAway,
}

impl<'a> Assembly<'a> {
    /// Returns the links with ranks 1 and up, once all are there.
    pub(super) fn wait(job: &'a Job, listener: &Listener) -> Result<Vec<Link>, BootstrapError> {
        let links = (1..job.size).map(|_| None).collect();
        let turned_away = TurnedAway::default();
        let mut assembly = Assembly { job, links, guests: Vec::new(), turned_away };
        match assembly.run(listener) {
            Ok(()) => Ok(assembly.links.into_iter().flatten().collect()),
            Err(error) => {
                assembly.linger(listener);
                // Nobody else is told anything.
                let guests = assembly.guests.into_iter().filter(Guest::is_proven);
                let links = assembly.links.into_iter().flatten();
                dismiss(links.chain(guests.map(Guest::into_link)).collect(), &error);
                Err(error)
            }
        }
    }

    /// Lets those in who come a moment after the failure, so that they learn of it too.
    fn linger(&mut self, listener: &Listener) {
        let until = Instant::now() + LINGER;
        let here = |assembly: &Assembly<'_>| {
            let guests = assembly.guests.iter().filter(|guest| guest.is_proven()).count();
            assembly.links.iter().flatten().count() + guests
        };
        while here(self) < self.links.len() && Instant::now() < until {
            if self.accept(listener).is_err() {
                return;
            }
            let unproven = self.guests.extract_if(.., |guest| !guest.is_proven());
            for mut guest in unproven.collect::<Vec<_>>() {
                match guest.hear(&self.job.secret) {
                    Ok(Heard::Step | Heard::Nothing) => {}
                    Ok(Heard::Gone | Heard::Join(_)) | Err(_) => continue,
                }
                self.guests.push(guest);
            }
            thread::sleep(LOOK);
        }
    }

    fn run(&mut self, listener: &Listener) -> Result<(), BootstrapError> {
        let deadline = Instant::now() + self.job.timeout;
        make_room(self.links.len() as u64, MAX_STRANGERS as u64)
            .map_err(|what| blame(&[Rank(0)], what))?;
        let mut tick = Instant::now() + TICK;
        while self.links.iter().any(Option::is_none) {
            self.accept(listener)?;
            if Instant::now() >= deadline {
                return Err(self.missing());
            }
            let (guests, members) = self.watch(listener, deadline.min(tick));
            let is_tick = Instant::now() >= tick;
            if is_tick {
                tick = Instant::now() + TICK;
            }
            self.hear_guests(|at| is_tick || guests[at])?;
            self.check_members(&members)?;
        }
        Ok(())
    }

    /// Waits until somebody comes or says something, or for so long. Returns which guests and which members are to be
    /// looked at.
    fn watch(&self, listener: &Listener, until: Instant) -> (Vec<bool>, Vec<bool>) {
        let mut watch = Watch::default();
        for guest in &self.guests {
            match guest.is_refused() {
                // Whatever it still says.
                true => watch.nothing(),
                false => watch.link(guest.link()),
            }
        }
        for link in &self.links {
            match link {
                Some(link) => watch.link(link),
                None => watch.nothing(),
            }
        }
        listener.fds().into_iter().for_each(|fd| watch.entrance(fd));
        let mut guests = watch.wait(until);
        let members = guests.split_off(self.guests.len());
        (guests, members)
    }

    /// Takes connections that wait.
    fn accept(&mut self, listener: &Listener) -> Result<(), BootstrapError> {
        let most = MAX_STRANGERS + self.links.iter().filter(|link| link.is_none()).count();
        for _ in 0..MAX_TAKEN {
            if self.guests.len() >= most {
                self.drop_guest("there were too many connections");
            }
            match listener.accept() {
                Ok(None) => return Ok(()),
                Ok(Some((socket, from))) => self.guests.push(Guest::new(socket, from)),
                // Without descriptors, say, which the guests may hold.
                Err(error) if !self.guests.is_empty() => {
                    self.drop_guest(&format!("no further one could be taken: {error}"));
                    return Ok(());
                }
                Err(error) => {
                    let what = format!("cannot take connections at {}: {error}", self.job.place());
                    return Err(blame(&[Rank(0)], what));
                }
            }
        }
        Ok(())
    }

    /// Gives up the guest that others lose least by: one that was refused, or else the oldest without a proof. A rank
    /// that is dropped so comes again.
    fn drop_guest(&mut self, why: &str) {
        let refused = self.guests.iter().position(Guest::is_refused);
        let unproven = || self.guests.iter().position(|guest| !guest.is_proven());
        let guest = self.guests.remove(refused.or_else(unproven).unwrap_or(0));
        if !guest.is_refused() {
            self.turned_away.note(&guest.from, why);
        }
    }

    /// Hears those guests that are to be looked at, by their numbers.
    fn hear_guests(&mut self, is_ready: impl Fn(usize) -> bool) -> Result<(), BootstrapError> {
        let mut guests = std::mem::take(&mut self.guests).into_iter().enumerate();
        while let Some((at, mut guest)) = guests.next() {
            if !is_ready(at) {
                self.guests.push(guest);
                continue;
            }
            match guest.hear(&self.job.secret) {
                Ok(Heard::Step | Heard::Nothing) => self.guests.push(guest),
                Ok(Heard::Gone) => {}
                Ok(Heard::Join(join)) => match self.judge(join) {
                    Ok(index) => {
                        let mut link = guest.into_link();
                        link.set_limit(MAX_BLOB);
                        link.send(frame(FrameKind::Entered, &[]));
                        self.links[index] = Some(link);
                    }
                    Err(error) => {
                        self.guests.push(guest);
                        self.guests.extend(guests.map(|(_, guest)| guest));
                        return Err(error);
                    }
                },
                Err(why) => {
                    self.turned_away.note(&guest.from, &why);
                    guest.refuse(why);
                    self.guests.push(guest);
                }
            }
        }
        Ok(())
    }

    /// The place of a rank among the links; an error where one of this job's ranks was started in a way that cannot
    /// work.
    fn judge(&self, join: Join) -> Result<usize, BootstrapError> {
        let rank = Rank(join.rank);
        if join.size != self.job.size {
            let (theirs, ours) = (join.size, self.job.size);
            let what = format!("was started as one of {theirs} ranks, but rank 0 as one of {ours}");
            return Err(blame(&[rank], what));
        }
        let index = join.rank.checked_sub(1).map(|index| index as usize);
        match index.map(|index| (index, self.links.get(index))) {
            Some((index, Some(None))) => Ok(index),
            Some((_, None)) => {
                let what = format!("does not exist among {} ranks", self.job.size);
                Err(blame(&[rank], what))
            }
            None | Some((_, Some(Some(_)))) => {
                Err(blame(&[rank], "was started more than once".to_owned()))
            }
        }
    }

    /// Those who are here must still be here; those are looked at of whom something is new.
    fn check_members(&mut self, is_ready: &[bool]) -> Result<(), BootstrapError> {
        let mut gone = Vec::new();
        for ((rank, slot), is_ready) in (1..).map(Rank).zip(&mut self.links).zip(is_ready) {
            let Some(link) = slot.as_mut().filter(|_| *is_ready) else { continue };
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
        if let Some(turned_away) = self.turned_away.in_words() {
            what += &format!(" ({turned_away})");
        }
        blame(&missing, what)
    }
}
