//! What `verbcast fabric omnipath` can be told.

use super::words::{Event, GroupSpec, PoolSpec};
use crate::fabric::args::FabricArgs;
use clap::{Args, ValueEnum};

#[derive(Args)]
pub struct OmnipathArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    /// What happens, in this order: join:HOST,MGID[,full|non-member|send-only][,pkey=K][,mtu=BYTES][,rate=GBIT/S] (HOST
    /// may be all), leave:HOST,MGID, and fabric:SPEC, as which the fabric is found the next time
    #[arg(value_name = "EVENT")]
    pub events: Vec<Event>,
    /// The host with the fabric manager, by name or number
    #[arg(long, value_name = "HOST", default_value = "0")]
    pub manager: String,
    /// RootSelectionAlgorithm: which switch is the root of the spanning tree
    #[arg(long, value_enum, value_name = "NAME", default_value = "least-total-cost")]
    pub root_selection: SelectionName,
    /// MinCostImprovement: how much better another root has to be before the tree moves, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 50)]
    pub min_cost_improvement: u32,
    /// The root of the manager from which this one takes over, by the switch's name or GUID (0x…)
    #[arg(long, value_name = "SWITCH")]
    pub current_root: Option<String>,
    /// DisableStrictCheck: accept joins for which one path has the group's MTU and rate, not only those that every link
    /// between switches can carry
    #[arg(long)]
    pub disable_strict_check: bool,
    /// EnablePruning: trees without the switches that a group does not need
    #[arg(long)]
    pub pruning: bool,
    /// MLIDTableCap: how many multicast LIDs there are
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub mlid_table_cap: u16,
    /// MLIDShare: groups whose MGID is VALUE after MASK share MAX multicast LIDs, of which a P_Key may have PER_PKEY; or
    /// none [default: 500 for IPv6 solicited-node groups]
    #[arg(long, value_name = "mask=M,value=V,max=N[,per-pkey=N]")]
    pub mlid_share: Vec<PoolSpec>,
    /// MulticastGroup: create these groups beforehand; without an MGID all groups of IPoIB
    #[arg(long, value_name = "[pkey=K][,mtu=BYTES][,rate=GBIT/S][,mgid=M…]")]
    pub multicast_group: Vec<GroupSpec>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// How the root is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelectionName {
    /// The least sum of costs to all other switches
    LeastTotalCost,
    /// The least cost to the farthest other switch
    LeastWorstCaseCost,
}
