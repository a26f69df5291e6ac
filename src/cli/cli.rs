//! What can be said on the command line.

use crate::bench;
use crate::copy;
use crate::doctor;
use crate::fabric;
use crate::figures;
use crate::manual;
use crate::preload;
use crate::report;
use crate::sim;
use crate::trace;
use crate::tune;
use clap::{Args, Parser, Subcommand};

/// Reliable broadcast over InfiniBand hardware multicast.
#[derive(Parser)]
#[command(name = "verbcast", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show this host's RDMA devices, and which one would be used
    Info(InfoArgs),
    /// Try what is assumed of this host's adapter and its fabric, and say what is wrong
    #[command(after_long_help = doctor::args::HELP)]
    Doctor(doctor::args::DoctorArgs),
    /// Print what is assumed of adapters, and where each assumption was seen to hold, as a page in Markdown
    Conformance,
    /// Copy files and folders to every rank, sending each packet once
    #[command(after_long_help = copy::args::HELP)]
    Copy(copy::args::CopyArgs),
    /// Run an MPI program whose broadcasts go by multicast
    #[command(after_long_help = preload::HELP)]
    Preload(preload::PreloadArgs),
    /// Measure ways to broadcast side by side, and the bare multicast beside them
    #[command(after_long_help = BENCH_HELP)]
    Bench(Box<bench::args::BenchArgs>),
    /// Measure the algorithms here, and write the table by which broadcasts choose among them
    #[command(after_long_help = TUNE_HELP)]
    Tune(Box<tune::args::TuneArgs>),
    /// Put what was measured on one page, with charts
    Report(report::ReportArgs),
    /// Show what happened in a job whose ranks have written timelines (VERBCAST_TRACE)
    #[command(after_long_help = trace::HELP)]
    Trace(trace::TraceArgs),
    /// Simulate broadcasts among any number of ranks, beside the papers' models
    #[command(after_long_help = sim::help::text())]
    Sim(sim::args::SimArgs),
    /// Draw figures of both broadcast papers: their models, simulations, and measurements beside
    #[command(after_long_help = figures::args::HELP)]
    Figures(figures::args::FiguresArgs),
    /// Compute the forwarding tables of fat trees, meshes and real fabrics, and check them
    #[command(subcommand, after_long_help = fabric::help::TEXT)]
    Fabric(fabric::args::FabricCommand),
    /// Write manual pages of this command
    Manual(manual::ManualArgs),
    /// Print completions of this command for a shell
    Completions(manual::CompletionsArgs),
}

#[derive(Args)]
pub struct InfoArgs {
    /// Consider only these devices, separated by commas; local rank R uses the R-th of them, in turn, and with
    /// VERBCAST_RAILS=N the N from the (R x N)-th on
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub device: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const BENCH_HELP: &str = "\
Examples:
  Latency of all algorithms among eight processes on this host:
    verbcast bench latency --ranks 8 --json latency.json

  Throughput of two of them, one process on each of 16 hosts:
    srun -N 16 --ntasks-per-node=1 verbcast bench throughput --algorithms raw,window

  Latency over the number of ranks, up to 32 of them:
    verbcast bench scale --ranks 32 --test latency --methods clock

  Beside the MPI library's own broadcast, in a build with the feature mpi:
    mpirun -n 8 verbcast bench latency --algorithms raw,window,mpi

The algorithms take turns in slices of a run. Tables begin with the columns of OSU's benchmarks; times are in \
microseconds, MB are 10^6 bytes, and `x raw` and `x binomial` are ratios of medians, or of rates.

Exit status: 0 if all was measured, 1 if not, 2 if the command line is wrong.";

const TUNE_HELP: &str = "\
Examples:
  A table for up to eight processes on this host, and broadcasts that go by it:
    verbcast tune --ranks 8 -o verbcast.table
    VERBCAST_CHOICE=verbcast.table verbcast copy data.bin 'out.{rank}' --ranks 8

  One for a cluster, among 2, 4, 8 and so on up to 64 hosts:
    srun -N 64 --ntasks-per-node=1 verbcast tune -o /shared/verbcast.table

For each size and number of ranks the algorithm with the least median is taken. The window protocol is \
measured as the VERBCAST_* variables say, which the table's comments repeat.

Exit status: 0 if the table was written, 1 if not, 2 if the command line is wrong.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Longer lines are cut where terminals are narrow, and so are commands that are to be copied; a paragraph is one line,
    /// which is laid out anew.
    #[test]
    fn lines_of_long_help_fit() {
        let command = Cli::command();
        let helps = command.get_subcommands().filter_map(|command| {
            Some((command.get_name(), command.get_after_long_help()?.to_string()))
        });
        let helps: Vec<_> = helps.collect();
        assert!(helps.len() > 5);
        for (name, help) in &helps {
            for paragraph in help.split("\n\n") {
                let is_laid_out = paragraph.contains('\n') || paragraph.starts_with(' ');
                let long = paragraph.lines().find(|line| line.chars().count() > 98);
                assert!(!is_laid_out || long.is_none(), "{name}: {long:?}");
            }
        }
    }
}
