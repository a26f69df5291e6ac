//! Which switch is the root of the spanning tree (section 4.5.2.4).

use super::cost::Costs;
use super::discovery;
use crate::topology::Topology;

/// Where there are more switches than these, the best root is not looked for.
const MAX_ROOTS: u32 = 4096;

/// How the root is chosen (`RootSelectionAlgorithm`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// The switch with the least sum of costs to all others.
    #[default]
    LeastTotalCost,
    /// The switch with the least cost to the farthest other.
    LeastWorstCaseCost,
}

impl Selection {
    /// The number that is to be least.
    pub fn cost(self, costs: Costs) -> u64 {
        match self {
            Selection::LeastTotalCost => costs.total,
            Selection::LeastWorstCaseCost => costs.worst,
        }
    }
}

/// A chosen root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The switch, as a node.
    pub switch: u32,
    /// Its cost.
    pub cost: u64,
}

/// Chooses a root among `switches`, which are in the order of discovery: the first with the least cost,
/// but not the fabric manager's own, which is the first of all, if another has the same.
/// The GUID in `current`, that of the last root, stays unless the gain, in whole percent of its cost,
/// is at least `min_improvement` (`MinCostImprovement`), or it has gone. A manager that takes over
/// knows the root of the one before, and so keeps it.
///
/// None if there are no switches.
pub fn select(
    topology: &Topology,
    switches: &[u32],
    selection: Selection,
    current: Option<u64>,
    min_improvement: u32,
) -> Option<Root> {
    let of = |switch| Root { switch, cost: selection.cost(Costs::of(topology, switch)) };
    let roots: Vec<Root> = switches.iter().map(|switch| of(*switch)).collect();
    let (own, others) = roots.split_first()?;
    let best = others.iter().min_by_key(|root| root.cost).filter(|best| best.cost <= own.cost);
    let best = *best.unwrap_or(own);
    let current = roots.iter().find(|root| Some(topology.node(root.switch).guid) == current);
    Some(match current {
        Some(current) if gain(current.cost, best.cost) < u64::from(min_improvement) => *current,
        Some(current) if current.cost <= best.cost => *current,
        _ => best,
    })
}

/// The root that a fabric manager at the first host chooses by least total cost, as a node. None if there are no hosts,
/// or so many switches that it would take too long.
pub fn default_root(topology: &Topology) -> Option<u32> {
    if topology.endpoints().is_empty() || topology.switches() > MAX_ROOTS {
        return None;
    }
    let switches = discovery(topology, 0);
    let root = select(topology, &switches, Selection::LeastTotalCost, None, 50)?;
    Some(root.switch)
}

/// What is gained, in whole percent of what it costs now.
fn gain(current: u64, best: u64) -> u64 {
    (100 * current.saturating_sub(best)).checked_div(current).unwrap_or(0)
}
