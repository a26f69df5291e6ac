//! Telling others that the own UD QP is another one: where an adapter does not let one that failed be used again.
//!
//! Processes that are not connected with this one need its number to connect. They are told by datagrams, in rounds, until
//! they have answered, or until the timeout of the settings. As theirs may be another one too, unknown here, the news also goes
//! over all connections, and whoever it is news to passes it on. Who has not heard of it even so finds this process by a
//! handshake to the group, or when this process speaks first.

use super::{Endpoint, failed};
use crate::rdma::ids::ProcessId;
use crate::rdma::memory::Source;
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{DatagramQp, Kind, Relocation};

/// Between two datagrams, so that the answers find receives.
const STEP: Duration = Duration::from_millis(1);
/// Between the end of the first round and the second one; it doubles up to [`MAX_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(40);
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// The processes that are told.
#[derive(Debug, Default)]
pub struct Announcement {
    /// Those who have not answered.
    unanswered: BTreeSet<ProcessId>,
    /// Those of them who are to be told in this round.
    round: VecDeque<ProcessId>,
    due: Instant,
    pause: Duration,
    until: Instant,
    /// News to be passed on over connections, and to whom.
    passed_on: VecDeque<(ProcessId, Relocation)>,
}

impl Announcement {
    /// Begins with these, until then.
    fn begin(&mut self, now: Instant, to: BTreeSet<ProcessId>, until: Instant) {
        self.round = to.iter().copied().collect();
        self.unanswered = to;
        (self.due, self.pause, self.until) = (now, FIRST_PAUSE, until);
    }

    /// Whether somebody is still to be told.
    pub fn is_under_way(&self) -> bool {
        !self.unanswered.is_empty() || !self.passed_on.is_empty()
    }

    /// A process has heard of it.
    fn answered(&mut self, process: ProcessId) {
        self.unanswered.remove(&process);
    }

    /// The process that is to be told now.
    fn poll(&mut self, now: Instant) -> Option<ProcessId> {
        if now < self.due || self.unanswered.is_empty() {
            return None;
        }
        if now >= self.until {
            self.unanswered.clear();
            return None;
        }
        if self.round.is_empty() {
            self.round = self.unanswered.iter().copied().collect();
        }
        let mut told = None;
        while told.is_none() && !self.round.is_empty() {
            told = self.round.pop_front().filter(|one| self.unanswered.contains(one));
        }
        self.due = now + STEP;
        if self.round.is_empty() {
            self.due = now + self.pause;
            self.pause = (2 * self.pause).min(MAX_PAUSE);
        }
        told
    }
}

impl Endpoint {
    /// The UD QP is another one now.
    pub(super) fn relocate(&mut self, now: Instant, datagrams: DatagramQp) {
        self.site.address.datagrams = datagrams;
        self.connections.set_datagrams(datagrams);
        if let Some(own) = self.connections.of_incarnation(self.site.address.incarnation) {
            self.senders.relocate(own, datagrams.qpn);
        }
        let (connected, others) = self.connections.by_connection();
        self.announcement.begin(now, others.into_iter().collect(), now + self.settings.timeout);
        let news = self.relocation(false);
        self.announcement.passed_on.extend(connected.into_iter().map(|to| (to, news)));
    }

    /// Where this process is.
    fn relocation(&self, is_answer: bool) -> Relocation {
        let own = self.site.address;
        Relocation { from: own.incarnation, datagrams: own.datagrams, is_answer }
    }

    /// Tells who is to be told of it now.
    pub(super) fn announce(&mut self, now: Instant) -> Result<(), TransportError> {
        if !self.announcement.is_under_way() {
            return Ok(());
        }
        while self.connections.room() > 0
            && let Some((process, news)) = self.announcement.passed_on.pop_front()
        {
            let payload = news.emit();
            let header = self.header_to(process, Kind::Connect, &payload);
            let sent = self.connections.send(process, &header, Source::Bytes(&payload), None);
            sent.map_err(failed)?;
        }
        match self.announcement.poll(now) {
            Some(process) => self.send_relocation(process, false),
            None => Ok(()),
        }
    }

    /// News of a process, which is passed on if it was news.
    pub(super) fn learn_relocation(&mut self, news: &Relocation) -> Option<ProcessId> {
        let process = self.connections.of_incarnation(news.from)?;
        if self.connections.learn(process, news.datagrams) {
            self.senders.relocate(process, news.datagrams.qpn);
            let news = Relocation { is_answer: false, ..*news };
            let (connected, _) = self.connections.by_connection();
            let others = connected.into_iter().filter(|other| *other != process);
            self.announcement.passed_on.extend(others.map(|to| (to, news)));
        }
        Some(process)
    }

    /// A process tells by a datagram where it is now, or has heard where this one is.
    pub(super) fn handle_relocation(&mut self, news: &Relocation) -> Result<(), TransportError> {
        let Some(process) = self.learn_relocation(news) else { return Ok(()) };
        match news.is_answer {
            true => {
                self.announcement.answered(process);
                Ok(())
            }
            false => self.send_relocation(process, true),
        }
    }

    fn send_relocation(
        &mut self,
        process: ProcessId,
        is_answer: bool,
    ) -> Result<(), TransportError> {
        let payload = self.relocation(is_answer).emit();
        let to = self.connections.address(process);
        let header = self.header_to(process, Kind::Connect, &payload);
        let to = (process, to.datagrams.qpn, self.connections.path(process));
        // Without a slot it is as if the datagram were lost: it comes again.
        self.datagrams.unicast(to, &header, &payload).map_err(failed).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Who is told at what time, in milliseconds, if the first `answering` answer to the second of what they are told.
    fn told(processes: u32, answering: u32, until: u64) -> Vec<(u64, u32)> {
        let mut announcement = Announcement::default();
        announcement.begin(at(0), (0..processes).map(ProcessId).collect(), at(until));
        let mut told = Vec::new();
        for now in 0..2 * until {
            if let Some(process) = announcement.poll(at(now)) {
                let is_second = told.iter().any(|(_, one)| *one == process.0);
                told.push((now, process.0));
                if process.0 < answering && is_second {
                    announcement.answered(process);
                }
            }
        }
        assert!(!announcement.is_under_way());
        told
    }

    #[test]
    fn all_are_told_until_they_answer() {
        let told = told(5, 3, 10_000);
        let times_of = |process| told.iter().filter(|(_, one)| *one == process).count();
        assert_eq!([0, 1, 2].map(times_of), [2, 2, 2]);
        assert!([3, 4].map(times_of).iter().all(|times| (7..12).contains(times)), "{told:?}");
    }

    #[test]
    fn a_thousand_are_told_one_after_the_other() {
        let told = told(1000, 0, 20_000);
        assert!(told.windows(2).all(|two| two[1].0 > two[0].0), "more than one at a time");
        assert!(told[..1000].iter().map(|(_, one)| *one).eq(0..1000));
        assert!(told.last().unwrap().0 < 20_000);
    }
}
