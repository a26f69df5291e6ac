//! `verbcast fabric`: topologies, forwarding tables, and what packets make of them.

pub mod args;
mod check;
mod output;
mod source;

use crate::failure::Failure;
use args::FabricCommand;

pub fn run(command: &FabricCommand) -> Result<(), Failure> {
    match command {
        FabricCommand::Check(args) => check::run(args),
        _ => Err(Failure::new("not yet")),
    }
}
