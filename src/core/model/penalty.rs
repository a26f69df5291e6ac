//! Penalty rounds of the two-stage broadcast (Hoefler 2007, section 2.2).
//!
//! A rank that misses the multicast waits for its predecessor, which may have missed it too. The
//! rounds that it waits are the length of the run of ranks before and with it that failed.

/// Mean penalty rounds of a rank far down the chain, where each multicast is lost independently with
/// probability `loss`: the sum of lossⁿ over all n > 0, which is ε/(1−ε). The paper's example: one
/// round for ε = 50 %.
pub fn penalty_rounds(loss: f64) -> f64 {
    loss / (1.0 - loss)
}

/// As [`penalty_rounds`], but the mean over the ranks that are not the root of `ranks` in all: the run
/// ends at the root, which has the message, so a rank n hops from it waits ε + ε² + … + εⁿ on average.
pub fn mean_penalty_rounds(loss: f64, ranks: u32) -> f64 {
    let mut sum = 0.0;
    let mut at_rank = 0.0;
    for _ in 1..ranks {
        at_rank = loss * (1.0 + at_rank);
        sum += at_rank;
    }
    if ranks > 1 { sum / f64::from(ranks - 1) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_lost_costs_one_round() {
        assert!((penalty_rounds(0.5) - 1.0).abs() < 1e-12);
        assert!((mean_penalty_rounds(0.5, 100_000) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn with_two_ranks_only_the_root_comes_before() {
        assert!((mean_penalty_rounds(0.25, 2) - 0.25).abs() < 1e-12);
        assert!((mean_penalty_rounds(0.25, 3) - (0.25 + 0.25 * 1.25) / 2.0).abs() < 1e-12);
        assert_eq!(mean_penalty_rounds(0.25, 1), 0.0);
    }
}
