//! The fabric of `verbcast sim --fabric`: from the command line to ranks on hosts, and what its links did.

use crate::fabric::args::{RoutingName, SchemeArgs, Spec};
use crate::fabric::link_args::{LinkArgs, LinkReport};
use crate::failure::Failure;
use crate::units;
use clap::{Args, ValueEnum};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::rc::Rc;
use verbcast_core::order::RankOrder;
use verbcast_fabric::links::{LaneRule, Parameters};
use verbcast_fabric::{Numbering, Port, PortSet, Quality, Routing, RoutingError};
use verbcast_sim::{Costs, Fabric, Routes, Traffic};

/// InfiniBand's local ACK timeout with the exponent 14, in nanoseconds.
const RETRY: u64 = 4096 << 14;

#[derive(Args)]
#[command(mut_group("SchemeArgs", |scheme| scheme.requires("fabric")))]
#[command(mut_group("LinkArgs", |links| links.requires("fabric")))]
pub struct OnFabricArgs {
    /// Carry packets over the links of a fabric: fat-tree:M,N, mesh:M,N or file:PATH (see verbcast fabric
    /// --help)
    #[arg(long, value_name = "SPEC", help_heading = "Fabric")]
    pub fabric: Option<Spec>,
    /// How unicast tables are made [default: paper on fat trees and meshes, minhop elsewhere]
    #[arg(long, value_enum, value_name = "NAME", requires = "fabric", help_heading = "Fabric")]
    pub routing: Option<RoutingName>,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// So many jobs at once, each of --ranks ranks, all with the same broadcasts
    #[arg(long, value_name = "N", requires = "fabric", help_heading = "Fabric")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub jobs: Option<u32>,
    /// On which hosts a job's ranks are
    #[arg(long, value_enum, value_name = "WHERE", requires = "fabric", help_heading = "Fabric")]
    pub placement: Option<Placement>,
    /// Ranks in a row on each host; --ranks-per-node of these share a node
    #[arg(long, value_name = "N", requires = "fabric", help_heading = "Fabric")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub ranks_per_host: Option<u32>,
    /// Virtual lanes; each job has a service level, and takes the lane of this
    #[arg(long, value_name = "N", requires = "fabric", help_heading = "Fabric")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=15))]
    pub lanes: Option<u8>,
    /// Nanoseconds that a packet waits at a switch's output before it is thrown away (the head-of-queue
    /// lifetime limit) [default: for ever]
    #[arg(long, value_name = "NS", requires = "fabric", help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3_600_000_000_000))]
    pub lifetime: Option<u64>,
    /// Nanoseconds until an adapter sends a reliable packet again that was thrown away [default: 67108864,
    /// which is 4.096 µs · 2¹⁴]
    #[arg(long, value_name = "NS", requires = "lifetime", help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3_600_000_000_000))]
    pub retry: Option<u64>,
    #[command(flatten)]
    pub links: LinkArgs,
}

/// On which hosts a job's ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// One job's after another's (the default)
    Block,
    /// In turns: the first of each job, then the second of each
    Spread,
    /// Drawn from the seed
    Random,
}

/// A fabric with its tables, and where the ranks are.
#[derive(Clone)]
pub struct OnFabric {
    routes: Rc<Routes>,
    parameters: Parameters,
    retry: u64,
    hosts: Vec<Vec<u32>>,
    /// Bytes of the unicast tables.
    tables: u64,
    pub report: FabricReport,
}

/// What packets were carried by.
#[derive(Clone, Debug, Serialize)]
pub struct FabricReport {
    pub fabric: String,
    pub hosts: u32,
    pub switches: u32,
    pub routing: &'static str,
    pub scheme: &'static str,
    pub jobs: usize,
    pub ranks_per_host: u32,
    pub placement: Placement,
    pub lanes: u8,
    /// None: nothing is thrown away.
    pub lifetime_ns: Option<u64>,
    pub retry_ns: Option<u64>,
    #[serde(flatten)]
    pub links: LinkReport,
}

/// What the links did, over all operations of all jobs.
#[derive(Clone, Debug, Serialize)]
pub struct LinksReport {
    #[serde(flatten)]
    pub fabric: FabricReport,
    /// The link that carried bytes for longest, from whom, and for how long in all.
    pub busiest_from: String,
    pub busiest_port: u8,
    pub busiest_ns: u64,
    /// For how long those to and from the first job's first root did, in all.
    pub into_root_ns: u64,
    pub out_of_root_ns: u64,
    /// Multicasts, or copies of them, that waited for too long and were thrown away; and reliable packets,
    /// which were sent again.
    pub dropped: u64,
    pub resent: u64,
    /// Events on links and switches; those of the ranks are the others.
    pub events: u64,
}

impl OnFabricArgs {
    /// Whether so many ranks can share a node.
    pub fn check_nodes(&self, ranks_per_node: u32) -> Result<(), Failure> {
        let ranks_per_host = self.ranks_per_host.unwrap_or(1);
        if self.fabric.is_none() || ranks_per_node <= ranks_per_host {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "ranks of one host share nodes: --ranks-per-node {ranks_per_node} needs as many \
             --ranks-per-host, not {ranks_per_host}"
        )))
    }

    /// The fabric that is asked for, with a host for each rank, if its tables take no more than `memory`.
    pub fn load(&self, ranks: u32, seed: u64, memory: u64) -> Result<Option<OnFabric>, Failure> {
        let Some(spec) = &self.fabric else { return Ok(None) };
        let loaded = spec.load(Quality { mtu: 4096, ..Quality::default() })?;
        let topology = loaded.topology();
        let endpoints = topology.endpoints().len() as u64;
        let jobs = self.jobs.unwrap_or(1);
        let ranks_per_host = self.ranks_per_host.unwrap_or(1);
        let hosts = ranks.div_ceil(ranks_per_host);
        let wanted = u64::from(jobs) * u64::from(hosts);
        if wanted > endpoints {
            return Err(Failure::usage(format!(
                "--jobs {jobs} of --ranks {ranks} need {wanted} hosts, and {spec} has {endpoints}"
            )));
        }
        let asked = self.routing.map(Routing::from);
        let routing = asked.unwrap_or_else(|| Routing::that_fits(&loaded));
        let lids = routing.lids(&loaded, Numbering::Aligned).map_err(RoutingError::from)?;
        let needed = u64::from(topology.switches()) * (u64::from(lids.last()) + 1);
        if needed > memory {
            return Err(Failure::usage(format!(
                "the tables of --fabric {spec} would take about {} of memory, which is above --memory {}",
                units::bytes(needed),
                units::bytes(memory)
            )));
        }
        let tables = routing.tables(&loaded, Numbering::Aligned)?;
        let routing = routing.name(loaded.shape());
        let scheme = self.scheme.choose(loaded.shape());
        let placement = self.placement.unwrap_or(Placement::Block);
        let places = place(placement, jobs, hosts, endpoints as u32, seed);
        let rank_hosts = |hosts: Vec<u32>| {
            (0..ranks).map(|rank| hosts[(rank / ranks_per_host) as usize]).collect()
        };
        let hosts = places.into_iter().map(rank_hosts).collect();
        let lanes = self.lanes.unwrap_or(1);
        let retry = self.retry.unwrap_or(RETRY);
        let report = FabricReport {
            fabric: spec.to_string(),
            hosts: topology.hosts(),
            switches: topology.switches(),
            routing,
            scheme: scheme.name(),
            jobs: jobs as usize,
            ranks_per_host,
            placement,
            lanes,
            lifetime_ns: self.lifetime,
            retry_ns: self.lifetime.map(|_| retry),
            links: self.links.report(),
        };
        let parameters = Parameters {
            lifetime: self.lifetime,
            ..self.links.parameters(lanes, LaneRule::ServiceLevel)
        };
        let routes = Rc::new(Routes::new(loaded, tables, scheme)?);
        Ok(Some(OnFabric { routes, parameters, retry, hosts, report, tables: needed }))
    }
}

/// So many hosts for each job.
fn place(placement: Placement, jobs: u32, hosts: u32, endpoints: u32, seed: u64) -> Vec<Vec<u32>> {
    let mut all: Vec<u32> = (0..endpoints).collect();
    if placement == Placement::Random {
        let mut draw = ChaCha8Rng::seed_from_u64(seed);
        for at in (1..all.len()).rev() {
            all.swap(at, draw.next_u32() as usize % (at + 1));
        }
    }
    let at = |job: u32, host: u32| match placement {
        Placement::Spread => host * jobs + job,
        Placement::Block | Placement::Random => job * hosts + host,
    };
    let job = |job| (0..hosts).map(|host| all[at(job, host) as usize]).collect();
    (0..jobs).map(job).collect()
}

impl OnFabric {
    /// The fabric as the simulator takes it.
    pub fn fabric(&self) -> Fabric {
        Fabric {
            routes: Rc::clone(&self.routes),
            parameters: self.parameters,
            retry: self.retry,
            hosts: self.hosts.clone(),
        }
    }

    /// About how many bytes it takes, where each job has so many roots, with a tree each.
    pub fn needed(&self, roots: usize) -> u64 {
        let trees = self.jobs() as u64 * roots as u64;
        let tree = u64::from(self.report.switches) * size_of::<PortSet>() as u64;
        self.tables.saturating_add(trees.saturating_mul(tree))
    }

    pub fn jobs(&self) -> usize {
        self.hosts.len()
    }

    /// The ranks of each job by host, in which all jobs are alike.
    pub fn order(&self) -> RankOrder {
        let hosts: Vec<_> = self.hosts[0].iter().map(Some).collect();
        RankOrder::by_host(&hosts)
    }

    /// Costs with the latencies of the longest path where nothing is in the way, for the model.
    pub fn costs(&self, costs: Costs) -> Costs {
        let latency = self.parameters.head(self.routes.fabric().longest_path().unwrap_or(1));
        Costs {
            multicast_latency: latency,
            unicast_latency: latency,
            wire_per_byte: self.parameters.per_byte,
            ..costs
        }
    }

    pub fn links(&self, traffic: &Traffic, root: u32) -> LinksReport {
        let topology = self.routes.topology();
        let busiest = traffic.carried.iter().max_by_key(|(_, nanos)| *nanos);
        let (port, busiest_ns) = busiest.copied().unwrap_or((Port { node: 0, port: 0 }, 0));
        let host = topology.endpoints()[self.hosts[0][root as usize] as usize].port;
        let of = |port: Option<Port>| {
            let found = traffic.carried.iter().find(|(other, _)| Some(*other) == port);
            found.map_or(0, |(_, nanos)| *nanos)
        };
        LinksReport {
            fabric: self.report.clone(),
            busiest_from: topology.node(port.node).name.clone(),
            busiest_port: port.port,
            busiest_ns,
            into_root_ns: of(topology.peer(host)),
            out_of_root_ns: of(Some(host)),
            dropped: traffic.dropped,
            resent: traffic.resent,
            events: traffic.events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        on: OnFabricArgs,
    }

    #[test]
    fn tables_and_the_trees_of_all_jobs_take_memory() {
        let asked = Cli::parse_from(["sim", "--fabric", "mesh:30,30", "--jobs", "2"]).on;
        let load = |memory| asked.load(4, 1, memory).ok().flatten();
        // LIDs up to 1800 at each of 900 switches, and sets of 256 ports.
        let tables = 900 * 1801;
        assert!(load(tables - 1).is_none());
        let on = load(tables).unwrap();
        assert_eq!([0, 3].map(|roots| on.needed(roots)), [tables, tables + 2 * 3 * 900 * 32]);
    }

    #[test]
    fn every_job_has_hosts_of_its_own() {
        assert_eq!(place(Placement::Block, 2, 3, 8, 1), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(place(Placement::Spread, 2, 3, 8, 1), [[0, 2, 4], [1, 3, 5]]);
        let drawn = place(Placement::Random, 2, 4, 8, 1);
        let mut all = drawn.concat();
        all.sort_unstable();
        assert_eq!(all, (0..8).collect::<Vec<_>>());
        assert_eq!(drawn, place(Placement::Random, 2, 4, 8, 1));
        assert_ne!(drawn, place(Placement::Random, 2, 4, 8, 2));
    }
}
