//! `verbcast fabric check`: the computed tables beside those of the real OpenSM on ibsim.

mod ibsim;
mod mad;
mod programs;
mod report;
mod sm;

use super::args::{CheckArgs, EngineName};
use super::interrupt::Interrupt;
use super::output;
use super::source::switches;
use crate::failure::Failure;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use report::{Report, difference};
use sm::{Fabric, Group, Observed, Settings};
use std::collections::BTreeSet;
use verbcast_fabric::opensm::{self, Engine, Hops, Options, Ranking};
use verbcast_fabric::{Entries, Topology};

pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    if let Some(missing) = sm::missing() {
        return Err(Failure::new(format!("the check cannot run: {missing}")));
    }
    let loaded = args.fabric.load()?;
    let mut draw = ChaCha8Rng::seed_from_u64(args.seed);
    let topology = match args.shuffle {
        true => shuffled(loaded.into_topology(), &mut draw)?,
        false => loaded.into_topology(),
    };
    if !args.roots.is_empty() && args.engine != EngineName::Updn {
        return Err(Failure::usage("--roots: only updn has roots; add --engine updn"));
    }
    let roots = switches(&topology, "--roots", &args.roots)?;
    let options = Options { port_order: &args.port_order, roots: &roots };
    let interrupt = Interrupt::watch()?;
    let settings = Settings {
        engine: args.engine.name(),
        options,
        timeout: args.timeout,
        interrupt: &interrupt,
    };
    let mut fabric = Fabric::start(&topology, settings)?;
    let tables = fabric.unicast()?;
    let engine = args.engine.computed();
    let expected =
        opensm::unicast_tables(&topology, tables.lids(), engine, options).map_err(Failure::new)?;
    let unicast = difference(&topology, &expected, &tables);
    let drawn: Vec<Vec<u32>> = (0..args.groups).map(|_| members(&topology, &mut draw)).collect();
    let lid = tables.lids().base(0);
    let mut joined = Vec::new();
    for (group, members) in (0..).zip(drawn) {
        joined.push((fabric.join(group, &members, lid)?, members));
    }
    let ranking = (args.engine == EngineName::Updn).then(|| options.ranking(&topology)).flatten();
    let mut groups = Vec::new();
    let mut expected = Vec::new();
    for (mlid, members) in joined {
        let tree = tree(&topology, ranking.as_ref(), &members);
        let entries = fabric.settled(mlid, &tree)?;
        groups.push(Group { members, mlid, entries });
        expected.push(tree);
    }
    drop(fabric);
    let observed = Observed { tables, groups };
    let report = Report::new(args, &topology, unicast, &observed, &expected);
    if let Some(path) = &args.record {
        report::record(path, args, &topology, &observed)?;
    }
    match args.json {
        true => output::json(&report)?,
        false => crate::print(&report.text())?,
    }
    match report.agrees() {
        true => Ok(()),
        false => Err(Failure { messages: vec!["the tables differ".to_owned()], status: 1 }),
    }
}

impl EngineName {
    fn computed(self) -> Engine {
        match self {
            EngineName::Minhop => Engine::MinHop,
            EngineName::Updn => Engine::UpDown,
            EngineName::Ftree => Engine::FatTree,
            EngineName::Dor => Engine::Dor,
        }
    }
}

fn tree(topology: &Topology, ranking: Option<&Ranking>, members: &[u32]) -> Entries {
    opensm::spanning_tree(topology, members, |target| match ranking {
        Some(ranking) => Hops::up_down(topology, ranking, target),
        None => Hops::shortest(topology, target),
    })
}

/// The same topology with drawn GUIDs for its switches.
fn shuffled(topology: Topology, draw: &mut ChaCha8Rng) -> Result<Topology, Failure> {
    let mut guids = BTreeSet::new();
    while guids.len() < topology.switches() as usize {
        // Above those of hosts.
        guids.insert(draw.next_u64() | 1 << 40);
    }
    let mut guids: Vec<u64> = guids.into_iter().collect();
    for at in (1..guids.len()).rev() {
        guids.swap(at, (draw.next_u64() % (at as u64 + 1)) as usize);
    }
    topology.with_switch_guids(&guids).map_err(Failure::new)
}

/// Two or more endpoints.
fn members(topology: &Topology, draw: &mut ChaCha8Rng) -> Vec<u32> {
    let all = topology.endpoints().len() as u32;
    let count = 2 + draw.next_u32() % all.saturating_sub(1).max(1);
    let mut members = BTreeSet::new();
    while members.len() < count.min(all) as usize {
        members.insert(draw.next_u32() % all);
    }
    members.into_iter().collect()
}
