//! Messages of one packet: most are over as soon as they come, or as their root has sent them, and are not begun at all.

use super::told::Broadcast;
use super::wait::{Idle, MAX_PARK};
use super::waits::SHORTEST;
use super::{Broadcaster, Error};
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::Park;

/// How often a rank looks for such a message before it begins the broadcast, which takes note of what is missing.
const LOOKS: u32 = 16;

impl Broadcaster {
    /// Takes the message of the next broadcast without beginning that, if it comes soon and there is nothing else to do; whether it
    /// did.
    pub(super) fn receive_short(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, Error> {
        let began = self.clock.now();
        let (mut now, mut idle) = (began, Idle::default());
        self.waits.begin_call(self.received());
        let looked = self.look_for_short(root, message, (&mut now, &mut idle));
        self.driver.transport_mut().end_wait();
        let taken = looked?;
        self.end_wait(&mut idle, now, Some(root));
        self.waits.add_call(now - began);
        let Some(op) = taken else { return Ok(false) };
        let len = message.len();
        self.told.call(|| {
            let lost = self.driver.statistics().lost;
            Broadcast { op, root, len, began, ended: now, lost }
        });
        Ok(true)
    }

    /// Looks for it several times, up to the time that `now` is then.
    fn look_for_short(
        &mut self,
        root: Rank,
        message: &mut [u8],
        (now, idle): (&mut Instant, &mut Idle),
    ) -> Result<Option<OpId>, Error> {
        let called = *now;
        for _ in 0..LOOKS {
            if !self.driver.is_short(*now, root, message.len()) {
                break;
            }
            let outcome = self.driver.take_short((*now, called), root, message);
            let taken = outcome.map_err(|failure| self.fail(failure))?;
            if taken.is_some() {
                return Ok(taken);
            }
            self.driver.transport_mut().begin_wait();
            self.wait_for(root, *now, idle)?;
            *now = self.clock.now();
        }
        Ok(None)
    }

    /// Sends this rank's message without beginning the broadcast, if there is nothing else to do; whether it did.
    pub(super) fn send_short(&mut self, message: &[u8]) -> Result<bool, Error> {
        let began = self.clock.now();
        let sent = self.driver.send_short(began, message).map_err(|failure| self.fail(failure))?;
        let Some(op) = sent else { return Ok(false) };
        let (root, len) = (self.rank(), message.len());
        self.told.call(|| {
            let lost = self.driver.statistics().lost;
            Broadcast { op, root, len, began, ended: self.clock.now(), lost }
        });
        Ok(true)
    }

    /// Waits for what the root begins.
    fn wait_for(&mut self, root: Rank, now: Instant, idle: &mut Idle) -> Result<(), Error> {
        idle.update(now, false);
        let for_long = idle.time(now).unwrap_or_default();
        if for_long >= SHORTEST {
            let received = self.received();
            self.waits.begin(idle, received, |ranks| ranks.push(root));
        }
        self.park(now, for_long, MAX_PARK)
    }
}
