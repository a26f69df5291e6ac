//! From the command line to a simulation.

use super::args::{Setting, SimArgs};
use super::fabric::OnFabric;
use super::memory;
use crate::failure::Failure;
use crate::units;
use std::collections::BTreeSet;
use verbcast_core::protocol::choice::Algorithm;
use verbcast_core::protocol::options::{Options, Synchronisation};
use verbcast_core::protocol::window::Repairers;
use verbcast_core::protocol::{Core, Fragments};
use verbcast_core::rank::Rank;
use verbcast_sim::{Plan, Step};

/// A simulation that can run.
pub struct Setup {
    pub plan: Plan,
    pub options: Options,
    /// What the algorithm's name has chosen.
    pub protocol: Algorithm,
    /// Who keeps a message for whom, in the window family.
    pub repairers: Repairers,
    /// Groups with a root or co-root of their own, in the window family.
    pub groups: Option<u32>,
    pub fragments: u32,
    /// Bytes of a fragment at most.
    pub fragment_len: usize,
    /// What carries packets, if it is more than latencies.
    pub fabric: Option<OnFabric>,
}

impl Setup {
    pub fn new(args: &SimArgs) -> Result<Setup, Failure> {
        let plan = plan(args)?;
        args.fabric.check_nodes(args.ranks_per_node)?;
        let fabric = args.fabric.load(args.ranks, args.seed, args.memory)?;
        let plan = match &fabric {
            Some(fabric) => Plan { costs: fabric.costs(plan.costs), order: fabric.order(), ..plan },
            None => plan,
        };
        let jobs = fabric.as_ref().map_or(1, OnFabric::jobs) as u64;
        let roots: BTreeSet<_> = plan.steps.iter().map(|step| step.root.0).collect();
        let needed = memory::needed(&plan, args.size).saturating_mul(jobs);
        let needed =
            needed.saturating_add(fabric.as_ref().map_or(0, |fabric| fabric.needed(roots.len())));
        if needed > args.memory {
            return Err(Failure::usage(format!(
                "--ranks {} --size {} --operations {} would take about {} of memory, which is above \
                 --memory {}",
                args.ranks,
                args.size,
                args.operations,
                units::bytes(needed),
                units::bytes(args.memory)
            )));
        }
        let options = options(args)?;
        // The ranks' protocols differ in nothing that could be refused.
        let suite = options.suite(&plan.parameters(Rank(0)).suite).map_err(|error| {
            let given = args.options.iter();
            let given = given.map(|Setting { name, value }| format!(" --option {name}={value}"));
            let given: String = given.collect();
            Failure::usage(format!("--algorithm {}{given}: {error}", args.algorithm))
        })?;
        let protocol = options.table.choose(args.size, args.ranks);
        let fragment_len = suite.fragment_len(args.size);
        let fragments = Fragments::new(args.size, fragment_len);
        let fragments = fragments.ok_or_else(|| Failure::usage("--size has too many fragments"))?;
        let (count, interval) = (fragments.count(), args.interval);
        let interval = interval.unwrap_or_else(|| apart(&plan, &options, (count, fragment_len)));
        let (time, operations) = (interval.saturating_add(plan.skew), u64::from(args.operations));
        let limit = plan.limit.saturating_add(time.saturating_mul(operations));
        let repairers = options.repairers(&plan.order);
        let groups = (protocol == Algorithm::Window).then(|| match repairers {
            Repairers::CoRoots(groups) => groups.min(args.ranks),
            Repairers::Root | Repairers::Predecessor | Repairers::Tree(_) => 1,
        });
        let plan = Plan { interval, limit, ..plan };
        let fragments = fragments.count();
        Ok(Setup { plan, options, protocol, repairers, groups, fragments, fragment_len, fabric })
    }

    pub fn jobs(&self) -> usize {
        self.fabric.as_ref().map_or(1, OnFabric::jobs)
    }
}

fn plan(args: &SimArgs) -> Result<Plan, Failure> {
    args.root.check(args.ranks).map_err(Failure::usage)?;
    let len = usize::try_from(args.size).map_err(|_| Failure::usage("--size is too large"))?;
    let steps = (0..args.operations).map(|operation| {
        let root = args.root.of(u64::from(operation), args.ranks);
        Step { root, len }
    });
    let plan = Plan::new(args.ranks, steps.collect());
    let ranks_per_node = args.ranks_per_node;
    Ok(Plan { ranks_per_node, skew: args.skew, faults: args.faults(), seed: args.seed, ..plan })
}

fn options(args: &SimArgs) -> Result<Options, Failure> {
    let mut options = Options::default();
    let all = args.options.iter().map(|setting| (setting.name.as_str(), setting.value.as_str()));
    for (name, value) in std::iter::once(("algorithm", args.algorithm.as_str())).chain(all) {
        options.set(name, value).map_err(Failure::usage)?;
    }
    Ok(options)
}

/// An interval in which a broadcast most probably comes to its end and nothing is owed any more. It
/// may be far too long, as time in which nothing happens costs nothing.
fn apart(plan: &Plan, options: &Options, (fragments, fragment_len): (u32, usize)) -> u64 {
    const MILLISECOND: u64 = 1_000_000;
    let ranks = u64::from(plan.size);
    let first = plan.steps.first().map_or(0, |step| step.len);
    let model = plan.costs.model(first.min(fragment_len));
    // A chain hops from rank to rank, some of them two times for each fragment; the root processes
    // an acknowledgement of every rank.
    let chain = 2 * ranks * model.t_pp.max(model.t_pack);
    let message = u64::from(fragments) * model.t_pp * u64::from(ranks.ilog2() + 2);
    let patience = 10 * options.patience.initial.max(options.acknowledge_after).as_nanos() as u64;
    let delay = match options.synchronisation {
        Synchronisation::Delay(delay) | Synchronisation::Adaptive(delay) => delay.as_nanos() as u64,
        _ => 0,
    };
    let sum = chain.saturating_add(message).saturating_add(patience).saturating_add(delay);
    let sum = sum.saturating_add(plan.skew).saturating_add(plan.faults.longest_delay);
    sum.div_ceil(MILLISECOND).saturating_mul(MILLISECOND)
}
