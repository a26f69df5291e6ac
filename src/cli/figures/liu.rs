//! Figures 10, 11 and 12 of Liu 2004 (section 7): the analytical model, and what it can be held against.

use super::Scope;
use super::figure::{Figure, Numbers};
use super::simulated::{latency, per_second};
use crate::chart::Across;
use crate::failure::Failure;
use crate::results::Test;
use verbcast_core::model::Parameters;
use verbcast_sim::Costs;

const LATENCY: &str = "latency (µs)";
const FIT: &str = "The model's times are fitted to the paper's ratios, and the simulator's are made of them: that both \
                   agree says nothing of an adapter. --measured has measurements beside.";
/// Of a message in figure 12.
const SHORT: usize = 8;

/// Doubled from `first` on.
fn doubled(first: u32, last: u32) -> Vec<u32> {
    std::iter::successors(Some(first), |one| Some(one * 2)).take_while(|one| *one <= last).collect()
}

fn model(len: usize) -> Parameters {
    Costs::default().model(len)
}

pub fn latency_at_8(scope: &Scope) -> Result<Figure, Failure> {
    latency_over_sizes(scope, 8, "figure 10")
}

pub fn latency_at_1024(scope: &Scope) -> Result<Figure, Failure> {
    latency_over_sizes(scope, if scope.is_quick { 64 } else { 1024 }, "figure 11")
}

fn latency_over_sizes(scope: &Scope, ranks: u32, number: &str) -> Result<Figure, Failure> {
    let sizes = doubled(4, if scope.is_quick { 64 } else { 2048 });
    let of_model = |time: fn(&Parameters, u32) -> u64| {
        let micros = |size: &u32| time(&model(*size as usize), ranks) as f64 / 1e3;
        sizes.iter().map(|size| (f64::from(*size), micros(size))).collect::<Vec<_>>()
    };
    let mut curves = vec![
        Numbers::of("binomial", "model", of_model(Parameters::binomial)),
        Numbers::of("window", "model", of_model(|model, _| model.single_root())),
    ];
    for algorithm in ["binomial", "window"] {
        let point = |size: &u32| Ok((f64::from(*size), latency(algorithm, ranks, *size as usize)?));
        let points = sizes.iter().map(point).collect::<Result<_, Failure>>()?;
        curves.push(Numbers::of(algorithm, "simulated", points));
    }
    let is_measured = add_measured(scope, ranks, &mut curves);
    let ratio = |how: &str| {
        let of = |algorithm: &str| {
            let name = format!("{algorithm}, {how}");
            curves.iter().find(|curve| curve.name == name)?.points.first().copied()
        };
        Some((of("binomial")?, of("window")?))
    };
    let mut remarks = vec![FIT.to_owned()];
    for how in ["model", "simulated", "measured"] {
        if let Some(((size, tree), (_, window))) = ratio(how) {
            remarks.push(format!(
                "{how}: binomial takes {:.2} times as long at {size} bytes",
                tree / window
            ));
        }
    }
    match ranks {
        8 => remarks.push("Liu 2004, section 6.2: up to 58 % better among 8 nodes; section 7.1: the model matches closely.".to_owned()),
        1024 => remarks.push("Liu 2004, section 7.1: up to 4.86 times, estimated for 1,024 nodes.".to_owned()),
        _ => {}
    }
    if scope.measured.is_some() && !is_measured {
        remarks.push(format!("Nothing was measured among {ranks} ranks."));
    }
    let title = format!("Liu 2004, {number}: latency among {ranks} ranks");
    Ok(Figure { title, axis: Across::Size, height: LATENCY, curves, remarks })
}

/// Medians of a file of results, by the first method that it has of these ranks.
fn add_measured(scope: &Scope, ranks: u32, curves: &mut Vec<Numbers>) -> bool {
    let points = scope.measured.iter().flat_map(|results| &results.points);
    let points: Vec<_> = points.filter(|point| point.ranks == ranks).collect();
    let test = Test::LATENCY.into_iter().find(|test| points.iter().any(|one| one.test == *test));
    let before = curves.len();
    for (algorithm, style) in [("binomial", 9), ("window", 5)] {
        let own = points.iter().filter(|one| Some(one.test) == test && one.algorithm == algorithm);
        let own: Vec<_> = own.filter_map(|one| Some((one.size as f64, one.figure()?))).collect();
        if !own.is_empty() {
            curves.push(Numbers::of(algorithm, "measured", own).in_style(style));
        }
    }
    curves.len() > before
}

pub fn throughput_over_co_roots(scope: &Scope) -> Result<Figure, Failure> {
    let ranks = if scope.is_quick { 64 } else { 1024 };
    let groups = doubled(1, ranks);
    let model = model(SHORT);
    let points = groups.iter().map(|groups| (f64::from(*groups), model.throughput(ranks, *groups)));
    let mut curves = vec![Numbers::of("window", "model", points.collect())];
    // With one buffer no acknowledgement stands for several broadcasts, as in the model.
    let as_modelled =
        [("window", "1"), ("repair", "push"), ("repair-after", "100000"), ("credits", "off")];
    let ways = [("one buffer", &as_modelled[..], 5), ("the defaults", &[], 1)];
    for (how, settings, style) in ways {
        let point = |groups: &u32| {
            let text = groups.to_string();
            let own = [("algorithm", "window"), ("co-roots", text.as_str())];
            let settings: Vec<_> = own.into_iter().chain(settings.iter().copied()).collect();
            Ok((f64::from(*groups), per_second(&settings, ranks, SHORT)?))
        };
        let points = groups.iter().map(point).collect::<Result<_, Failure>>()?;
        curves.push(Numbers::of("window", how, points).in_style(style));
    }
    let optimum = f64::from(model.optimal_co_roots(ranks));
    let mut remarks = vec![
        "Liu 2004, section 7.2: 128 co-roots are the best choice for 1,024 nodes, estimated.".to_owned(),
        "The model takes for granted that each rank acknowledges each message, and that this takes the CPU of its root or \
         co-root. With more than one buffer an acknowledgement stands for several messages, and by default ranks acknowledge \
         when they are asked: then the optimum is another one."
            .to_owned(),
    ];
    for curve in &curves {
        let Some((best, most)) = curve.best() else { continue };
        let (one, there) = (curve.at(1.0), curve.at(optimum));
        let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        remarks.push(format!(
            "{}: best with {best} groups, {most:.0} a second; with one {}; with {optimum}, which `optimal` takes, {}",
            curve.name,
            rate(one),
            rate(there)
        ));
    }
    let title = format!("Liu 2004, figure 12: throughput over co-roots among {ranks} ranks");
    let height = "broadcasts per second";
    Ok(Figure { title, axis: Across::Groups, height, curves, remarks })
}
