//! What the papers' models say about a simulation, where they say anything.

use super::latency::{self, Latency};
use super::setup::Setup;
use serde::Serialize;
use verbcast_core::model::{Parameters, mean_penalty_rounds, penalty_rounds};
use verbcast_core::protocol::choice::Algorithm;
use verbcast_core::protocol::window::{Acknowledge, Repairers};
use verbcast_sim::{CERTAIN, Faults, Outcome, Plan, Violation, simulate};

/// What the model's throughput, and its optimal number of co-roots, are made of.
const ACKNOWLEDGED: &str = "each rank acknowledges each message, which takes its repairer's CPU";

/// The model's times for these ranks and this size, whatever was simulated (Liu 2004, section 7).
#[derive(Debug, Serialize)]
pub struct Model {
    pub parameters_ns: Times,
    pub binomial_ns: u64,
    pub single_root_ns: u64,
    pub optimal_co_roots: u32,
    /// With so many co-roots, the root included.
    pub co_roots_ns: u64,
}

/// The model's parameters, under the paper's names.
#[derive(Debug, Serialize)]
pub struct Times {
    pub t_cc: u64,
    pub t_ud: u64,
    pub t_mc: u64,
    pub t_pp: u64,
    pub t_um: u64,
    pub t_pack: u64,
}

/// What the model says about the latency of what was simulated.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Expected {
    pub model_ns: Option<u64>,
    /// The simulated mean to the model.
    pub ratio: Option<f64>,
    /// Why there is no model.
    pub no_model: Option<&'static str>,
    /// What the model takes for granted that does not hold here.
    pub model_assumes: Vec<&'static str>,
}

/// Hops that a rank waits for a message that its predecessors lost too (Hoefler 2007, section 2.2).
#[derive(Debug, Serialize)]
pub struct PenaltyRounds {
    /// The mean over the ranks.
    pub model: f64,
    /// Far down an endless chain; none where everything is lost.
    pub model_unbounded: Option<f64>,
    pub simulated: Option<f64>,
}

/// Broadcasts per second, back to back.
#[derive(Debug, Serialize)]
pub struct Throughput {
    pub simulated_per_second: Option<f64>,
    pub model_per_second: Option<f64>,
    pub ratio: Option<f64>,
    /// What the model takes for granted that does not hold here.
    pub model_assumes: Vec<&'static str>,
}

/// The model's times for one packet of what is simulated; none for longer messages.
fn parameters(setup: &Setup) -> Option<Parameters> {
    let len = setup.plan.steps.first().map_or(0, |step| step.len);
    let has_model = setup.fragments == 1 && setup.plan.size > 1;
    has_model.then(|| setup.plan.costs.model(len))
}

pub fn model(setup: &Setup) -> Option<Model> {
    let parameters = parameters(setup)?;
    let ranks = setup.plan.size;
    let Parameters { t_cc, t_ud, t_mc, t_pp, t_um, t_pack } = parameters;
    let optimal_co_roots = parameters.optimal_co_roots(ranks);
    Some(Model {
        parameters_ns: Times { t_cc, t_ud, t_mc, t_pp, t_um, t_pack },
        binomial_ns: parameters.binomial(ranks),
        single_root_ns: parameters.single_root(),
        optimal_co_roots,
        co_roots_ns: parameters.co_roots(ranks, optimal_co_roots),
    })
}

pub fn latency(setup: &Setup, simulated: &Latency) -> Expected {
    let none = |why| Expected { no_model: Some(why), ..Expected::default() };
    let Some(parameters) = parameters(setup) else {
        return match setup.plan.size {
            1 => none("one rank has nobody to send to"),
            _ => none("the paper's model knows messages of one packet only"),
        };
    };
    let ranks = setup.plan.size;
    let groups = setup.groups.unwrap_or(1);
    let model_ns = match setup.protocol {
        Algorithm::Binomial => parameters.binomial(ranks),
        Algorithm::Window => parameters.co_roots(ranks, groups),
        Algorithm::TwoStage => return none("the paper models penalty rounds, not latencies"),
        Algorithm::TwoStageOnDemand | Algorithm::Chain | Algorithm::ScatterAllgather => {
            return none("neither paper models this protocol");
        }
    };
    let mut model_assumes = Vec::new();
    let mut assume = |is_so: bool, what| model_assumes.extend((!is_so).then_some(what));
    assume(setup.plan.faults == Faults::default(), "nothing is lost, doubled or delayed");
    assume(setup.plan.skew == 0, "all ranks call at once");
    assume(
        setup.fabric.is_none(),
        "nothing is in the way on the links, and the path is the longest",
    );
    assume(!simulated.overlapping, "one broadcast at a time");
    let is_window = setup.protocol == Algorithm::Window;
    let has_tree = is_window && matches!(setup.repairers, Repairers::Tree(_));
    assume(!has_tree, "only the root keeps a message for others (--option repair-tree=off)");
    assume(groups == 1, "co-roots spend no time on their own sends");
    let ratio = Some(simulated.mean_ns / model_ns as f64);
    Expected { model_ns: Some(model_ns), ratio, no_model: None, model_assumes }
}

/// Penalty rounds where the chain is eager and each loss independent. The simulated ones are the time
/// that ranks ended later than without losses, in hops.
pub fn penalty(
    setup: &Setup,
    outcome: &Outcome,
    simulated: &Latency,
) -> Result<Option<PenaltyRounds>, Violation> {
    let Setup { plan, protocol, .. } = setup;
    let Faults { loss, duplicate, .. } = plan.faults;
    let independent = plan.faults == Faults { loss, duplicate, ..Faults::default() };
    let Some(parameters) = parameters(setup) else { return Ok(None) };
    if *protocol != Algorithm::TwoStage || loss == 0 || !independent || setup.fabric.is_some() {
        return Ok(None);
    }
    let share = f64::from(loss) / f64::from(CERTAIN);
    let mut rounds = PenaltyRounds {
        model: mean_penalty_rounds(share, plan.size),
        model_unbounded: (share < 1.0).then(|| penalty_rounds(share)),
        simulated: None,
    };
    if plan.skew == 0 && !simulated.overlapping {
        let steps = plan.steps[..1].to_vec();
        let lossless = Plan { faults: Faults::default(), steps, ..plan.clone() };
        let base = mean_wait(&lossless, &simulate(&lossless, &setup.options)?);
        rounds.simulated = Some((mean_wait(plan, outcome) - base) / parameters.t_pp as f64);
    }
    Ok(Some(rounds))
}

/// Mean time from the root's call to the end of another rank's, in nanoseconds.
fn mean_wait(plan: &Plan, outcome: &Outcome) -> f64 {
    let waits = plan.steps.iter().zip(&outcome.calls).flat_map(|(step, calls)| {
        let began = calls[step.root.index()].began;
        let others = calls.iter().enumerate().filter(|(rank, _)| *rank != step.root.index());
        others.map(move |(_, call)| call.ended as f64 - began as f64)
    });
    waits.sum::<f64>() / (plan.steps.len() * (plan.size as usize - 1)) as f64
}

/// Throughput of all jobs where broadcasts follow at once, beside the model of the window family.
pub fn throughput(setup: &Setup, outcomes: &[Outcome]) -> Option<Throughput> {
    let back_to_back = setup.plan.interval == 0;
    let simulated = || outcomes.iter().map(latency::throughput).sum();
    let simulated = back_to_back.then(simulated).flatten();
    let model = parameters(setup).zip(setup.groups);
    let model = model.map(|(parameters, groups)| parameters.throughput(setup.plan.size, groups));
    let holds = matches!(setup.options.acknowledge, Acknowledge::Each);
    let assumed = (model.is_some() && !holds).then_some(ACKNOWLEDGED);
    (simulated.is_some() || model.is_some()).then(|| Throughput {
        simulated_per_second: simulated,
        model_per_second: model,
        ratio: simulated.zip(model).map(|(simulated, model)| simulated / model),
        model_assumes: assumed.into_iter().collect(),
    })
}
