//! What `verbcast figures` can be told.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub struct FiguresArgs {
    /// The folder for the figures; it is made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Only these: liu-10 to liu-12, hoefler-4 to hoefler-7
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub figure: Vec<String>,
    /// A file of `verbcast bench --json`: what was measured goes beside, where it has the same ranks
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,
    /// Few ranks and sizes, in seconds
    #[arg(long)]
    pub quick: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub const HELP: &str = "\
Examples:
  All of them, with the numbers as JSON beside each picture:
    verbcast figures -o figures

  The model of Liu 2004 beside what was measured among eight ranks:
    verbcast bench latency --ranks 8 --json latency.json
    verbcast figures --figure liu-10 --measured latency.json -o figures

The protocols' own code runs over simulated times, which are those that make up Liu's model: that both agree says nothing of \
an adapter. Each figure's remarks hold what the papers say of it against what comes out.

Exit status: 0 if all was written, 1 if not, 2 if the command line is wrong.";
