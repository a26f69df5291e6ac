//! What acknowledgements do to the root and its link, with and without co-roots: the protocols' own code
//! over the links of a fat tree.

use super::args::FiguresArgs;
use crate::chart::{Across, Curve, Lines, style};
use crate::fabric::args::{SchemeArgs, Spec};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::sim::fabric::OnFabricArgs;
use crate::sim::latency::throughput;
use serde::Serialize;
use verbcast_core::protocol::Depths;
use verbcast_core::protocol::options::Options;
use verbcast_core::rank::Rank;
use verbcast_sim::{Costs, Plan, Step, simulate_on};

/// A single root, co-roots as many as the model finds best, and a protocol without acknowledgements.
const ALGORITHMS: [&str; 3] = ["window", "co-root", "two-stage"];
/// So many that the second half finds all buffers in use, and goes on for as many broadcasts as there are buffers.
const OPERATIONS: usize = 1024;
const _: () = assert!(OPERATIONS >= 4 * Depths::DEFAULT.ring as usize);
const BYTES: usize = 8;

/// What one of the figures shows.
pub struct Shown {
    pub number: u32,
    pub title: &'static str,
    pub height: &'static str,
    pub of: fn(&Point) -> f64,
}

pub const SHOWN: [Shown; 2] = [
    Shown {
        number: 1,
        title: "the time of a broadcast, over ranks",
        height: "time of a broadcast, back to back (µs)",
        of: |point| point.broadcast_ns,
    },
    Shown {
        number: 2,
        title: "the link into the root, over ranks",
        height: "time that the link is busy for a broadcast (µs)",
        of: |point| point.into_root_ns,
    },
];

/// Both figures with their numbers.
#[derive(Debug, Serialize)]
pub struct Acks {
    pub title: String,
    pub fabric: String,
    pub bytes: usize,
    pub operations: usize,
    pub curves: Vec<Protocol>,
}

/// One curve.
#[derive(Debug, Serialize)]
pub struct Protocol {
    pub algorithm: &'static str,
    pub points: Vec<Point>,
}

#[derive(Debug, Serialize)]
pub struct Point {
    pub ranks: u32,
    /// Of one broadcast, where each follows the one before at once; over the second half of them.
    pub broadcast_ns: f64,
    /// In which the link into the root carries bytes, for one broadcast.
    pub into_root_ns: f64,
    pub events: u64,
}

/// The numbers of ranks, and the fabric for them.
fn sizes(args: &FiguresArgs) -> (Vec<u32>, Spec) {
    let (most, spec) = match args.quick {
        true => (32, Spec::FatTree(8, 3)),
        false => (1024, Spec::FatTree(16, 3)),
    };
    (
        std::iter::successors(Some(2), |ranks| Some(ranks * 2))
            .take_while(|n| *n <= most)
            .collect(),
        spec,
    )
}

/// Points of the figures.
pub fn points(args: &FiguresArgs) -> usize {
    sizes(args).0.len() * ALGORITHMS.len()
}

pub fn acks(args: &FiguresArgs, progress: &Progress) -> Result<Acks, Failure> {
    let (ranks, spec) = sizes(args);
    let mut curves = Vec::new();
    for algorithm in ALGORITHMS {
        let mut points = Vec::new();
        for ranks in &ranks {
            points.push(point(args, algorithm, *ranks, &spec)?);
            progress.advance();
        }
        curves.push(Protocol { algorithm, points });
    }
    Ok(Acks {
        title: "Acknowledgements at the root".to_owned(),
        fabric: spec.to_string(),
        bytes: BYTES,
        operations: OPERATIONS,
        curves,
    })
}

fn point(args: &FiguresArgs, algorithm: &str, ranks: u32, spec: &Spec) -> Result<Point, Failure> {
    let on = OnFabricArgs {
        fabric: Some(spec.clone()),
        routing: None,
        scheme: SchemeArgs { scheme: None },
        jobs: None,
        ranks_per_host: None,
        placement: None,
        lanes: None,
        lifetime: None,
        retry: None,
        links: args.links.clone(),
    };
    let on =
        on.load(ranks, args.seed, u64::MAX)?.ok_or_else(|| Failure::new("there is no fabric"))?;
    let mut options = Options::default();
    // Every rank acknowledges each message, and to the root alone where there are no co-roots.
    for (name, value) in [("algorithm", algorithm), ("acknowledge", "each"), ("repair-tree", "off")]
    {
        options.set(name, value).map_err(Failure::new)?;
    }
    let steps = vec![Step { root: Rank(0), len: BYTES }; OPERATIONS];
    let plan = Plan::new(ranks, steps);
    let plan = Plan { costs: on.costs(Costs::default()), seed: args.seed, ..plan };
    let done = simulate_on(on.fabric(), &[plan], &options, |_, _| {});
    let (outcomes, traffic) = done.map_err(Failure::new)?;
    let per_second = throughput(&outcomes[0]);
    let per_second = per_second.ok_or_else(|| Failure::new("broadcasts took no time"))?;
    Ok(Point {
        ranks,
        broadcast_ns: 1e9 / per_second,
        into_root_ns: on.links(&traffic, 0).into_root_ns as f64 / OPERATIONS as f64,
        events: outcomes[0].events + traffic.events,
    })
}

impl Acks {
    pub fn events(&self) -> u64 {
        self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.events).sum()
    }

    pub fn lines(&self, shown: &Shown) -> Lines {
        let curves = self.curves.iter().map(|Protocol { algorithm, points }| {
            let points =
                points.iter().map(|point| (f64::from(point.ranks), (shown.of)(point) / 1e3));
            let (name, style) = ((*algorithm).to_owned(), style(algorithm));
            Curve { name, style, points: points.collect(), stops: Vec::new() }
        });
        Lines {
            title: format!("{}: {}", self.title, shown.title),
            axis: Across::Ranks,
            height: shown.height.to_owned(),
            is_linear: false,
            curves: curves.collect(),
        }
    }
}
