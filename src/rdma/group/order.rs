//! In which order ranks join a group on InfiniBand, and when they try again.
//!
//! The first port that joins makes the group: the subnet manager gives it that port's MTU and rate, and refuses
//! slower ports later on (OpenSM's `ERR 1B12`). So the slowest port joins first, alone. The others follow in
//! disorder, as a subnet administrator answers so many requests a second and the kernel waits three seconds for its
//! answer in all. Who is refused tries again, with longer and longer pauses, since what is refused to a busy
//! manager and to a wrong request looks alike.

use rand_chacha::rand_core::Rng;
use std::time::Duration;
use verbcast_core::rank::Rank;

/// The first pause is between half of this and this.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// Ranks that follow the first one spread over this time for each rank, at most.
const SPREAD_PER_RANK: Duration = Duration::from_millis(1);
const MAX_SPREAD: Duration = Duration::from_secs(4);

/// The speed of a rank's port, as far as the join of a group depends on it: slower ones are less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortSpeed {
    /// In bytes.
    pub mtu: usize,
    /// In Mb/s.
    pub rate: u32,
}

/// The rank that joins first: of those with the smallest MTU one with the smallest rate, and of these the lowest.
pub fn first_to_join(speeds: &[PortSpeed]) -> Rank {
    let slowest = (0..).map(Rank).zip(speeds).min_by_key(|(rank, speed)| (**speed, rank.0));
    slowest.map_or(Rank(0), |(rank, _)| rank)
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
        let first = |speeds: &[(usize, u32)]| {
            let speeds = speeds.iter().map(|(mtu, rate)| PortSpeed { mtu: *mtu, rate: *rate });
            first_to_join(&speeds.collect::<Vec<_>>())
        };
        assert_eq!(first(&[(4096, 200_000), (2048, 400_000), (4096, 100_000)]), Rank(1), "by MTU");
        assert_eq!(first(&[(4096, 200_000), (4096, 100_000), (4096, 100_000)]), Rank(1), "by rate");
        assert_eq!(first(&[(4096, 100_000); 4]), Rank(0));
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
