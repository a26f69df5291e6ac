//! In which order ranks join a group on InfiniBand, and when they try again.
//!
//! The first port that joins makes the group: the subnet manager gives it that port's MTU and rate, and refuses
//! slower ports later on (OpenSM's `ERR 1B12`). So the slowest port joins first, alone. (Linux's rdma_cm asks for no MTU
//! and no rate, so no order serves where one port has the smallest MTU and another the smallest rate.) The others follow
//! in disorder, as a subnet administrator answers so many requests a second and the kernel waits three seconds for its
//! answer in all. Who is refused tries again, with longer and longer pauses, since what is refused to a busy
//! manager and to a wrong request looks alike.
//!
//! When memberships end, as at a restart of the subnet manager, ranks cannot tell one another when they are back. Then
//! the ports that are faster than others of the group wait for a while before they join again.

use rand_chacha::rand_core::Rng;
use std::time::Duration;
use verbcast_core::rank::Rank;

/// The first pause is between half of this and this.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// Ranks that follow the first one spread over this time for each rank, at most.
const SPREAD_PER_RANK: Duration = Duration::from_millis(1);
const MAX_SPREAD: Duration = Duration::from_secs(4);
/// How long the faster ports leave a manager that was restarted to the slower ones.
const DEFERENCE: Duration = Duration::from_secs(2);

/// The speed of a rank's port, as far as the join of a group depends on it: slower ones are less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortSpeed {
    /// In bytes.
    pub mtu: usize,
    /// In Mb/s.
    pub rate: u32,
}

impl PortSpeed {
    /// Whether a port of this speed makes groups that one of `other` cannot join.
    fn exceeds(self, other: PortSpeed) -> bool {
        self.mtu > other.mtu || self.rate > other.rate
    }
}

/// Who joins a group first, and what the group may be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOrder {
    /// Of the ranks with the smallest MTU one with the smallest rate, and of these the lowest.
    pub first: Rank,
    /// The smallest MTU and the smallest rate of all.
    pub common: PortSpeed,
}

impl JoinOrder {
    /// For ranks of these speeds.
    ///
    /// # Panics
    /// Without a rank.
    pub fn of(speeds: &[PortSpeed]) -> JoinOrder {
        let slowest = (0..).map(Rank).zip(speeds).min_by_key(|(rank, speed)| (**speed, rank.0));
        let (first, slowest) = slowest.expect("there is a rank");
        let rate = speeds.iter().map(|speed| speed.rate).min().unwrap_or(slowest.rate);
        JoinOrder { first, common: PortSpeed { mtu: slowest.mtu, rate } }
    }
}

/// How long a port waits that has lost its membership before it joins again, so that slower ones come first and a
/// subnet manager which has forgotten the group makes it for them: the time in which they have asked five times.
pub fn deference(own: PortSpeed, common: PortSpeed, patience: Duration) -> Duration {
    if own.exceeds(common) { DEFERENCE.min(patience / 4) } else { Duration::ZERO }
}

/// How long one of `size` ranks waits before it follows the first.
pub fn delay(size: usize, random: &mut impl Rng) -> Duration {
    let ranks = u32::try_from(size).unwrap_or(u32::MAX);
    let spread = SPREAD_PER_RANK.saturating_mul(ranks).min(MAX_SPREAD);
    spread.mul_f64(share(random))
}

/// The pauses between tries.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    pause: Duration,
}

impl Backoff {
    /// Before the first pause.
    pub fn new() -> Self {
        Backoff { pause: FIRST_PAUSE }
    }

    /// The next pause: of twice the last one's length or thereabouts, until they are long.
    pub fn next(&mut self, random: &mut impl Rng) -> Duration {
        let pause = self.pause.mul_f64(0.5 + share(random) / 2.0);
        self.pause = (2 * self.pause).min(MAX_PAUSE);
        pause
    }
}

/// A number from 0 to 1.
fn share(random: &mut impl Rng) -> f64 {
    f64::from(random.next_u32()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn the_slowest_port_joins_first() {
        let order = |speeds: &[(usize, u32)]| {
            let speeds = speeds.iter().map(|(mtu, rate)| PortSpeed { mtu: *mtu, rate: *rate });
            let JoinOrder { first, common } = JoinOrder::of(&speeds.collect::<Vec<_>>());
            (first, (common.mtu, common.rate))
        };
        let by_mtu = order(&[(4096, 200_000), (2048, 400_000), (4096, 100_000)]);
        assert_eq!(by_mtu, (Rank(1), (2048, 100_000)), "each of them is the smallest");
        let by_rate = order(&[(4096, 200_000), (4096, 100_000), (4096, 100_000)]);
        assert_eq!(by_rate, (Rank(1), (4096, 100_000)));
        assert_eq!(order(&[(4096, 100_000); 4]), (Rank(0), (4096, 100_000)));
    }

    #[test]
    fn only_faster_ports_wait_before_they_join_again() {
        let patience = Duration::from_secs(30);
        let common = PortSpeed { mtu: 2048, rate: 100_000 };
        let wait = |mtu, rate| deference(PortSpeed { mtu, rate }, common, patience);
        assert_eq!(wait(2048, 100_000), Duration::ZERO);
        assert_eq!((wait(4096, 100_000), wait(2048, 200_000)), (DEFERENCE, DEFERENCE));
        let short = Duration::from_secs(1);
        assert!(deference(PortSpeed { mtu: 4096, ..common }, common, short) < short);
    }

    #[test]
    fn pauses_grow_and_differ() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut backoff = Backoff::new();
        let mut most = FIRST_PAUSE;
        let pauses: Vec<_> = (0..20).map(|_| backoff.next(&mut random)).collect();
        for pause in &pauses {
            assert!((most / 2..=most).contains(pause), "{pauses:?}");
            most = (2 * most).min(MAX_PAUSE);
        }
        let mut others = Backoff::new();
        assert_ne!(others.next(&mut random), pauses[0]);
    }

    #[test]
    fn ranks_follow_over_a_time_that_grows_with_their_number() {
        let mut random = ChaCha8Rng::seed_from_u64(2);
        for (size, most) in [(2, SPREAD_PER_RANK * 2), (1 << 20, MAX_SPREAD)] {
            let delays: Vec<_> = (0..100).map(|_| delay(size, &mut random)).collect();
            assert!(delays.iter().all(|delay| *delay <= most));
            assert!(delays.iter().any(|delay| *delay > most / 2));
        }
    }
}
