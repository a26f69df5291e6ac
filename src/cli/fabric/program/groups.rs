//! The groups that are asked for, and their tables.

use super::args::ProgramArgs;
use crate::fabric::source::endpoints;
use crate::failure::Failure;
use verbcast_fabric::{Scheme, ShapedTopology, Table};

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
