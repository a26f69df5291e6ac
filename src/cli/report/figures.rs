//! Which charts there are, laid out as the papers' figures.

use crate::chart::{Across, Bars, Curve, Lines, Panel, style};
use crate::results::{Axis, Group, Point, Summary, Test, along, bytes};

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
        let (name, style) = (name.to_owned(), style(name));
        Curve { name, style, points: points.collect(), stops: Vec::new() }
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
    let height = height.to_owned();
    Some(draw(Lines { title, axis: group.axis.into(), height, is_linear: false, curves }, like))
}

fn draw(lines: Lines, like: &'static str) -> Figure {
    Figure { svg: lines.svg(), title: lines.title, like }
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
        let most = groups.into_iter().max_by_key(|group| group.points[0].ranks);
        most.and_then(|group| lines(&group, &title(what), "median latency (µs)", like, median))
    };
    let short = draw(small.collect(), "short", "Liu 2004, figure 6");
    let long = draw(large.collect(), "long", "Liu 2004, figure 7");
    short.into_iter().chain(long).collect()
}

/// One algorithm over small sizes, a curve for each number of ranks.
fn by_ranks_over_sizes(points: &[Point], algorithm: &str, like: &'static str) -> Option<Figure> {
    let is_own = |point: &&Point| point.algorithm == algorithm && point.size <= SMALL;
    let tests = Test::LATENCY.into_iter().rev();
    let mut groups = tests.map(|test| {
        let groups = along(test, Axis::Size, points.iter().filter(is_own)).into_iter();
        groups.filter(|group| group.places() > 1).collect::<Vec<_>>()
    });
    let mut groups = groups.find(|groups| groups.len() > 1)?;
    groups.sort_by_key(|group| group.points[0].ranks);
    // The styles have no meaning here; the first is that of raw.
    let curves = groups.iter().zip(1..).flat_map(|(group, style)| {
        let name = format!("{} ranks", group.points[0].ranks);
        let curves = curves(group, median).into_iter();
        curves.map(move |curve| Curve { name: name.clone(), style, ..curve })
    });
    let method = method(groups[0].test);
    let title = format!("Latency of {algorithm} by number of ranks, {method}");
    let height = "median latency (µs)".to_owned();
    let curves = curves.collect();
    Some(draw(Lines { title, axis: Across::Size, height, is_linear: false, curves }, like))
}

fn over_ranks(points: &[Point], test: Test) -> Vec<Figure> {
    let title = format!("Latency over ranks, {}", method(test));
    let (height, like) = ("median latency (µs)", "Hoefler 2007, figure 4");
    let draw = |group| lines(group, &title, height, like, median);
    ends(along(test, Axis::Ranks, points)).iter().filter_map(draw).collect()
}

/// Of groups that differ in their size, those of the smallest and the largest that have a curve.
fn ends(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let mut groups: Vec<_> = groups.into_iter().filter(|group| group.places() > 1).collect();
    groups.sort_by_key(|group| group.points[0].size);
    let last = groups.pop();
    groups.truncate(1);
    groups.extend(last);
    groups
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
    let title = format!("When each rank has the message, {}, {ranks} ranks", bytes(size));
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
    let mut groups = ends(along(Test::Clock, Axis::Ranks, points));
    groups.truncate(1);
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
    let tests = [(Test::Throughput, "back to back"), (Test::Osu, "with barriers between")];
    let figures = tests.into_iter().filter_map(|(test, what)| {
        let groups = along(test, Axis::Size, points).into_iter();
        let group = groups.max_by_key(|group| group.points[0].ranks)?;
        let curves = curves(&group, share);
        if group.places() < 2 || curves.is_empty() {
            return None;
        }
        let title = format!("Packets lost or too late, {what}, {}", group.constants());
        let height = "share of the packets to receive (%)".to_owned();
        Some(draw(Lines { title, axis: Across::Size, height, is_linear: true, curves }, ""))
    });
    figures.collect()
}
