//! Figures 4 to 7 of Hoefler 2007 (section 4.3): two bytes among up to 116 ranks, simulated, where there were 116 nodes.

use super::Scope;
use super::figure::{Figure, Numbers};
use super::simulated::latencies;
use crate::chart::Across;
use crate::failure::Failure;

const BYTES: usize = 2;
const ALGORITHMS: [&str; 2] = ["two-stage", "binomial"];
const LATENCY: &str = "latency (µs)";
const HOW: &str = "simulated";

/// The paper's numbers of ranks; few of them, and none large, for a quick look.
fn sizes(scope: &Scope) -> &'static [u32] {
    match scope.is_quick {
        true => &[2, 8, 20],
        false => &[2, 4, 8, 16, 20, 24, 32, 48, 64, 80, 96, 116],
    }
}

fn most(scope: &Scope) -> u32 {
    sizes(scope).iter().copied().max().unwrap_or(2)
}

/// The curves of both over ranks, of what `of` makes of all ranks' times.
fn over_ranks(scope: &Scope, of: fn(&[f64]) -> f64) -> Result<Vec<Numbers>, Failure> {
    let curve = |algorithm: &str| {
        let point =
            |ranks: &u32| Ok((f64::from(*ranks), of(&latencies(algorithm, *ranks, BYTES)?)));
        let points = sizes(scope).iter().map(point).collect::<Result<_, Failure>>()?;
        Ok(Numbers::of(algorithm, HOW, points))
    };
    ALGORITHMS.into_iter().map(curve).collect()
}

fn figure(
    number: u32,
    what: &str,
    axis: Across,
    curves: Vec<Numbers>,
    remarks: Vec<String>,
) -> Figure {
    let title = format!("Hoefler 2007, figure {number}: {what}");
    Figure { title, axis, height: LATENCY, curves, remarks }
}

/// How a curve goes from the fewest ranks to the most.
fn growth(curve: &Numbers) -> String {
    match (curve.points.first(), curve.points.last()) {
        (Some((few, low)), Some((many, high))) => {
            format!("{}: {low:.1} µs among {few} ranks, {high:.1} among {many}", curve.name)
        }
        _ => format!("{}: nothing", curve.name),
    }
}

pub fn latency_over_ranks(scope: &Scope) -> Result<Figure, Failure> {
    let curves = over_ranks(scope, |all| all.iter().copied().fold(0.0, f64::max))?;
    let mut remarks = vec![
        "Section 4.3: it does not depend on the number of ranks, and is below Open MPI's tree from 20 ranks on; abstract: it \
         saves up to 41 % among 116."
            .to_owned(),
    ];
    remarks.extend(curves.iter().map(growth));
    if let [two_stage, tree] = &curves[..] {
        let below =
            |(ranks, time): &&(f64, f64)| tree.at(*ranks).is_some_and(|other| *time < other);
        if let Some((ranks, _)) = two_stage.points.iter().find(below) {
            remarks.push(format!("two-stage is below binomial from {ranks} ranks on"));
        }
        if let (Some((ranks, own)), Some((_, other))) =
            (two_stage.points.last(), tree.points.last())
        {
            remarks.push(format!("among {ranks} it saves {:.0} %", 100.0 * (1.0 - own / other)));
        }
    }
    Ok(figure(4, "latency of the last rank over ranks", Across::Ranks, curves, remarks))
}

pub fn latency_of_each_rank(scope: &Scope) -> Result<Figure, Failure> {
    let ranks = most(scope);
    let mut curves = Vec::new();
    let mut remarks = vec![
        "Section 4.3: Open MPI's tree lets rank 1 finish 79.4 % before rank 98; by multicast all are within 14 % of the \
         median."
            .to_owned(),
    ];
    for algorithm in ALGORITHMS {
        let times = latencies(algorithm, ranks, BYTES)?;
        // The root has its message from the beginning.
        let mut others = times[1..].to_vec();
        others.sort_unstable_by(f64::total_cmp);
        let (first, last) = (others[0], others[others.len() - 1]);
        let middle = others[others.len() / 2];
        let apart = ((last - middle) / middle).max((middle - first) / middle);
        remarks.push(format!(
            "{algorithm}: the first receiver is {:.0} % before the last; all are within {:.0} % of the median",
            100.0 * (1.0 - first / last),
            100.0 * apart
        ));
        let points = (1..).map(f64::from).zip(times.into_iter().skip(1)).collect();
        curves.push(Numbers::of(algorithm, HOW, points));
    }
    let what = format!("latency of each rank among {ranks}");
    Ok(figure(5, &what, Across::Rank, curves, remarks))
}

pub fn latency_of_rank_1(scope: &Scope) -> Result<Figure, Failure> {
    let curves = over_ranks(scope, |all| all[1])?;
    let remarks = curves.iter().map(growth).collect();
    Ok(figure(6, "latency of rank 1 over ranks", Across::Ranks, curves, remarks))
}

pub fn latency_of_the_last_rank(scope: &Scope) -> Result<Figure, Failure> {
    let curves = over_ranks(scope, |all| all[all.len() - 1])?;
    let mut remarks = vec![
        "Section 4.3: the tree's time to rank N-1 grows with the number of ranks, that of multicast does not.".to_owned(),
    ];
    remarks.extend(curves.iter().map(growth));
    Ok(figure(7, "latency of rank N-1 over ranks", Across::Ranks, curves, remarks))
}
