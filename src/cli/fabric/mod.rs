//! `verbcast fabric`: topologies, forwarding tables, and what packets make of them.

pub mod args;
mod check;
mod draw;
mod figures;
pub mod help;
mod interrupt;
pub mod link_args;
mod mlids;
mod omnipath;
mod output;
pub mod program;
pub mod scheme;
mod show;
pub mod source;
mod tables;
mod trace;

use crate::failure::Failure;
use args::FabricCommand;
use verbcast_fabric::{dot, svg};

pub fn run(command: &FabricCommand) -> Result<(), Failure> {
    match command {
        FabricCommand::Show(args) => show::run(args),
        FabricCommand::Netlist(args) => draw::write_netlist(args),
        FabricCommand::Dot(args) => draw::run(args, dot),
        FabricCommand::Svg(args) => draw::run(args, svg),
        FabricCommand::Tables(args) => tables::run(args),
        FabricCommand::Trace(args) => trace::run(args),
        FabricCommand::Mlids(args) => mlids::run(args),
        FabricCommand::Omnipath(args) => omnipath::run(args),
        FabricCommand::Check(args) => check::run(args),
        FabricCommand::Program(args) => program::run(args),
        FabricCommand::Figures(args) => figures::run(args),
    }
}
