//! Tests on a device, of which one is enough. `ci/softroce exec` runs them on a machine that has SoftRoCE's.

#[path = "../adapters/tests/imitation/again.rs"]
mod again;
mod away;
mod broadcast;
mod direct_placement;
mod examples;
mod fast_path;
mod huge_pages;
#[path = "../support/long.rs"]
mod long;
mod many;
mod mpi;
#[path = "../support/mpirun.rs"]
mod mpirun;
#[path = "../support/needs.rs"]
mod needs;
mod node_processes;
mod nodes;
mod over_long;
mod preload;
mod preload_mpich;
mod preload_openmpi;
mod protocols;
#[path = "../support/ranks.rs"]
mod ranks;
mod runs;
mod set_up;
mod short;
mod slots;
#[path = "../support/stranger.rs"]
mod stranger;
mod system_calls;
mod transport;
mod upkeep;
#[path = "../support/variants.rs"]
mod variants;
mod whole_datagrams;
mod zero_copy;
