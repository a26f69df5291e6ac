//! Broadcast latency, throughput and the best number of co-roots (Liu 2004, section 7).

use super::halvings;

/// The times that the model is made from, in nanoseconds, under the paper's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// T_cc: copying a message into or out of a buffer.
    pub t_cc: u64,
    /// T_ud: posting a UD descriptor.
    pub t_ud: u64,
    /// T_mc: a multicast's way from the root to the farthest rank.
    pub t_mc: u64,
    /// T_pp: one logical hop from rank to rank over RC, from send to receive.
    pub t_pp: u64,
    /// T_um: copying and posting one unicast message.
    pub t_um: u64,
    /// T_pack: processing one acknowledgement.
    pub t_pack: u64,
}

impl Parameters {
    /// Values for the paper's cluster (section 6.1) and small messages.
    ///
    /// The paper gives no table of them; its text bounds them. A broadcast among 1024 ranks is 4.86
    /// times faster by multicast (section 7.1: "as high as 4.86 times", which the abstract counts as an
    /// improvement by 3.86 times), so 10 T_pp = 4.86 T_sr. One among 8 is 58 % better (section 6.2),
    /// which is 3 T_pp = 1.58 T_sr and leads to almost the same ratio. With T_pp = 7 µs, the
    /// latency between two ranks of that time's MPI on that adapter, T_sr = 14.4 µs. The best number of
    /// groups of 1024 ranks is 128 (section 7.2), so that T_um is between 4 and 8 T_pack.
    pub const fn paper() -> Self {
        Parameters { t_cc: 500, t_ud: 1_400, t_mc: 12_000, t_pp: 7_000, t_um: 2_500, t_pack: 450 }
    }

    /// Latency of a binomial broadcast among `ranks`, in nanoseconds: T_pp · log n (section 7.1).
    pub fn binomial(&self, ranks: u32) -> u64 {
        self.t_pp * u64::from(halvings(ranks))
    }

    /// Latency with a single root, in nanoseconds: T_sr = 2 T_cc + T_ud + T_mc (section 7.1).
    pub fn single_root(&self) -> u64 {
        2 * self.t_cc + self.t_ud + self.t_mc
    }

    /// Latency with `groups` co-roots, the root included, in nanoseconds (section 7.1): the leaves take
    /// T_sr; a co-root takes the earlier of T_sr and
    /// T_rc = 2 T_cc + T_ud + T_pp · log(n/s), where n/s is the number of groups.
    pub fn co_roots(&self, ranks: u32, groups: u32) -> u64 {
        let reliable = 2 * self.t_cc + self.t_ud + self.t_pp * u64::from(halvings(groups));
        let at_co_roots = reliable.min(self.single_root());
        // Where every rank is a co-root, there are no leaves.
        if groups >= ranks { at_co_roots } else { self.single_root().max(at_co_roots) }
    }

    /// Time that the root spends on one of many back-to-back broadcasts, in nanoseconds:
    /// T_cc + T_ud + T_um · log(n/s) + T_pack · s (section 7.2).
    pub fn root_time(&self, ranks: u32, groups: u32) -> u64 {
        let group = u64::from(ranks.div_ceil(groups.max(1)));
        self.t_cc + self.t_ud + self.t_um * u64::from(halvings(groups)) + self.t_pack * group
    }

    /// Broadcasts per second that the root can do (section 7.2).
    pub fn throughput(&self, ranks: u32, groups: u32) -> f64 {
        1e9 / self.root_time(ranks, groups) as f64
    }

    /// The number of groups with the highest throughput (section 7.2), the fewest of several.
    pub fn optimal_co_roots(&self, ranks: u32) -> u32 {
        let ranks = ranks.max(1);
        // Of the numbers that take as many hops to the co-roots, the greatest has the smallest groups; fewer may have as
        // small ones.
        let best = |hops: u32| {
            let most = (1_u64 << hops).min(u64::from(ranks)) as u32;
            ranks.div_ceil(ranks.div_ceil(most))
        };
        let candidates = (0..=halvings(ranks)).map(best);
        candidates.min_by_key(|groups| (self.root_time(ranks, *groups), *groups)).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Parameters = Parameters::paper();

    #[test]
    fn the_ratios_of_the_paper_hold() {
        let ratio = |ranks| PAPER.binomial(ranks) as f64 / PAPER.single_root() as f64;
        assert!((ratio(1024) / 4.86 - 1.0).abs() < 0.05, "{}", ratio(1024));
        assert!((ratio(8) / 1.58 - 1.0).abs() < 0.1, "{}", ratio(8));
    }

    #[test]
    fn co_roots_do_not_slow_a_broadcast_down() {
        for groups in [1, 2, 128, 1024] {
            assert!(PAPER.co_roots(1024, groups) <= PAPER.single_root());
        }
    }

    #[test]
    fn the_best_number_of_groups_is_the_papers() {
        assert_eq!(PAPER.optimal_co_roots(1024), 128);
        assert_eq!(PAPER.optimal_co_roots(1), 1);
        for ranks in 0..3000 {
            let all = 1..=ranks.max(1);
            let best = all.min_by_key(|groups| PAPER.root_time(ranks, *groups));
            assert_eq!(Some(PAPER.optimal_co_roots(ranks)), best, "{ranks}");
        }
        assert!(PAPER.throughput(1024, 128) > PAPER.throughput(1024, 32));
        assert!(PAPER.throughput(1024, 128) > PAPER.throughput(1024, 512));
    }
}
