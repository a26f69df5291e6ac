//! Parameters of the window family.

use super::groups::Repairers;
use super::pace::LEAST;
use super::patience::Bounds;
use super::report::MAX_LAG;
use crate::protocol::ConfigError;
use crate::rank::{OpId, Rank};
use crate::wire::Compact;
use std::time::Duration;

/// When a rank acknowledges (Liu 2004, section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledge {
    /// When it is asked: as the root's ring fills, and when nothing more follows.
    Needed,
    /// Every broadcast.
    Each,
    /// Every M-th broadcast, all ranks the same one.
    Every(u32),
    /// Every M-th broadcast, rank i those with B mod M = i mod M, so that acknowledgements are spread.
    Skewed(u32),
}

/// By what a rank acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// An RDMA write into the repairer's memory (Liu 2004, section 5.5).
    Counter,
    /// A reliable message.
    Message,
}

/// Who acts when a fragment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// The repairer sends it again, reliably, when its acknowledgement does not come in time (Liu
    /// 2004, section 5.3).
    Push,
    /// The receiver reads it from the repairer's ring, which needs no CPU there; the repairer sends
    /// it only when its ring has to advance.
    Pull,
}

/// Parameters of the window family, the same at every rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of the message in a fragment.
    pub fragment_len: usize,
    /// Bytes of a fragment that fills its datagram, where such may have [compact headers](Compact), which tell no report.
    pub whole: Option<usize>,
    /// Slots of the ring in which a rank keeps fragments for others, a power of two (the window of
    /// Liu 2004, section 5.1).
    pub window: u32,
    /// Most operations in flight at a rank.
    pub in_flight: u32,
    /// Whether the root waits for all acknowledgements of a broadcast before it goes on: the basic
    /// design (Liu 2004, section 4.1), instead of the sliding window (4.2).
    pub blocking: bool,
    /// Who keeps a message for whom.
    pub repairers: Repairers,
    /// Which broadcasts are acknowledged.
    pub acknowledge: Acknowledge,
    /// Whether an acknowledgement waits for something to go along with.
    pub piggyback: bool,
    /// By what is acknowledged where nothing goes along.
    pub by: By,
    /// How long an acknowledgement may be owed.
    pub acknowledge_after: Duration,
    /// Who acts when a fragment is lost.
    pub repair: Repair,
    /// Receives that every rank has posted for datagrams: the root sends no more than any rank can
    /// take (Liu 2004, section 5.4). None: what overflows is lost and repaired.
    pub credits: Option<u32>,
    /// Reliable messages that a rank's receive queue takes while nobody polls it.
    pub absorbed: u32,
    /// Bounds of the timeouts, which follow measured round trips.
    pub patience: Bounds,
}

impl Config {
    /// The sliding window of Liu 2004, section 4.2, with every acknowledgement by an RDMA write, and
    /// repair by the receiver.
    pub fn new(fragment_len: usize, window: u32) -> Self {
        Config {
            fragment_len,
            whole: None,
            window,
            in_flight: 64,
            blocking: false,
            repairers: Repairers::Root,
            acknowledge: Acknowledge::Each,
            piggyback: false,
            by: By::Counter,
            acknowledge_after: Duration::from_millis(1),
            repair: Repair::Pull,
            credits: None,
            absorbed: 24,
            patience: Bounds::default(),
        }
    }

    /// Checks the parameters against each other.
    ///
    /// # Errors
    /// If one makes no sense; the error says which.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Bounds { initial, least, most } = self.patience;
        let error = match self {
            Config { fragment_len: 0, .. } | Config { whole: Some(0), .. } => {
                ConfigError::FragmentLen
            }
            Config { window, .. } if !window.is_power_of_two() => ConfigError::WindowSize,
            Config { window: 0x0100_0000.., .. } => ConfigError::WindowTooLarge,
            Config { in_flight: 0, .. } => ConfigError::NoneInFlight,
            Config { in_flight: 0x1000_0000.., .. } => ConfigError::TooManyInFlight,
            Config { acknowledge: Acknowledge::Every(0) | Acknowledge::Skewed(0), .. } => {
                ConfigError::Acknowledge
            }
            Config { credits: Some(0), .. } => ConfigError::NoCredits,
            Config { credits: Some(MAX_LAG..), .. } => ConfigError::TooManyCredits,
            _ if least.is_zero() || initial < least || most < initial => ConfigError::Patience,
            _ if self.acknowledge_after.is_zero() => ConfigError::AcknowledgeAfter,
            _ => return Ok(()),
        };
        Err(error)
    }

    /// Bytes of each fragment but the last of a message of `len` bytes: whole datagrams, if they can number the message.
    pub(super) fn fragment_len_of(&self, len: u64) -> usize {
        let is_short = |whole: &usize| len <= *whole as u64 * u64::from(Compact::MAX_FRAGMENTS);
        self.whole.filter(is_short).unwrap_or(self.fragment_len)
    }

    /// Whether `me` acknowledges the broadcast `op` as soon as it has all of it (Liu 2004, section 4.4). Where the root
    /// waits for all acknowledgements, everybody does or is asked: a rank that goes on to something else, for which it
    /// may need the root, tells nothing later.
    pub(super) fn acknowledges(&self, op: OpId, me: Rank) -> bool {
        if self.blocking && !self.asks() {
            return true;
        }
        let by_policy = match self.acknowledge {
            Acknowledge::Needed => false,
            Acknowledge::Each => true,
            Acknowledge::Every(m) => op.0 % m == m - 1,
            Acknowledge::Skewed(m) => op.0 % m == me.0 % m,
        };
        by_policy && !self.piggyback
    }

    /// Whether ranks acknowledge when they are asked.
    pub(super) fn asks(&self) -> bool {
        self.acknowledge == Acknowledge::Needed
    }

    /// Whether a root takes care how much is on its way, and other ranks tell it what they lose: where that goes by questions
    /// and it hears of everybody, or of one rank in each place.
    pub(super) fn paces(&self) -> bool {
        let hears = matches!(self.repairers, Repairers::Root | Repairers::Tree(_));
        self.asks() && hears && self.window > LEAST
    }

    /// After how many fragments a root asks: often enough that the answers to one question come before the ring or the
    /// credits run out, although those to the one before it are late.
    pub(super) fn share(&self) -> u32 {
        (self.window.min(self.credits.unwrap_or(u32::MAX)) / 4).max(1)
    }

    /// By how much longer a repairer waits where receivers repair themselves.
    pub(super) fn forbearance(&self) -> u32 {
        match self.repair {
            Repair::Pull => 8,
            Repair::Push => 1,
        }
    }

    /// Fragments that a rank which has all of a message may leave without an acknowledgement, where it acknowledges by
    /// need. It may be elsewhere from then on: what is sent to it again, and what was on its way, must fit in its queue.
    pub(super) fn most_unsaid(&self) -> u32 {
        if self.asks() { self.absorbed / 2 } else { u32::MAX }
    }

    /// Fragments that a repairer has on their way to a rank, at most.
    pub(super) fn most_pushes(&self) -> u32 {
        (self.absorbed - self.absorbed / 2).max(1)
    }

    /// By how many fragments a report may be behind before it is due whatever the policy: often enough
    /// that neither the window nor the credits run out for want of news.
    pub(super) fn chunk(&self) -> u32 {
        // So that neither half of the window nor a quarter of the credits waits for a report: what passes through others
        // on its way to the root comes later still.
        (self.window / 2).min(self.credits.unwrap_or(u32::MAX) / 4).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::depths::Depths;

    #[test]
    fn skewed_acknowledgements_are_spread_over_the_ranks() {
        let config = Config { acknowledge: Acknowledge::Skewed(4), ..Config::new(10, 8) };
        for op in 0..8 {
            let ranks: Vec<_> =
                (0..8).filter(|rank| config.acknowledges(OpId(op), Rank(*rank))).collect();
            assert_eq!(ranks, [op % 4, op % 4 + 4]);
        }
    }

    #[test]
    fn by_default_a_rank_is_asked_before_it_acknowledges_unasked() {
        let depths = Depths::DEFAULT;
        let (window, absorbed) = (depths.ring, depths.absorbed());
        let acknowledge = Acknowledge::Needed;
        let config = Config { acknowledge, absorbed, ..Config::new(10, window) };
        // Otherwise it writes nearly twice as many as it is asked for.
        assert!(config.share() < config.most_unsaid());
        // Both together fit into the queue of a rank that is elsewhere.
        assert!(config.most_unsaid() + config.most_pushes() <= absorbed);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = Config::new(10, 8);
        good.validate().unwrap();
        for bad in [
            Config { fragment_len: 0, ..good },
            Config { window: 6, ..good },
            Config { window: 0, ..good },
            Config { in_flight: 0, ..good },
            Config { acknowledge: Acknowledge::Skewed(0), ..good },
            Config { credits: Some(0), ..good },
            Config { patience: Bounds { most: Duration::ZERO, ..good.patience }, ..good },
            Config { acknowledge_after: Duration::ZERO, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }
}
