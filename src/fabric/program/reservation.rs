//! Multicast LIDs that no switch uses.

use super::change::{Change, Task};
use crate::multicast::{BLOCK, FIRST_MLID, MulticastTables};
use crate::smp::{
    Addressing, Agent, Discovered, MAX_BLOCK, MftBlock, Place, Switch, Unanswered, places,
    positions,
};
use std::collections::BTreeMap;

/// Multicast LIDs at most, from 0xc000 to 0xfffe.
const MAX_ENTRIES: u16 = 0x3fff;

/// What is in the switches at blocks that nobody uses.
pub type Present = BTreeMap<Place, MftBlock>;

/// Multicast LIDs that no switch used when they were looked at. Nobody else is told of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The multicast LIDs, ascending.
    pub mlids: Vec<u16>,
    /// What is in their blocks.
    pub present: Present,
}

/// As many multicast LIDs as are wanted, in blocks of 32 that no switch uses, and what is read there. All of
/// a block belongs to whoever uses one multicast LID of it: OpenSM writes whole blocks. It gives multicast LIDs from
/// the first on and makes a group that needs no entry yet, so that the first block is its, and the last are taken,
/// unless they are to begin with `first`.
///
/// # Errors
/// If there are not as many, those from `first` on are not free, or a switch does not answer.
pub fn reserve(
    agent: &mut impl Agent,
    there: &Discovered,
    addressing: Addressing,
    first: Option<u16>,
    count: usize,
) -> Result<Reservation, ReserveError> {
    let limit = limit(there)?;
    let Some(first) = first else { return free(agent, there, addressing, limit, count) };
    let last = usize::from(first) + count.max(1) - 1;
    if last > usize::from(limit.last) {
        let Limit { last, switch } = limit;
        return Err(ReserveError::BeyondTables { first, count, last, switch });
    }
    let mut present = Present::new();
    for block in block_of(first)..=block_of(last as u16) {
        if block == 0 {
            return Err(ReserveError::ManagersBlock { first });
        }
        let read = read(agent, there, addressing, block)?;
        if let Some((place, used)) = read.iter().find(|(_, read)| !read.is_empty()) {
            let entry = used.0.iter().position(|bits| *bits != 0).unwrap_or_default() as u16;
            let mlid = FIRST_MLID + BLOCK * block + entry;
            let switch = there.topology.node(there.node_of(place)).name.clone();
            return Err(ReserveError::InUse { first, switch, mlid });
        }
        present.extend(read);
    }
    Ok(Reservation { mlids: (first..=last as u16).collect(), present })
}

impl Reservation {
    /// What has to be written so that the tables are in the switches, which are those of `there`.
    pub fn tasks(
        &self,
        there: &Discovered,
        addressing: Addressing,
        tables: &MulticastTables,
    ) -> Vec<Task> {
        let task = |(place, block): (Place, MftBlock)| {
            let node = there.node_of(&place);
            let known = there.topology.node(node);
            let change = Change {
                switch: known.name.clone(),
                guid: known.guid,
                block: place.block,
                position: place.position,
                before: self.present.get(&place).copied().unwrap_or_default().0,
                after: block.0,
            };
            Task { change, route: there.route(node, addressing) }
        };
        places(&there.topology, tables).into_iter().map(task).collect()
    }
}

fn block_of(mlid: u16) -> u16 {
    (mlid - FIRST_MLID) / BLOCK
}

/// The last multicast LID that all switches forward.
struct Limit {
    last: u16,
    switch: String,
}

fn limit(there: &Discovered) -> Result<Limit, ReserveError> {
    let topology = &there.topology;
    let last_of = |switch: &Switch| {
        let entries = switch.multicast_entries.min((MAX_BLOCK + 1) * BLOCK).min(MAX_ENTRIES);
        let last = (FIRST_MLID - 1).saturating_add(entries);
        switch.multicast_top.map_or(last, |top| last.min(top))
    };
    let least = topology.switch_nodes().zip(&there.switches);
    let least = least.min_by_key(|(_, switch)| last_of(switch));
    let (node, switch) = least.ok_or(ReserveError::NoSwitches)?;
    Ok(Limit { last: last_of(switch), switch: topology.node(node).name.clone() })
}

/// Whole blocks from the last on.
fn free(
    agent: &mut impl Agent,
    there: &Discovered,
    addressing: Addressing,
    limit: Limit,
    count: usize,
) -> Result<Reservation, ReserveError> {
    let wanted = count.div_ceil(usize::from(BLOCK));
    let mut present = Present::new();
    let mut blocks = Vec::new();
    // A block that is not whole is left alone.
    let end = (limit.last + 1).saturating_sub(FIRST_MLID) / BLOCK;
    for block in (1..end).rev() {
        if blocks.len() == wanted {
            break;
        }
        let read = read(agent, there, addressing, block)?;
        if read.values().all(MftBlock::is_empty) {
            present.extend(read);
            blocks.push(block);
        }
    }
    if blocks.len() < wanted {
        let Limit { last, switch } = limit;
        return Err(ReserveError::TooFew { count, wanted, free: blocks.len(), last, switch });
    }
    blocks.reverse();
    let all = blocks.into_iter().flat_map(|block| {
        let first = FIRST_MLID + BLOCK * block;
        first..first + BLOCK
    });
    Ok(Reservation { mlids: all.take(count).collect(), present })
}

/// One block of all switches.
fn read(
    agent: &mut impl Agent,
    there: &Discovered,
    addressing: Addressing,
    block: u16,
) -> Result<Present, ReserveError> {
    let mut present = Present::new();
    for node in there.topology.switch_nodes() {
        let route = there.route(node, addressing);
        let known = there.topology.node(node);
        for position in positions(known.ports) {
            let switch = there.topology.switch_index(node);
            let place = Place { switch, block, position };
            let data = agent.get(&route, place.attribute());
            let data = data
                .map_err(|error| ReserveError::Unanswered { switch: known.name.clone(), error })?;
            present.insert(place, MftBlock::from(&data));
        }
    }
    Ok(present)
}

/// Why there are no multicast LIDs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReserveError {
    /// There are no switches.
    #[error("there are no switches")]
    NoSwitches,
    /// A switch does not answer.
    #[error("{switch}: {error}")]
    Unanswered {
        /// The switch.
        switch: String,
        /// What was asked, and why there is no answer.
        #[source]
        error: Unanswered,
    },
    /// A switch's table ends before the last that is wanted.
    #[error(
        "0x{first:x}: {count} MLIDs from there on are more than {switch} has, which ends with 0x{last:x}"
    )]
    BeyondTables {
        /// The first that is wanted.
        first: u16,
        /// How many are.
        count: usize,
        /// The last that the switch has.
        last: u16,
        /// The switch with the shortest table.
        switch: String,
    },
    /// Some are in the first block, which is the subnet manager's.
    #[error("0x{first:x}: the block from 0x{FIRST_MLID:x} is the subnet manager's")]
    ManagersBlock {
        /// The first that is wanted.
        first: u16,
    },
    /// A block is in use.
    #[error("0x{first:x}: its block is in use: {switch} forwards 0x{mlid:x}")]
    InUse {
        /// The first that is wanted.
        first: u16,
        /// A switch that uses the block.
        switch: String,
        /// One that the switch forwards.
        mlid: u16,
    },
    /// Not as many blocks are free as are needed.
    #[error(
        "{count} MLIDs need {wanted} blocks of {BLOCK} that no switch uses, and there are {free} up to 0x{last:x}, \
         the last MLID of {switch}"
    )]
    TooFew {
        /// How many multicast LIDs are wanted.
        count: usize,
        /// Blocks for them.
        wanted: usize,
        /// Blocks that are free.
        free: usize,
        /// The last multicast LID that all switches have.
        last: u16,
        /// The switch with the shortest table.
        switch: String,
    },
}
