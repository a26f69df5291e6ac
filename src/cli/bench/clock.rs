//! How far apart two ranks' clocks are, from messages that went to and fro.

/// A message to another rank and its answer; times in nanoseconds, `answered` on the other's clock.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub sent: u64,
    pub answered: u64,
    pub received: u64,
}

impl Exchange {
    fn round_trip(self) -> u64 {
        self.received.saturating_sub(self.sent)
    }
}

/// What exchanges with one rank tell, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// The other's clock less the own one.
    pub offset: i64,
    /// How far the offset may be wrong: the shortest round trip was no longer than twice this.
    pub error: u64,
    /// Median of half the round trips: the latency of a message.
    pub latency: u64,
}

/// Takes the offset from the shortest round trip, which had the least time to go wrong in (Cristian
/// 1989). `None` without exchanges.
pub fn estimate(exchanges: &[Exchange]) -> Option<Estimate> {
    let shortest = exchanges.iter().min_by_key(|exchange| exchange.round_trip())?;
    let round_trip = shortest.round_trip();
    let middle = shortest.sent + round_trip / 2;
    let mut halves: Vec<u64> = exchanges.iter().map(|one| one.round_trip() / 2).collect();
    halves.sort_unstable();
    Some(Estimate {
        offset: shortest.answered.wrapping_sub(middle).cast_signed(),
        error: round_trip.div_ceil(2),
        latency: halves[halves.len() / 2],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(sent: u64, there: u64, back: u64, offset: i64) -> Exchange {
        let arrived = sent + there;
        Exchange { sent, answered: arrived.wrapping_add_signed(offset), received: arrived + back }
    }

    #[test]
    fn the_shortest_round_trip_tells_the_offset() {
        for offset in [-5_000_000, 0, 3_000_000_000] {
            let exchanges = [
                exchange(10_000_000, 9_000, 1_000, offset),
                exchange(20_000_000, 500, 500, offset),
                exchange(30_000_000, 1_000, 3_000, offset),
            ];
            let expected = Estimate { offset, error: 500, latency: 2_000 };
            assert_eq!(estimate(&exchanges), Some(expected));
        }
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn the_error_covers_a_lopsided_round_trip() {
        let Estimate { offset, error, .. } = estimate(&[exchange(1_000, 700, 1, 40)]).unwrap();
        assert_eq!((offset, error), (390, 351));
        assert!((offset - 40).unsigned_abs() <= error);
    }
}
