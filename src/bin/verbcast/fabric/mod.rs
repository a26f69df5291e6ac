//! `verbcast fabric`: topologies, forwarding tables, and what packets make of them.

pub mod args;
mod check;
mod draw;
pub mod help;
mod mlids;
mod output;
mod scheme;
mod show;
mod source;
mod tables;
mod trace;

use crate::failure::Failure;
use args::FabricCommand;
use verbcast::fabric::{dot, svg};

pub fn run(command: &FabricCommand) -> Result<(), Failure> {
    match command {
        FabricCommand::Show(args) => show::run(args),
        FabricCommand::Netlist(args) => draw::write_netlist(args),
        FabricCommand::Dot(args) => draw::run(args, dot),
        FabricCommand::Svg(args) => draw::run(args, svg),
        FabricCommand::Tables(args) => tables::run(args),
        FabricCommand::Trace(args) => trace::run(args),
        FabricCommand::Mlids(args) => mlids::run(args),
        FabricCommand::Check(args) => check::run(args),
    }
}
