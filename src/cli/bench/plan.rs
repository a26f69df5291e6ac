//! What is measured, which every rank must know alike.

use super::args::CommonArgs;
use super::contender::{Algorithm, BARE};
use super::sizes::Sizes;
use crate::results::Test;
use crate::root::Root;
use std::ops::Range;

/// Slices that a run is cut into, so that the contenders take turns and drift hits all alike.
const SLICES: u64 = 10;
/// Sizes from which on a run has fewer broadcasts, as OSU's benchmarks have it.
const LARGE: u64 = 8192;
/// Broadcasts, and those before that do not count, up to that size and beyond.
const ITERATIONS: [u64; 2] = [1000, 100];
const WARM_UP: [u64; 2] = [200, 10];

/// One series of measurements, and the mean delay of the receivers, in nanoseconds.
pub type Series = (Test, Option<u64>);

/// What a command measures, beside what all that measure are told.
pub struct Wanted {
    pub algorithms: Vec<Algorithm>,
    pub series: Vec<Series>,
    pub sizes: Sizes,
    /// The numbers of ranks.
    pub counts: Vec<u32>,
    /// Whether algorithms that cannot be used here are left out; else they are an error.
    pub leaves_out: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub algorithms: Vec<Algorithm>,
    pub series: Vec<Series>,
    pub sizes: Vec<u64>,
    /// The numbers of ranks.
    pub counts: Vec<u32>,
    warm_up: Option<u64>,
    iterations: Option<u64>,
    pub validate: bool,
    pub root: Root,
    pub seed: u64,
    pub leaves_out: bool,
}

impl Plan {
    /// The plan for a job of `size` ranks.
    pub fn new(common: &CommonArgs, size: u32, wanted: Wanted) -> Result<Plan, String> {
        if size < 2 {
            return Err("there is only one rank, and nobody to broadcast to".to_owned());
        }
        let Wanted { algorithms, series, sizes, counts, leaves_out } = wanted;
        if let Some(count) = counts.iter().find(|count| !(2..=size).contains(count)) {
            return Err(format!("--counts {count}: not between 2 and the number of ranks, {size}"));
        }
        let twice = |(at, one): (usize, &Algorithm)| algorithms[..at].contains(one);
        if let Some(at) = algorithms.iter().enumerate().position(twice) {
            return Err(format!("{} is named twice", algorithms[at]));
        }
        if common.root == Root::Rotate && algorithms.iter().any(|one| one.name() == BARE) {
            return Err("bare has one root: use --root fixed:N".to_owned());
        }
        let least = counts.iter().copied().min().unwrap_or(size);
        common.root.check(least)?;
        Ok(Plan {
            algorithms,
            series,
            sizes: sizes.all(),
            counts,
            warm_up: common.warmup,
            iterations: common.iterations,
            validate: common.validate.is_on(),
            root: common.root,
            seed: common.seed,
            leaves_out,
        })
    }

    /// Broadcasts that are measured at a size.
    pub fn iterations(&self, size: u64) -> u64 {
        self.iterations.unwrap_or(ITERATIONS[usize::from(size > LARGE)])
    }

    /// Broadcasts before: no more than those that are measured, unless somebody wants so.
    pub fn warm_up(&self, size: u64) -> u64 {
        let default = WARM_UP[usize::from(size > LARGE)].min(self.iterations(size));
        self.warm_up.unwrap_or(default)
    }

    /// The slices of a run.
    pub fn slices(&self, size: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let iterations = self.iterations(size);
        let count = SLICES.min(iterations);
        (0..count).map(move |at| at * iterations / count..(at + 1) * iterations / count)
    }

    /// How many slices there are in all.
    pub fn total(&self) -> u64 {
        let slices = self.sizes.iter().map(|size| self.slices(*size).count());
        let each = self.algorithms.len() * self.series.len() * self.counts.len();
        (slices.sum::<usize>() * each) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(iterations: Option<u64>) -> Plan {
        Plan {
            algorithms: vec!["raw".parse().unwrap(), "window".parse().unwrap()],
            series: vec![(Test::Osu, None)],
            sizes: vec![8, 16384],
            counts: vec![2, 4],
            warm_up: None,
            iterations,
            validate: true,
            root: Root::Rotate,
            seed: 1,
            leaves_out: false,
        }
    }

    #[test]
    fn slices_make_up_the_run() {
        let slices: Vec<_> = plan(Some(25)).slices(8).collect();
        assert_eq!((slices.len(), slices[0].clone(), slices[9].clone()), (10, 0..2, 22..25));
        assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(plan(Some(3)).slices(8).collect::<Vec<_>>(), [0..1, 1..2, 2..3]);
        assert_eq!(plan(Some(3)).total(), 2 * 2 * (3 + 3));
    }

    #[test]
    fn long_messages_are_sent_less_often() {
        let plan = plan(None);
        assert_eq!((plan.iterations(8192), plan.warm_up(8192)), (1000, 200));
        assert_eq!((plan.iterations(8193), plan.warm_up(8193)), (100, 10));
    }

    #[test]
    fn a_short_run_has_a_short_warm_up_unless_a_longer_one_is_asked_for() {
        let short = plan(Some(15));
        assert_eq!([8, 16384].map(|size| short.warm_up(size)), [15, 10]);
        assert_eq!(Plan { warm_up: Some(200), ..short }.warm_up(8), 200);
    }
}
