//! What the papers report, and the same of what was measured here.

use crate::results::{Axis, Point, Test, along, bytes};

/// A result of a paper.
pub struct Quote {
    /// Paper, section and figure.
    pub source: &'static str,
    /// What it reports.
    pub there: &'static str,
    /// The same here, where it was measured.
    pub here: Option<Finding>,
}

/// What was measured of a result.
pub struct Finding {
    pub text: String,
    /// Whether it comes out as the paper has it; none where the paper claims nothing.
    pub holds: Option<bool>,
}

impl Finding {
    fn new(text: String, holds: bool) -> Finding {
        Finding { text, holds: Some(holds) }
    }
}

/// Times that differ by no more than this count as one.
const ALIKE: f64 = 1.2;

/// Algorithms that multicast and are reliable, as the papers' are.
const MULTICAST: [&str; 6] =
    ["two-stage", "two-stage-on-demand", "window", "co-root", "aggregate", "basic"];

/// The papers' results beside those of one place.
pub fn quotes(points: &[Point]) -> Vec<Quote> {
    let here = Measured(points);
    let quote = |source, there, here| Quote { source, there, here };
    vec![
        quote(
            "Liu 2004, section 2.1, figure 1 (8 nodes)",
            "The multicast's latency does not depend on the number of destinations.",
            here.growth("raw", "The median latency of raw"),
        ),
        quote(
            "Liu 2004, section 6.2, figure 6 (8 nodes)",
            "Small messages: the multicast designs are up to 58 % better than point-to-point, which takes 1.58 times as \
             long (as figure 7 counts, whose 210 % cannot be time that is saved).",
            here.best_saving(),
        ),
        quote(
            "Liu 2004, section 6.2.1, figure 7 (8 nodes)",
            "Window against point-to-point: 210 % better at 2 KiB, 86 % at 8 KiB, and better up to 32 KiB.",
            here.large_messages(),
        ),
        quote(
            "Liu 2004, section 6.3, figure 8 (8 nodes)",
            "Throughput: an acknowledgement for every ten messages is up to 112 % better than \
             point-to-point; the basic design is the worst of all.",
            here.best_rate(),
        ),
        quote(
            "Liu 2004, section 6.4, figure 9 (8 nodes)",
            "Skew does not affect window at all; with 400 µs of it, window is 10 times better than \
             point-to-point.",
            here.skewed(),
        ),
        quote(
            "Hoefler 2007, section 4.3, figure 4 (2 bytes, up to 116 ranks)",
            "The latency of small messages does not depend on the number of ranks; it is below Open MPI's \
             from 20 ranks on.",
            here.growth("two-stage", "The median latency of two-stage"),
        ),
        quote(
            "Hoefler 2007, section 4.3, figure 5 (2 bytes, 116 ranks)",
            "Open MPI's tree lets rank 1 finish 79.4 % before rank 98; by multicast all ranks are within \
             14 % of the median.",
            here.balance(),
        ),
        quote(
            "Hoefler 2007, section 3.2",
            "0.287 % of the datagrams came with a wrong CRC.",
            here.damaged(),
        ),
    ]
}

struct Measured<'a>(&'a [Point]);

impl Measured<'_> {
    /// Points of a test among the most ranks that it was done with.
    fn of(&self, test: Test) -> Vec<&Point> {
        let all = || self.0.iter().filter(move |point| point.test == test);
        let ranks = all().map(|point| point.ranks).max();
        all().filter(|point| Some(point.ranks) == ranks).collect()
    }

    /// The latencies by the first method that there is, the paper's before others.
    fn latencies(&self) -> Vec<&Point> {
        let tests = Test::LATENCY.into_iter().map(|test| self.of(test));
        tests.into_iter().find(|points| !points.is_empty()).unwrap_or_default()
    }

    /// How the median latency at the smallest size grows from the fewest to the most ranks.
    fn growth(&self, algorithm: &str, what: &str) -> Option<Finding> {
        let own = || self.0.iter().filter(|point| point.algorithm == algorithm);
        Test::LATENCY.into_iter().rev().find_map(|test| {
            let groups = along(test, Axis::Ranks, own()).into_iter();
            let groups = groups.filter(|group| group.places() > 1);
            let points = groups.min_by_key(|group| group.points[0].size)?.points;
            let few = points.iter().min_by_key(|point| point.ranks)?;
            let many = points.iter().max_by_key(|point| point.ranks)?;
            let (low, high) = (few.figure()?, many.figure()?);
            let text = format!(
                "{what}, {}: {low:.1} µs among {} ranks, {high:.1} µs among {}.",
                bytes(few.size),
                few.ranks,
                many.ranks
            );
            Some(Finding::new(text, high <= ALIKE * low))
        })
    }

    fn best_saving(&self) -> Option<Finding> {
        let latencies = self.latencies();
        let small = latencies.iter().filter(|point| point.size <= 1836);
        let savings = small.filter(|point| MULTICAST.contains(&point.algorithm.as_str()));
        let savings = savings.filter_map(|point| {
            let tree = beside(&latencies, point, "binomial")?.figure()?;
            Some((tree / point.figure()? - 1.0, *point))
        });
        let (better, point) = savings.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let text = format!(
            "At best {} at {}, {}: binomial takes {:.2} times as long.",
            point.algorithm,
            bytes(point.size),
            either(better, "better", "worse"),
            better + 1.0
        );
        Some(Finding::new(text, better >= 0.58))
    }

    /// By the first method that was used for such sizes.
    fn large_messages(&self) -> Option<Finding> {
        Test::LATENCY.into_iter().find_map(|test| {
            let latencies = self.of(test);
            let compared = [(2048, 2.1), (8192, 0.86), (32768, 0.0)].into_iter();
            let compared = compared.filter_map(|(size, there)| {
                let is_it = |point: &&&Point| point.size == size && point.algorithm == "window";
                let window = latencies.iter().find(is_it)?;
                let tree = beside(&latencies, window, "binomial")?.figure()?;
                let better = tree / window.figure()? - 1.0;
                let text = format!("{} at {} KiB", either(better, "better", "worse"), size >> 10);
                Some((text, better >= there))
            });
            let (texts, hold): (Vec<_>, Vec<_>) = compared.unzip();
            let text = || format!("Window against binomial: {}.", texts.join(", "));
            (!texts.is_empty()).then(|| Finding::new(text(), !hold.contains(&false)))
        })
    }

    fn best_rate(&self) -> Option<Finding> {
        let rates = self.of(Test::Throughput);
        let own = rates.iter().filter(|point| point.algorithm == "aggregate");
        let better = own.filter_map(|point| {
            let tree = beside(&rates, point, "binomial")?.rate()?;
            Some((point.rate()? / tree - 1.0, point.size))
        });
        let (better, size) = better.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let text = either(better, "more than", "less than");
        let text = format!("At best {text} by binomial, at {}.", bytes(size));
        Some(Finding::new(text, better >= 1.12))
    }

    fn skewed(&self) -> Option<Finding> {
        let all = self.of(Test::Skew);
        let most = all.iter().filter_map(|point| point.skew).max()?;
        let mean = |algorithm: &str| {
            let found = all
                .iter()
                .filter(|point| point.skew == Some(most) && point.algorithm == algorithm)
                .min_by_key(|point| point.size)?;
            found.histogram.summary().map(|summary| summary.mean)
        };
        let share = mean("window")? / mean("binomial")?;
        let text = format!("With {} µs, {} of binomial's mean time.", most / 1000, percent(share));
        Some(Finding::new(text, share <= 0.1))
    }

    fn balance(&self) -> Option<Finding> {
        let all = self.of(Test::Clock);
        let size = all.iter().map(|point| point.size).min()?;
        let medians = |algorithm: &str| {
            let point =
                all.iter().find(|point| point.size == size && point.algorithm == algorithm)?;
            // The root has its message from the beginning.
            let ranks = point.by_rank.iter().flatten().skip(1);
            let mut medians: Vec<f64> = ranks.map(|rank| rank.p50 as f64).collect();
            medians.sort_unstable_by(f64::total_cmp);
            (!medians.is_empty()).then_some(medians)
        };
        let ends = |all: &[f64]| (all[0], all[all.len() / 2], all[all.len() - 1]);
        let (first, _, last) = ends(&medians("binomial")?);
        let (least, middle, most) = ends(&medians("two-stage")?);
        let apart = ((most - middle) / middle).max((middle - least) / middle);
        let text = format!(
            "{}: by binomial the first receiver is {} before the last; by two-stage all are \
             within {} of the median.",
            bytes(size),
            percent(1.0 - first / last),
            percent(apart)
        );
        Some(Finding::new(text, apart <= 0.14))
    }

    fn damaged(&self) -> Option<Finding> {
        let received: u64 = self.0.iter().map(|point| point.counters.multicast_received).sum();
        let damaged: u64 = self.0.iter().map(|point| point.counters.damaged).sum();
        let text = || format!("{damaged} of {received} datagrams.");
        (received > 0).then(|| Finding { text: text(), holds: None })
    }
}

fn beside<'a>(points: &[&'a Point], point: &Point, algorithm: &str) -> Option<&'a Point> {
    let mut all = points.iter().filter(|other| other.is_beside(point));
    all.find(|other| other.algorithm == algorithm).copied()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// A share, and in words whether it is above zero or below.
fn either(share: f64, above: &str, below: &str) -> String {
    format!("{} {}", percent(share.abs()), if share < 0.0 { below } else { above })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(test: Test, algorithm: &str, size: u64, micros: u64) -> Point {
        let mut point =
            Point { algorithm: algorithm.to_owned(), ranks: 4, size, ..Point::new(test) };
        point.histogram.record(micros * 1000);
        point
    }

    #[test]
    fn the_same_is_reckoned_of_what_was_measured() {
        let late = |algorithm, micros| Point {
            skew: Some(400_000),
            ..point(Test::Skew, algorithm, 8, micros)
        };
        let rate = |algorithm, seconds| Point {
            iterations: 100,
            seconds: Some(seconds),
            ..point(Test::Throughput, algorithm, 8, 0)
        };
        let points = [
            point(Test::Acknowledge, "window", 8, 42),
            point(Test::Acknowledge, "binomial", 8, 100),
            point(Test::Acknowledge, "window", 2048, 100),
            point(Test::Acknowledge, "binomial", 2048, 315),
            late("window", 9),
            late("binomial", 100),
            rate("aggregate", 5.0),
            rate("binomial", 4.0),
        ];
        let found = quotes(&points);
        let here = |at: usize| {
            let found: &Option<Finding> = &found[at].here;
            found.as_ref().map(|found| (found.text.as_str(), found.holds))
        };
        let saving = "At best window at 8 bytes, 138 % better: binomial takes 2.38 times as long.";
        assert_eq!(here(1), Some((saving, Some(true))));
        assert_eq!(here(2), Some(("Window against binomial: 215 % better at 2 KiB.", Some(true))));
        let rate = "At best 20 % less than by binomial, at 8 bytes.";
        assert_eq!(here(3), Some((rate, Some(false))));
        let skewed = "With 400 µs, 9 % of binomial's mean time.";
        assert_eq!(here(4), Some((skewed, Some(true))));
        assert!(here(0).is_none());
        assert!(quotes(&[]).iter().all(|quote| quote.here.is_none()));
    }

    #[test]
    fn large_messages_are_compared_by_the_method_that_measured_them() {
        let points = [
            point(Test::Acknowledge, "window", 8, 42),
            point(Test::Acknowledge, "binomial", 8, 100),
            point(Test::Osu, "window", 8192, 100),
            point(Test::Osu, "binomial", 8192, 150),
        ];
        let found = quotes(&points).swap_remove(2).here.unwrap();
        assert_eq!(found.text, "Window against binomial: 50 % better at 8 KiB.");
        assert_eq!(found.holds, Some(false));
    }
}
