//! Waiting for the device, by policy.

use crate::rdma::settings::Waiting;
use std::time::Duration;

/// How long the adaptive policy polls before it blocks. Long enough for ranks that share a core to take their turns in a
/// broadcast: each that blocks would have to be woken, at the expense of the one that sends.
const POLL_FOR: Duration = Duration::from_millis(5);

/// Nobody is woken by an RDMA write into its memory, so who sleeps has to look now and then. This is
/// the first pause: several times what a wake-up costs, and still short beside a rendezvous.
const FIRST_SLEEP: Duration = Duration::from_micros(200);
/// Later pauses grow with the wait, so that a long one costs few wake-ups, and a report that comes
/// after it is late by an eighth of it at most.
const SLEEP_SHARE: u32 = 8;

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Spin,
    Yield,
    Block,
}

/// Decides how a rank waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    waiting: Waiting,
}

impl Waiter {
    pub fn new(waiting: Waiting) -> Waiter {
        Waiter { waiting }
    }

    /// The policy's answer after `idle` without anything to do.
    pub fn step(&self, idle: Duration) -> Step {
        match self.waiting {
            Waiting::Spin => Step::Spin,
            Waiting::Yield => Step::Yield,
            Waiting::Block => Step::Block,
            Waiting::Adaptive if idle >= POLL_FOR => Step::Block,
            Waiting::Adaptive => Step::Yield,
        }
    }
}

/// How long to sleep at most after `idle` without anything to do.
pub fn longest_sleep(idle: Duration) -> Duration {
    FIRST_SLEEP.max(idle / SLEEP_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adaptive_policy_yields_first_and_sleeps_later() {
        let waiter = Waiter::new(Waiting::Adaptive);
        assert_eq!(waiter.step(Duration::ZERO), Step::Yield);
        assert_eq!(waiter.step(POLL_FOR), Step::Block);
    }

    #[test]
    fn pauses_grow_with_the_wait() {
        assert_eq!(longest_sleep(Duration::ZERO), FIRST_SLEEP);
        assert_eq!(longest_sleep(Duration::from_secs(8)), Duration::from_secs(1));
    }
}
