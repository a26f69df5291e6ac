//! Which figures there are.

use super::args::{FiguresArgs, PaperName};
use verbcast_fabric::links::{LaneRule, Share};

/// How messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    Unicast,
    Opensm,
    /// The scheme that the paper proposes: cyclic, or XY.
    Proposed,
}

/// One curve over sizes.
#[derive(Clone, Debug)]
pub struct CurveOf {
    pub name: String,
    pub style: usize,
    pub means: Means,
    pub lanes: u8,
    pub rule: LaneRule,
}

/// A figure: message sizes across, the time until all is delivered upwards.
#[derive(Clone, Debug)]
pub struct FigureOf {
    pub paper: PaperName,
    pub number: u32,
    pub sources: Share,
    pub members: Share,
    pub sizes: Vec<u32>,
    pub curves: Vec<CurveOf>,
}

/// Styles of unicast, OpenSM and the proposed scheme; where there are two lane rules, those of the
/// second too.
const STYLES: [[usize; 3]; 2] = [[9, 6, 1], [10, 5, 2]];

impl FigureOf {
    pub fn title(&self) -> String {
        let (sources, members) = (share(self.sources), share(self.members));
        let lanes = self.curves.first().map_or(1, |curve| curve.lanes);
        match self.paper {
            PaperName::FatTree | PaperName::Acks => {
                format!("{sources} to {members} of the hosts")
            }
            PaperName::Mesh => {
                let plural = if lanes == 1 { "" } else { "s" };
                format!("{sources} to {members} of the hosts, {lanes} lane{plural}")
            }
        }
    }

    /// The name of its files.
    pub fn file(&self) -> String {
        file(self.paper, self.number)
    }
}

pub fn file(paper: PaperName, number: u32) -> String {
    match paper {
        PaperName::FatTree => format!("fat-tree-{number:02}"),
        PaperName::Mesh => format!("mesh-{number:02}"),
        PaperName::Acks => format!("acks-{number:02}"),
    }
}

pub fn share(share: Share) -> String {
    match share {
        Share::One => "1".to_owned(),
        Share::Percent(percent) => format!("{percent}%"),
    }
}

fn curves(lanes: u8, proposed: &str) -> Vec<CurveOf> {
    let rules: &[(LaneRule, &str)] = match lanes {
        1 => &[(LaneRule::ServiceLevel, "")],
        _ => &[(LaneRule::ServiceLevel, ", by SL"), (LaneRule::Port, ", by port")],
    };
    let means =
        [(Means::Unicast, "unicast"), (Means::Opensm, "OpenSM"), (Means::Proposed, proposed)];
    let all = rules.iter().zip(STYLES).flat_map(|((rule, suffix), styles)| {
        means.into_iter().zip(styles).map(move |((means, name), style)| CurveOf {
            name: format!("{name}{suffix}"),
            style,
            means,
            lanes,
            rule: *rule,
        })
    });
    all.collect()
}

/// Sizes from 32 bytes on, doubled; with `quick` only each fourth.
fn sizes(last: u32, quick: bool) -> Vec<u32> {
    let all = std::iter::successors(Some(32), |size| Some(size * 2));
    all.take_while(|size| *size <= last).step_by(if quick { 4 } else { 1 }).collect()
}

/// The figures with sizes across that are asked for: all but figure 17 of the fat trees.
pub fn figures(args: &FiguresArgs) -> Vec<FigureOf> {
    use Share::{One, Percent};
    let trees = [One, Percent(40), Percent(100)].into_iter().flat_map(|sources| {
        [10, 40, 100].into_iter().map(move |members| (sources, Percent(members)))
    });
    let trees = trees.zip(8..).map(|((sources, members), number)| FigureOf {
        paper: PaperName::FatTree,
        number,
        sources,
        members,
        sizes: sizes(131_072, args.quick),
        curves: curves(1, "cyclic"),
    });
    let meshes = [(One, 100), (Percent(40), 40), (Percent(100), 100)].into_iter();
    let meshes = meshes.flat_map(|(sources, members)| {
        [1, 2, 4].into_iter().map(move |lanes| (sources, Percent(members), lanes))
    });
    let meshes = meshes.zip(8..).map(|((sources, members, lanes), number)| FigureOf {
        paper: PaperName::Mesh,
        number,
        sources,
        members,
        sizes: sizes(8192, args.quick),
        curves: curves(lanes, "XY"),
    });
    trees.chain(meshes).filter(|figure| is_wanted(args, figure.paper, figure.number)).collect()
}

pub fn is_wanted(args: &FiguresArgs, paper: PaperName, number: u32) -> bool {
    args.paper.is_none_or(|wanted| wanted == paper)
        && (args.figure.is_empty() || args.figure.contains(&number))
}
