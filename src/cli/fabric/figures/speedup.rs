//! Figure 17 of Zhou, Lin and Chung 2007: how much faster the cyclic scheme is than OpenSM's.

use super::args::{FiguresArgs, PaperName};
use super::catalogue::{CurveOf, Means, share};
use super::network::Network;
use super::sweep::{curve_over_sizes, name};
use crate::chart::{Across, Curve, Lines};
use crate::failure::Failure;
use crate::progress::Progress;
use serde::Serialize;
use verbcast_fabric::links::{LaneRule, Share};

pub const NUMBER: u32 = 17;
/// The paper names no size; this one takes far longer on a link than in switches.
const BYTES: u32 = 32_768;
const SOURCES: [Share; 4] =
    [Share::One, Share::Percent(40), Share::Percent(70), Share::Percent(100)];
const MEMBERS: [u8; 4] = [10, 40, 70, 100];
/// Of the curves, for each number of sources.
const STYLES: [usize; 4] = [0, 3, 8, 1];

/// The figure with its numbers.
#[derive(Debug, Serialize)]
pub struct Speedup {
    pub paper: &'static str,
    pub figure: u32,
    pub title: String,
    pub fabric: String,
    pub bytes: u32,
    pub curves: Vec<Sources>,
}

/// One curve.
#[derive(Debug, Serialize)]
pub struct Sources {
    pub sources: String,
    #[serde(skip)]
    pub style: usize,
    pub points: Vec<Ratio>,
}

#[derive(Debug, Serialize)]
pub struct Ratio {
    pub members_percent: u8,
    pub opensm_ns: Option<f64>,
    pub cyclic_ns: Option<f64>,
    pub speedup: Option<f64>,
    #[serde(skip)]
    pub events: u64,
}

/// Points of the figure, each of all draws.
pub const POINTS: usize = SOURCES.len() * MEMBERS.len() * 2;

pub fn speedup(
    network: &Network,
    args: &FiguresArgs,
    progress: &Progress,
) -> Result<Speedup, Failure> {
    let time = |crowd, means| {
        let rule = LaneRule::ServiceLevel;
        let curve = CurveOf { name: String::new(), style: 0, means, lanes: 1, rule };
        let points = curve_over_sizes(&curve, crowd, &[BYTES], network, args, progress)?;
        Ok::<_, Failure>((points[0].makespan_ns, points[0].events))
    };
    let mut curves = Vec::new();
    for (sources, style) in SOURCES.into_iter().zip(STYLES) {
        let mut points = Vec::new();
        for members in MEMBERS {
            let crowd = [sources, Share::Percent(members)];
            let (opensm_ns, events) = time(crowd, Means::Opensm)?;
            let (cyclic_ns, more) = time(crowd, Means::Proposed)?;
            points.push(Ratio {
                members_percent: members,
                opensm_ns,
                cyclic_ns,
                speedup: opensm_ns.zip(cyclic_ns).map(|(opensm, cyclic)| opensm / cyclic),
                events: events + more,
            });
        }
        curves.push(Sources { sources: share(sources), style, points });
    }
    Ok(Speedup {
        paper: name(PaperName::FatTree),
        figure: NUMBER,
        title: "OpenSM's time to that of the cyclic scheme".to_owned(),
        fabric: network.name.clone(),
        bytes: BYTES,
        curves,
    })
}

impl Speedup {
    pub fn events(&self) -> u64 {
        self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.events).sum()
    }

    pub fn lines(&self) -> Lines {
        let curves = self.curves.iter().map(|curve| {
            let points = curve.points.iter();
            let points =
                points.filter_map(|point| Some((f64::from(point.members_percent), point.speedup?)));
            let name = format!("from {}", curve.sources);
            let stuck = curve.points.iter().filter(|point| point.speedup.is_none());
            let stops = stuck.map(|point| f64::from(point.members_percent)).collect();
            Curve { name, style: curve.style, points: points.collect(), stops }
        });
        Lines {
            title: format!("Figure {} of {}: {}", self.figure, self.paper, self.title),
            axis: Across::Members,
            height: "speedup over OpenSM".to_owned(),
            is_linear: true,
            curves: curves.collect(),
        }
    }
}
