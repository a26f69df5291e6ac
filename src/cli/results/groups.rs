//! Points in the order in which they are shown.

use super::{Point, Test};
use std::collections::{BTreeMap, BTreeSet};

/// What differs along a curve or down a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Size,
    Ranks,
    Skew,
}

impl Axis {
    /// What differs among points of one test.
    pub fn of(points: &[&Point]) -> Axis {
        let differ =
            |key: fn(&Point) -> u64| points.windows(2).any(|pair| key(pair[0]) != key(pair[1]));
        if differ(|point| point.skew.unwrap_or(0)) {
            Axis::Skew
        } else if differ(|point| u64::from(point.ranks)) {
            Axis::Ranks
        } else {
            Axis::Size
        }
    }

    pub fn value(self, point: &Point) -> u64 {
        match self {
            Axis::Size => point.size,
            Axis::Ranks => u64::from(point.ranks),
            Axis::Skew => point.skew.unwrap_or(0),
        }
    }

    /// What stays the same along a curve.
    fn rest(self, point: &Point) -> [u64; 3] {
        let key = [point.size, u64::from(point.ranks), point.skew.unwrap_or(0)];
        let own = match self {
            Axis::Size => 0,
            Axis::Ranks => 1,
            Axis::Skew => 2,
        };
        std::array::from_fn(|at| if at == own { 0 } else { key[at] })
    }
}

/// Points of one test that differ along one axis and in their algorithm.
#[derive(Debug)]
pub struct Group<'a> {
    pub test: Test,
    pub axis: Axis,
    pub points: Vec<&'a Point>,
}

impl<'a> Group<'a> {
    /// The algorithms, in their order, with their points along the axis.
    pub fn curves(&self) -> Vec<(&'a str, Vec<&'a Point>)> {
        let mut curves: Vec<(&str, Vec<&Point>)> = Vec::new();
        for point in &self.points {
            match curves.iter_mut().find(|(algorithm, _)| *algorithm == point.algorithm) {
                Some((_, points)) => points.push(point),
                None => curves.push((&point.algorithm, vec![point])),
            }
        }
        for (_, points) in &mut curves {
            points.sort_by_key(|point| self.axis.value(point));
        }
        curves
    }

    /// How many places on the axis there are.
    pub fn places(&self) -> usize {
        let values: BTreeSet<u64> =
            self.points.iter().map(|point| self.axis.value(point)).collect();
        values.len()
    }

    /// What is said once of all points: ranks, size or delay, where they do not differ.
    pub fn constants(&self) -> String {
        let Some(point) = self.points.first() else { return String::new() };
        let mut texts = Vec::new();
        if self.axis != Axis::Ranks {
            texts.push(format!("{} ranks", point.ranks));
        }
        if self.axis != Axis::Size {
            texts.push(bytes(point.size));
        }
        if let Some(skew) = point.skew.filter(|_| self.axis != Axis::Skew) {
            texts.push(format!("mean delay {} µs", skew as f64 / 1e3));
        }
        texts.join(", ")
    }
}

/// A number of bytes, in words.
pub fn bytes(size: u64) -> String {
    if size == 1 { "1 byte".to_owned() } else { format!("{size} bytes") }
}

/// All points by test, along what differs in it.
pub fn groups<'a>(points: impl IntoIterator<Item = &'a Point>) -> Vec<Group<'a>> {
    let mut by_test: BTreeMap<Test, Vec<&Point>> = BTreeMap::new();
    for point in points {
        by_test.entry(point.test).or_default().push(point);
    }
    let along = |(test, points): (Test, Vec<&'a Point>)| along(test, Axis::of(&points), points);
    by_test.into_iter().flat_map(along).collect()
}

/// The points of a test by what stays the same along an axis.
pub fn along<'a>(
    test: Test,
    axis: Axis,
    points: impl IntoIterator<Item = &'a Point>,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for point in points.into_iter().filter(|point| point.test == test) {
        let same = |group: &&mut Group<'_>| axis.rest(group.points[0]) == axis.rest(point);
        match groups.iter_mut().find(same) {
            Some(group) => group.points.push(point),
            None => groups.push(Group { test, axis, points: vec![point] }),
        }
    }
    groups
}

/// How many times a point's figure is that of another algorithm in the same place.
pub fn ratio<'a>(
    point: &Point,
    algorithm: &str,
    among: impl IntoIterator<Item = &'a Point>,
) -> Option<f64> {
    let mut beside = among.into_iter().filter(|other| other.is_beside(point));
    let other = beside.find(|other| other.algorithm == algorithm)?.figure()?;
    Some(point.figure()? / other).filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(test: Test, algorithm: &str, ranks: u32, size: u64, micros: u64) -> Point {
        let mut point = Point { algorithm: algorithm.to_owned(), ranks, size, ..Point::new(test) };
        point.histogram.record(micros * 1000);
        point
    }

    #[test]
    fn curves_go_along_what_differs() {
        let points = [
            point(Test::Osu, "raw", 2, 8, 1),
            point(Test::Osu, "window", 2, 8, 2),
            point(Test::Osu, "raw", 4, 8, 3),
            point(Test::Osu, "raw", 2, 64, 4),
            point(Test::Clock, "raw", 4, 64, 5),
            point(Test::Clock, "raw", 4, 8, 5),
        ];
        let groups = groups(&points);
        let shape: Vec<_> = groups
            .iter()
            .map(|group| (group.test, group.axis, group.points.len(), group.constants()))
            .collect();
        assert_eq!(
            shape,
            [
                (Test::Osu, Axis::Ranks, 3, "8 bytes".to_owned()),
                (Test::Osu, Axis::Ranks, 1, "64 bytes".to_owned()),
                (Test::Clock, Axis::Size, 2, "4 ranks".to_owned()),
            ]
        );
        let curves = groups[0].curves();
        assert_eq!((curves[0].0, curves[0].1.len(), curves[1].0), ("raw", 2, "window"));
        let sizes: Vec<_> = groups[2].curves()[0].1.iter().map(|point| point.size).collect();
        assert_eq!(sizes, [8, 64]);
    }

    #[test]
    fn ratios_are_of_the_same_place() {
        let points = [
            point(Test::Osu, "raw", 8, 8, 100),
            point(Test::Osu, "raw", 8, 16, 7),
            point(Test::Osu, "window", 8, 8, 150),
        ];
        let found = ratio(&points[2], "raw", &points).unwrap();
        assert!((found - 1.5).abs() < 0.01, "{found}");
        assert_eq!(ratio(&points[2], "binomial", &points), None);
    }
}
