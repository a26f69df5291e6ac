//! Which charts there are, laid out as the papers' figures.

use super::chart::{Bars, Curve, Lines, Panel, style};
use crate::results::{Axis, Group, Point, Summary, Test, along};

/// The largest message of a chart of small ones (Liu 2004, figure 6 has up to 2 KiB).
const SMALL: u64 = 2048;

/// A chart, and which figure of a paper has the same axes.
pub struct Figure {
    pub title: String,
    pub like: &'static str,
    pub svg: String,
}

/// All that can be drawn of the points of one place.
pub fn figures(points: &[Point]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for test in Test::LATENCY {
        figures.extend(over_sizes(points, test));
    }
    figures.extend(by_ranks_over_sizes(points, "raw", "Liu 2004, figure 1"));
    figures.extend(by_ranks_over_sizes(points, "binomial", "Liu 2004, figure 2"));
    for test in Test::LATENCY {
        figures.extend(over_ranks(points, test));
    }
    figures.extend(of_each_rank(points));
    figures.extend(of_single_ranks(points));
    figures.extend(throughput(points));
    figures.extend(skew(points));
    figures.extend(loss(points));
    figures
}

fn median(point: &Point) -> Option<f64> {
    point.histogram.summary().map(|summary| micros(summary.p50))
}

fn mean(point: &Point) -> Option<f64> {
    point.histogram.summary().map(|summary| summary.mean / 1e3)
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// The curves of a group's algorithms, of those points that have a figure.
fn curves(group: &Group<'_>, figure: impl Fn(&Point) -> Option<f64>) -> Vec<Curve> {
    let across = |point: &Point| match group.axis {
        Axis::Skew => micros(group.axis.value(point)),
        axis => axis.value(point) as f64,
    };
    let curves = group.curves().into_iter().map(|(name, points)| {
        let points = points.into_iter().filter_map(|point| Some((across(point), figure(point)?)));
        Curve { name: name.to_owned(), style: style(name), points: points.collect() }
    });
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

fn lines(
    group: &Group<'_>,
    title: &str,
    height: &str,
    like: &'static str,
    figure: impl Fn(&Point) -> Option<f64>,
) -> Option<Figure> {
    let curves = curves(group, figure);
    if group.places() < 2 || curves.is_empty() {
        return None;
    }
    let title = format!("{title}, {}", group.constants());
    let svg =
        Lines { title: title.clone(), axis: group.axis, height: height.to_owned(), curves }.svg();
    Some(Figure { title, like, svg })
}

/// The method of a latency in few words.
fn method(test: Test) -> &'static str {
    match test {
        Test::Acknowledge => "receivers take turns to acknowledge",
        Test::Osu => "OSU's method",
        _ => "on a synchronised clock",
    }
}

fn over_sizes(points: &[Point], test: Test) -> Vec<Figure> {
    let small = points.iter().filter(|point| point.size <= SMALL);
    let large = points.iter().filter(|point| point.size >= SMALL);
    let title = |what: &str| format!("Latency of {what} messages, {}", method(test));
    let draw = |points: Vec<&Point>, what: &str, like| {
        let groups = along(test, Axis::Size, points);
        let draw = |group| lines(group, &title(what), "median latency (µs)", like, median);
        groups.iter().filter_map(draw).collect::<Vec<_>>()
    };
    let mut figures = draw(small.collect(), "short", "Liu 2004, figure 6");
    figures.extend(draw(large.collect(), "long", "Liu 2004, figure 7"));
    figures
}

/// One algorithm over sizes, a curve for each number of ranks.
fn by_ranks_over_sizes(points: &[Point], algorithm: &str, like: &'static str) -> Option<Figure> {
    let test = Test::LATENCY.into_iter().rev().find(|test| {
        let own = points.iter().filter(|point| point.algorithm == algorithm);
        let groups = along(*test, Axis::Size, own);
        groups.len() > 1 && groups.iter().all(|group| group.places() > 1)
    })?;
    let own = points.iter().filter(|point| point.algorithm == algorithm);
    let groups = along(test, Axis::Size, own);
    let curves = groups.iter().enumerate().flat_map(|(at, group)| {
        let name = format!("{} ranks", group.points[0].ranks);
        curves(group, median).into_iter().map(move |curve| Curve {
            name: name.clone(),
            style: at,
            ..curve
        })
    });
    let title = format!("Latency of {algorithm} among more and more ranks, {}", method(test));
    let height = "median latency (µs)".to_owned();
    let svg =
        Lines { title: title.clone(), axis: Axis::Size, height, curves: curves.collect() }.svg();
    Some(Figure { title, like, svg })
}

fn over_ranks(points: &[Point], test: Test) -> Vec<Figure> {
    let title = format!("Latency over ranks, {}", method(test));
    let groups = along(test, Axis::Ranks, points);
    let draw =
        |group| lines(group, &title, "median latency (µs)", "Hoefler 2007, figure 4", median);
    groups.iter().filter_map(draw).collect()
}

/// Points on the synchronised clock with the most ranks and the smallest message.
fn of_each_rank(points: &[Point]) -> Option<Figure> {
    let clocked = || points.iter().filter(|point| point.test == Test::Clock);
    let ranks = clocked().map(|point| point.ranks).max()?;
    let size = clocked().filter(|point| point.ranks == ranks).map(|point| point.size).min()?;
    let chosen = clocked().filter(|point| (point.ranks, point.size) == (ranks, size));
    let panel = |point: &Point| Panel {
        name: point.algorithm.clone(),
        style: style(&point.algorithm),
        heights: point.by_rank.iter().map(|rank| rank.map(|rank| micros(rank.p50))).collect(),
    };
    let title = format!("When each rank has {size} bytes, {ranks} ranks");
    let height = "median latency (µs)".to_owned();
    let svg = Bars { title: title.clone(), height, panels: chosen.map(panel).collect() }.svg();
    Some(Figure { title, like: "Hoefler 2007, figure 5", svg })
}

/// Ranks 1 and N-1 over the number of ranks.
fn of_single_ranks(points: &[Point]) -> Vec<Figure> {
    let of = |point: &Point, rank: usize| {
        let summary: Option<&Summary> = point.by_rank.get(rank)?.as_ref();
        summary.map(|rank| micros(rank.p50))
    };
    let groups = along(Test::Clock, Axis::Ranks, points);
    let first = |group| {
        let (height, like) = ("median latency of rank 1 (µs)", "Hoefler 2007, figure 6");
        lines(group, "Latency of rank 1", height, like, |point| of(point, 1))
    };
    let last = |group| {
        let (height, like) = ("median latency of rank N-1 (µs)", "Hoefler 2007, figure 7");
        let rank = |point: &Point| point.by_rank.len().checked_sub(1);
        lines(group, "Latency of the last rank", height, like, |point| of(point, rank(point)?))
    };
    groups.iter().flat_map(|group| [first(group), last(group)]).flatten().collect()
}

fn throughput(points: &[Point]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for axis in [Axis::Size, Axis::Ranks] {
        for group in along(Test::Throughput, axis, points) {
            let like = "Liu 2004, figure 8";
            figures.extend(lines(&group, "Throughput", "broadcasts per second", like, Point::rate));
            let height = "10⁶ bytes per second, to each rank";
            figures.extend(lines(&group, "Bandwidth", height, "", Point::bandwidth));
        }
    }
    figures
}

fn skew(points: &[Point]) -> Vec<Figure> {
    let groups = along(Test::Skew, Axis::Skew, points);
    let (height, like) = ("mean time in the broadcast (µs)", "Liu 2004, figure 9");
    groups.iter().filter_map(|group| lines(group, "Process skew", height, like, mean)).collect()
}

/// The share of packets that had not come by multicast when the broadcast was complete.
fn loss(points: &[Point]) -> Vec<Figure> {
    let share = |point: &Point| {
        let receivers = u64::from(point.ranks.saturating_sub(1));
        let expected = point.counters.multicast_sent * receivers;
        (expected > 0).then(|| 100.0 * point.counters.lost as f64 / expected as f64)
    };
    let tests = [Test::Throughput, Test::Osu, Test::Skew];
    let groups = tests.into_iter().flat_map(|test| {
        [Axis::Size, Axis::Skew].into_iter().flat_map(move |axis| along(test, axis, points))
    });
    let draw = |group: &Group<'_>| {
        let title = format!(
            "Packets lost or too late, {}",
            match group.test {
                Test::Throughput => "back to back",
                Test::Osu => "with barriers between",
                _ => "where receivers come late",
            }
        );
        lines(group, &title, "share of the packets to receive (%)", "", share)
    };
    groups.filter_map(|group| draw(&group)).collect()
}
