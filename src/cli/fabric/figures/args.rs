//! What `verbcast fabric figures` can be told.

use crate::fabric::link_args::LinkArgs;
use crate::units;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
pub struct FiguresArgs {
    /// The folder for the figures; it is made where there is none
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Only those of one paper
    #[arg(long, value_enum, value_name = "NAME")]
    pub paper: Option<PaperName>,
    /// Only these numbers
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub figure: Vec<u32>,
    /// Small fabrics and few sizes, in seconds: fat-tree:4,3, mesh:4,4, each fourth size
    #[arg(long)]
    pub quick: bool,
    /// How often sources and groups are drawn; figures show means
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub draws: u32,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Whether each source has a group of its own, or all have the same
    #[arg(long, value_enum, value_name = "WHOSE", default_value = "own")]
    pub groups: GroupsName,
    /// The order in which a source unicasts to the members
    #[arg(long, value_enum, value_name = "ORDER", default_value = "drawn")]
    pub order: OrderName,
    /// Which LIDs unicasts on fat trees use
    #[arg(long, value_enum, value_name = "WHICH", default_value = "cyclic")]
    pub unicast: UnicastName,
    /// Cut messages into packets of so many bytes [default: a message is a packet]
    #[arg(long, value_name = "BYTES", value_parser = units::parse_chunk)]
    pub packet: Option<u64>,
    #[command(flatten)]
    pub links: LinkArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PaperName {
    /// Zhou, Lin and Chung 2007: figures 8 to 17
    FatTree,
    /// Zhou, Liu and Chung: figures 8 to 16
    Mesh,
    /// Acknowledgements at the root, with and without co-roots: figures 1 and 2
    Acks,
}

/// Whose groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupsName {
    /// Each source has its own
    Own,
    /// All sources send to one
    Shared,
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// As the members were drawn
    Drawn,
    /// Ascending, the same for all sources
    Ascending,
}

/// Which of a host's LIDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnicastName {
    /// The one that the source's rank selects, as the cyclic scheme does
    Cyclic,
    /// The base LID alone
    Base,
}
