//! Which tables go into which MLIDs.

use super::args::ProgramArgs;
use super::live::Live;
use crate::fabric::source::endpoints;
use crate::failure::Failure;
use std::collections::BTreeMap;
use verbcast_fabric::smp::{Agent, Discovered, MAX_BLOCK, MftBlock, Place, Switch, positions};
use verbcast_fabric::{BLOCK, FIRST_MLID, Scheme, ShapedTopology, Table};

/// The tables of one group.
pub struct Group {
    pub members: Vec<u32>,
    pub tables: Vec<Table>,
}

/// Computes the tables of all groups that are asked for, and checks them.
pub fn groups(
    args: &ProgramArgs,
    scheme: Scheme,
    loaded: &ShapedTopology,
) -> Result<Vec<Group>, Failure> {
    let mut groups = Vec::new();
    for group in &args.group {
        let names: Vec<String> = group.split(',').map(str::to_owned).collect();
        let members = endpoints(loaded.topology(), &names)?;
        let sources = match args.sources.is_empty() {
            true => members.clone(),
            false => endpoints(loaded.topology(), &args.sources)?,
        };
        let tables = scheme.tables(loaded, &members, &sources)?;
        groups.push(Group { members, tables });
    }
    Ok(groups)
}

/// What is in the switches at blocks that nobody uses.
pub type Present = BTreeMap<Place, MftBlock>;

/// As many MLIDs as are needed, in blocks of 32 that no switch uses, and what is read there. All of
/// a block belongs to whoever uses one MLID of it: OpenSM writes whole blocks. It gives MLIDs from the first
/// on and makes a group that needs no entry yet, so that the first block is its, and the last are taken.
pub fn mlids(
    live: &mut Live<'_>,
    there: &Discovered,
    first: Option<u16>,
    count: usize,
) -> Result<(Vec<u16>, Present), Failure> {
    let limit = limit(there)?;
    let Some(first) = first else { return free(live, there, limit, count) };
    let last = usize::from(first) + count.max(1) - 1;
    if last > usize::from(limit.last) {
        return Err(Failure::new(format!(
            "--mlid 0x{first:x}: {count} MLIDs from there on are more than {} has, which ends with 0x{:x}",
            limit.switch, limit.last
        )));
    }
    let mut present = Present::new();
    for block in block_of(first)..=block_of(last as u16) {
        if block == 0 {
            return Err(Failure::new(format!(
                "--mlid 0x{first:x}: the block from 0x{FIRST_MLID:x} is the subnet manager's"
            )));
        }
        let read = read(live, there, block)?;
        if let Some((place, used)) = read.iter().find(|(_, read)| !read.is_empty()) {
            let entry = used.0.iter().position(|bits| *bits != 0).unwrap_or_default() as u16;
            let mlid = FIRST_MLID + BLOCK * block + entry;
            let name = &there.topology.node(node(there, place)).name;
            return Err(Failure::new(format!(
                "--mlid 0x{first:x}: its block is in use: {name} forwards 0x{mlid:x}"
            )));
        }
        present.extend(read);
    }
    Ok(((first..=last as u16).collect(), present))
}

fn block_of(mlid: u16) -> u16 {
    (mlid - FIRST_MLID) / BLOCK
}

/// The switch that a place is at, as a node.
pub fn node(there: &Discovered, place: &Place) -> u32 {
    there.topology.hosts() + place.switch as u32
}

/// The last MLID that all switches forward.
struct Limit {
    last: u16,
    switch: String,
}

fn limit(there: &Discovered) -> Result<Limit, Failure> {
    let topology = &there.topology;
    let last_of = |switch: &Switch| {
        let entries = switch.multicast_entries.min((MAX_BLOCK + 1) * BLOCK).min(0x3fff);
        let last = (FIRST_MLID - 1).saturating_add(entries);
        switch.multicast_top.map_or(last, |top| last.min(top))
    };
    let least = topology.switch_nodes().zip(&there.switches);
    let least = least.min_by_key(|(_, switch)| last_of(switch));
    let (node, switch) = least.ok_or_else(|| Failure::new("there are no switches"))?;
    Ok(Limit { last: last_of(switch), switch: topology.node(node).name.clone() })
}

/// Whole blocks from the last on.
fn free(
    live: &mut Live<'_>,
    there: &Discovered,
    limit: Limit,
    count: usize,
) -> Result<(Vec<u16>, Present), Failure> {
    let wanted = count.div_ceil(usize::from(BLOCK));
    let mut present = Present::new();
    let mut blocks = Vec::new();
    // A block that is not whole is left alone.
    let end = (limit.last + 1).saturating_sub(FIRST_MLID) / BLOCK;
    for block in (1..end).rev() {
        if blocks.len() == wanted {
            break;
        }
        let read = read(live, there, block)?;
        if read.values().all(MftBlock::is_empty) {
            present.extend(read);
            blocks.push(block);
        }
    }
    if blocks.len() < wanted {
        return Err(Failure::new(format!(
            "{count} MLIDs need {wanted} blocks of {BLOCK} that no switch uses, and there are {} up to 0x{:x}, \
             the last MLID of {}",
            blocks.len(),
            limit.last,
            limit.switch
        )));
    }
    blocks.reverse();
    let all = blocks.into_iter().flat_map(|block| {
        let first = FIRST_MLID + BLOCK * block;
        first..first + BLOCK
    });
    Ok((all.take(count).collect(), present))
}

/// One block of all switches.
fn read(live: &mut Live<'_>, there: &Discovered, block: u16) -> Result<Present, Failure> {
    let mut present = Present::new();
    for node in there.topology.switch_nodes() {
        let route = live.route(there, node);
        for position in positions(there.topology.node(node).ports) {
            let switch = there.topology.switch_index(node);
            let place = Place { switch, block, position };
            let data = live.get(&route, place.attribute()).map_err(|error| {
                Failure::new(format!("{}: {error}", there.topology.node(node).name))
            })?;
            present.insert(place, MftBlock::from(&data));
        }
    }
    Ok(present)
}
