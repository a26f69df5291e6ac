//! What keeps an endpoint at work while its port, its subnet or its UD QP change.
//!
//! Three things are looked after. The port: that it goes down ends nothing, as reliable connections survive a short
//! flap; a port that stays down does. The memberships in groups: whatever may have ended them, they are made anew, and
//! meanwhile broadcasts go on by repairs. The UD QP: it is restarted when it fails. Each has a patience, the timeout of
//! the settings, after which communicators end with an error that names the thing.
//!
//! News is looked for where the caller sleeps on it, and otherwise once in a while, as each look is a system call.

use super::port_state::PortState;
use super::{Endpoint, failed};
use crate::rdma::group::{Pace, Partition, Renewed};
use std::time::Duration;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::DatagramQp;
use verbcast_verbs::{AsyncEvent, AsyncKind, PortChange};

/// Between two looks for news where nobody sleeps on it.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a device may take to end all requests of a QP that has failed.
const FLUSH_PATIENCE: Duration = Duration::from_secs(5);

/// What is looked after.
#[derive(Debug, Default)]
pub struct Upkeep {
    port: PortState,
    /// When to look again.
    due: Instant,
    /// Since when the port's table of P_Keys has not had that of the queue pairs where it was.
    outside_since: Option<Instant>,
    /// Since when the UD QP has failed and not been restarted.
    failed_since: Option<Instant>,
    /// Memberships that were made anew, and how long that took in all.
    rejoins: u64,
    apart: Duration,
}

impl Upkeep {
    /// When there is something to do at the latest.
    pub fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn wake_at(&mut self, at: Instant) {
        self.due = self.due.min(at);
    }
}

/// What an endpoint has come through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Times that its port went down.
    pub port_errors: u64,
    /// How long the port was down in all.
    pub port_down: Duration,
    /// Memberships that were lost and made anew.
    pub rejoins: u64,
    /// How long that took in all.
    pub apart: Duration,
    /// Failures of the UD QP.
    pub restarts: u64,
}

impl Incidents {
    /// Both of them.
    pub fn and(self, other: Incidents) -> Incidents {
        Incidents {
            port_errors: self.port_errors + other.port_errors,
            port_down: self.port_down + other.port_down,
            rejoins: self.rejoins + other.rejoins,
            apart: self.apart + other.apart,
            restarts: self.restarts + other.restarts,
        }
    }

    /// What came after `earlier`.
    pub fn since(self, earlier: Incidents) -> Incidents {
        Incidents {
            port_errors: self.port_errors - earlier.port_errors,
            port_down: self.port_down - earlier.port_down,
            rejoins: self.rejoins - earlier.rejoins,
            apart: self.apart - earlier.apart,
            restarts: self.restarts - earlier.restarts,
        }
    }
}

impl Endpoint {
    /// What it has come through.
    pub fn incidents(&self) -> Incidents {
        let (port_errors, port_down) = self.upkeep.port.totals();
        let Upkeep { rejoins, apart, .. } = self.upkeep;
        let restarts = self.datagrams.restarts().count();
        Incidents { port_errors, port_down, rejoins, apart, restarts }
    }

    /// Looks after everything, if it is time to.
    pub(super) fn tend_in_turn(&mut self, now: Instant) -> Result<(), TransportError> {
        if now < self.upkeep.due { Ok(()) } else { self.tend(now) }
    }

    /// Looks for news, and after everything; an error if something stays unusable.
    pub fn tend(&mut self, now: Instant) -> Result<(), TransportError> {
        self.upkeep.due = now + LOOK_INTERVAL;
        self.take_news(now)?;
        self.tend_port(now)?;
        self.tend_suspects(now);
        self.tend_partition(now)?;
        self.tend_datagrams(now)?;
        self.tend_groups(now)
    }

    /// A connection has failed: if the own port is or was down, or is out of its partition, that is the cause, and no other
    /// rank's fault.
    pub(super) fn blame_port(&mut self, now: Instant) {
        let taken = self.take_news(now).err();
        let port = || self.port_failure(now).or_else(|| self.past_port_failure(now));
        let own = || port().or_else(|| self.partition_failure(now));
        if let Some(error) = taken.or_else(own) {
            self.device.fail(error);
        }
    }

    fn take_news(&mut self, now: Instant) -> Result<(), TransportError> {
        if !self.device.has_news()? {
            return Ok(());
        }
        while let Some(event) = self.device.take_event() {
            self.handle_async(now, event)?;
        }
        let pace = self.pace();
        for (_, group) in self.datagrams.groups_mut() {
            while let Some(what) = group.take_end() {
                group.lose(now, what, pace);
            }
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        let (spread, patience) = (self.site.address.incarnation, self.settings.timeout);
        Pace { spread, own: self.site.joiner.speed, patience }
    }

    fn handle_async(&mut self, now: Instant, event: AsyncEvent) -> Result<(), TransportError> {
        let AsyncEvent { what, kind } = event;
        match kind {
            AsyncKind::Fatal => return Err(self.device.fatal(what)),
            AsyncKind::Port(port, change) if port == self.site.port => {
                self.handle_port(now, change, what);
            }
            AsyncKind::QueuePair(number) if number == self.datagrams.qpn() => {
                self.fail_datagrams(now, &what)?;
            }
            // Other ports are not in use here, and the completions of other queue pairs tell.
            AsyncKind::Port(..) | AsyncKind::QueuePair(_) | AsyncKind::Other => {
                tracing::debug!("{}: {what}", self.device.name());
            }
        }
        Ok(())
    }

    fn handle_port(&mut self, now: Instant, change: PortChange, what: String) {
        let (device, port) = (self.device.name(), self.site.port);
        match change {
            PortChange::Down => {
                if self.upkeep.port.fall(now) {
                    tracing::warn!("{device} port {port}: {what}");
                }
            }
            PortChange::Up => self.handle_port_up(now),
            // Addresses of the host's that are not in use here come and go.
            PortChange::Gid if self.device.has_gid(self.site.gid_index, self.site.address.gid) => {
                tracing::debug!("{device} port {port}: {what}");
            }
            PortChange::Lid
            | PortChange::Gid
            | PortChange::SubnetManager
            | PortChange::Reregister => self.lose_groups(now, &what),
            PortChange::Pkey => {
                tracing::debug!("{device} port {port}: {what}");
                self.look_at_partition(now);
            }
        }
    }

    /// Looks whether the port's table of P_Keys has that of the queue pairs where it was: they go by its place.
    fn look_at_partition(&mut self, now: Instant) {
        let (device, port) = (self.device.name(), self.site.port);
        let Partition { pkey, index } = self.site.joiner.partition;
        match (self.device.is_in(self.site.joiner.partition), self.upkeep.outside_since) {
            (false, None) => {
                tracing::warn!(
                    "{device} port {port}: P_Key {pkey:#06x} is not at index {index} of its table any more"
                );
                self.upkeep.outside_since = Some(now);
            }
            (true, Some(since)) => {
                let time = now - since;
                tracing::warn!("{device} port {port}: in its partition again after {time:.1?}");
                self.upkeep.outside_since = None;
                self.lose_groups(now, "the port was not in its partition");
            }
            _ => {}
        }
    }

    /// What is wrong with the partition, if something is.
    fn partition_failure(&self, now: Instant) -> Option<TransportError> {
        let time = now - self.upkeep.outside_since?;
        let Partition { pkey, index } = self.site.joiner.partition;
        Some(self.device.fatal(format!(
            "P_Key {pkey:#06x} has not been at index {index} of the port's table for {time:.1?}: ask the fabric's \
             administrator what has become of the partition"
        )))
    }

    fn tend_partition(&mut self, now: Instant) -> Result<(), TransportError> {
        let Some(since) = self.upkeep.outside_since else { return Ok(()) };
        self.look_at_partition(now);
        let is_over = now - since > self.settings.timeout;
        self.partition_failure(now).filter(|_| is_over).map_or(Ok(()), Err)
    }

    fn handle_port_up(&mut self, now: Instant) {
        let Some(down) = self.upkeep.port.rise(now) else { return };
        tracing::warn!("{} port {}: up again after {down:.1?}", self.device.name(), self.site.port);
        for (_, group) in self.datagrams.groups_mut() {
            if let Some(renewal) = group.renewal() {
                renewal.begin_anew(now);
            }
        }
        self.lose_groups(now, "the port was down");
    }

    fn lose_groups(&mut self, now: Instant, what: &str) {
        let pace = self.pace();
        for (_, group) in self.datagrams.groups_mut() {
            group.lose(now, what.to_owned(), pace);
        }
    }

    /// What is wrong with the own port, if it is down.
    fn port_failure(&self, now: Instant) -> Option<TransportError> {
        let down = self.upkeep.port.down_for(now)?;
        Some(self.device.fatal(format!("the port has been down for {down:.1?}")))
    }

    /// What was wrong with the own port while a request was retried that fails now. An adapter may retry for twice as long as
    /// it should: each attempt is a power of two.
    fn past_port_failure(&self, now: Instant) -> Option<TransportError> {
        let retried = self.settings.ack_timeout * 2 + LOOK_INTERVAL;
        let (down, since) = self.upkeep.port.was_down(now, retried)?;
        Some(self.device.fatal(format!(
            "the port was down for {down:.1?} until {since:.1?} ago, and a connection has failed for it"
        )))
    }

    fn tend_port(&mut self, now: Instant) -> Result<(), TransportError> {
        let patience = self.settings.timeout;
        match self.upkeep.port.down_for(now) {
            Some(down) if down > patience && self.device.is_port_active() => {
                self.handle_port_up(now);
            }
            Some(down) if down > patience => return self.port_failure(now).map_or(Ok(()), Err),
            _ => {}
        }
        Ok(())
    }

    /// The UD QP has failed, unless that is known: it is flushed and restarted.
    pub(super) fn fail_datagrams(
        &mut self,
        now: Instant,
        what: &str,
    ) -> Result<(), TransportError> {
        if self.datagrams.is_flushing() {
            return Ok(());
        }
        tracing::warn!("{}: the UD QP has failed ({what}) and is restarted", self.device.name());
        self.upkeep.failed_since = Some(now);
        self.upkeep.wake_at(now);
        self.datagrams.fail(now, what).map_err(failed)
    }

    /// The UD QP, which was flushed, works again. If it is another one now, other processes are told.
    pub fn restart_datagrams(&mut self, now: Instant) -> Result<(), TransportError> {
        self.datagrams.restart().map_err(failed)?;
        let DatagramQp { qpn, generation } = self.site.address.datagrams;
        if self.datagrams.qpn() != qpn {
            self.relocate(
                now,
                DatagramQp { qpn: self.datagrams.qpn(), generation: generation + 1 },
            );
        }
        Ok(())
    }

    /// The UD QP is in the error state, but its requests do not end.
    pub fn stuck(&self) -> TransportError {
        let device = self.device.name().to_owned();
        TransportError::Stuck { device, qp: self.datagrams.qpn() }
    }

    fn tend_datagrams(&mut self, now: Instant) -> Result<(), TransportError> {
        if !self.datagrams.is_flushing() {
            self.upkeep.failed_since = None;
            return Ok(());
        }
        if let Some(error) = self.datagrams.restarts().outlasted(now, self.settings.timeout) {
            return Err(self.device.fatal(error));
        }
        if self.datagrams.is_restart_due(now) {
            return self.restart_datagrams(now);
        }
        let is_stuck =
            |since: Instant| now - since > FLUSH_PATIENCE && !self.datagrams.is_flushed();
        if self.upkeep.failed_since.is_some_and(is_stuck) {
            return Err(self.stuck());
        }
        self.upkeep.wake_at(now);
        Ok(())
    }

    fn tend_groups(&mut self, now: Instant) -> Result<(), TransportError> {
        let is_down = self.upkeep.port.down_for(now).is_some();
        let (joiner, patience) = (&self.site.joiner, self.settings.timeout);
        let mut renewed = Vec::new();
        for (id, group) in self.datagrams.groups_mut() {
            let (address, common) = (group.address, group.common);
            let Some(renewal) = group.renewal().filter(|_| !is_down) else { continue };
            match renewal.tend(now, joiner, (address, common), patience) {
                Ok(Some(done)) => renewed.push((id, address, done)),
                Ok(None) => self.upkeep.wake_at(renewal.due(now)),
                Err(error) => return Err(self.device.fatal(format!("group {address}: {error}"))),
            }
        }
        for (id, address, Renewed { joined, what, time, lost }) in renewed {
            joined.fd().map_or(Ok(()), |fd| self.device.watch(fd)).map_err(failed)?;
            self.connections.set_service(joined.service());
            self.datagrams.renew(id, joined).map_err(failed)?;
            self.upkeep.rejoins += 1;
            self.upkeep.apart += time;
            tracing::warn!(
                "{} port {}: a member of group {address} again after {time:.1?} ({what})",
                self.device.name(),
                self.site.port
            );
            let pace = self.pace();
            let again = self.datagrams.groups_mut().find(|(other, _)| *other == id);
            if let (Some((_, group)), Some(what)) = (again, lost) {
                group.lose(now, what, pace);
            }
        }
        Ok(())
    }
}
