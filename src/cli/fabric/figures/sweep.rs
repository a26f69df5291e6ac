//! From a figure to its numbers.

use super::args::{FiguresArgs, PaperName};
use super::catalogue::{CurveOf, FigureOf, Means, share};
use super::network::Network;
use crate::chart::{Across, Curve, Lines};
use crate::failure::Failure;
use crate::progress::Progress;
use serde::Serialize;
use verbcast_fabric::links::{LaneRule, Load, Share};

/// A figure with its numbers.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub paper: &'static str,
    pub figure: u32,
    pub title: String,
    pub fabric: String,
    pub sources: String,
    pub members: String,
    pub curves: Vec<Numbers>,
}

/// One curve.
#[derive(Debug, Serialize)]
pub struct Numbers {
    pub name: String,
    pub lanes: u8,
    /// How a packet's lane is chosen: by its service level, or by the port by which it leaves.
    pub lane_rule: &'static str,
    #[serde(skip)]
    pub style: usize,
    #[serde(skip)]
    pub means: Means,
    pub points: Vec<Point>,
}

/// Means over the draws.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    pub bytes: u32,
    /// From the start to the last delivery; none where a draw came to a standstill.
    pub makespan_ns: Option<f64>,
    /// From the start to a delivery.
    pub mean_ns: Option<f64>,
    /// The time that the bytes of the busiest receiver take.
    pub floor_ns: f64,
    /// The time in which the busiest link carried bytes.
    pub busiest_link_ns: f64,
    pub delivered: u64,
    pub events: u64,
    /// Draws that came to a standstill, and what the first did.
    pub stuck: u32,
    pub fault: Option<String>,
}

pub fn name(paper: PaperName) -> &'static str {
    match paper {
        PaperName::FatTree => "Zhou, Lin and Chung 2007",
        PaperName::Mesh => "Zhou, Liu and Chung",
        PaperName::Acks => "verbcast",
    }
}

/// Points of a figure, each of all draws.
pub fn points(figure: &FigureOf) -> usize {
    figure.sizes.len() * figure.curves.len()
}

pub fn figure(
    of: &FigureOf,
    network: &Network,
    args: &FiguresArgs,
    progress: &Progress,
) -> Result<Figure, Failure> {
    let mut curves = Vec::new();
    for curve in &of.curves {
        let crowd = [of.sources, of.members];
        let points = curve_over_sizes(curve, crowd, &of.sizes, network, args, progress)?;
        curves.push(Numbers {
            name: curve.name.clone(),
            lanes: curve.lanes,
            lane_rule: match curve.rule {
                LaneRule::ServiceLevel => "service level",
                LaneRule::Port => "port",
            },
            style: curve.style,
            means: curve.means,
            points,
        });
    }
    Ok(Figure {
        paper: name(of.paper),
        figure: of.number,
        title: of.title(),
        fabric: network.name.clone(),
        sources: share(of.sources),
        members: share(of.members),
        curves,
    })
}

pub fn curve_over_sizes(
    curve: &CurveOf,
    crowd: [Share; 2],
    sizes: &[u32],
    network: &Network,
    args: &FiguresArgs,
    progress: &Progress,
) -> Result<Vec<Point>, Failure> {
    let seeds = (0..u64::from(args.draws)).map(|draw| args.seed.wrapping_add(draw));
    let drawn: Result<Vec<_>, _> =
        seeds.map(|seed| network.draw(args, crowd, curve.means, seed)).collect();
    let drawn = drawn?;
    let mut points = Vec::new();
    for bytes in sizes {
        let mut loads = Vec::new();
        let mut point = Point { bytes: *bytes, ..Point::default() };
        for drawn in &drawn {
            match network.carry(args, drawn, curve, *bytes)? {
                Ok(load) => loads.push(load),
                Err(fault) => {
                    point.stuck += 1;
                    point.fault.get_or_insert(fault.describe(network.loaded.topology()));
                }
            }
        }
        point.fill(&loads);
        points.push(point);
        progress.advance();
    }
    Ok(points)
}

impl Point {
    fn fill(&mut self, loads: &[Load]) {
        let mean = |of: &dyn Fn(&Load) -> f64| {
            loads.iter().map(of).sum::<f64>() / loads.len().max(1) as f64
        };
        self.floor_ns = mean(&|load| load.floor as f64);
        self.busiest_link_ns = mean(&|load| load.busiest as f64);
        self.delivered = loads.iter().map(|load| load.delivered).sum();
        self.events = loads.iter().map(|load| load.events).sum();
        if self.stuck == 0 {
            self.makespan_ns = Some(mean(&|load| load.makespan as f64));
            self.mean_ns = Some(mean(&|load| load.mean));
        }
    }
}

impl Figure {
    pub fn lines(&self) -> Lines {
        let curves = self.curves.iter().map(|numbers| {
            let points = numbers.points.iter();
            let points =
                points.filter_map(|point| Some((f64::from(point.bytes), point.makespan_ns? / 1e3)));
            let stuck = numbers.points.iter().filter(|point| point.makespan_ns.is_none());
            let stops = stuck.map(|point| f64::from(point.bytes)).collect();
            let (name, style) = (numbers.name.clone(), numbers.style);
            Curve { name, style, points: points.collect(), stops }
        });
        Lines {
            title: format!("Figure {} of {}: {}", self.figure, self.paper, self.title),
            axis: Across::Size,
            height: "time until all is delivered (µs)".to_owned(),
            is_linear: false,
            curves: curves.collect(),
        }
    }
}
