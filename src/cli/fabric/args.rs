//! What `verbcast fabric` can be told.

use super::figures::args::FiguresArgs;
use super::omnipath::args::OmnipathArgs;
use super::program::args::ProgramArgs;
use crate::units;
use clap::{Args, Subcommand, ValueEnum};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

#[derive(Subcommand)]
pub enum FabricCommand {
    /// Count hosts, switches, links and paths
    Show(ShowArgs),
    /// Write the fabric as an ibsim netlist
    Netlist(OutputArgs),
    /// Write the fabric as a Graphviz graph, and a multicast on it
    Dot(DrawArgs),
    /// Write the fabric as an SVG drawing, and a multicast on it
    Svg(DrawArgs),
    /// Print the switches' forwarding tables: for all LIDs, or for a group
    Tables(TablesArgs),
    /// Send one packet through the tables, and check who gets it
    Trace(TraceArgs),
    /// Count the multicast LIDs that a group needs under each scheme
    Mlids(MlidsArgs),
    /// Follow the rules of the Omni-Path fabric manager: roots, joins, shared multicast LIDs, changes
    Omnipath(OmnipathArgs),
    /// Compare computed tables with those of the real OpenSM, on ibsim
    Check(CheckArgs),
    /// Write multicast tables into switches, and read them back
    Program(ProgramArgs),
    /// Simulate the papers' figures: unicast, OpenSM and the proposed schemes on links with credits
    Figures(FiguresArgs),
}

#[derive(Args)]
pub struct FabricArgs {
    /// The fabric: fat-tree:M,N (switches of M ports, N levels), mesh:M,N (columns, rows), or file:PATH
    /// with what ibnetdiscover printed
    #[arg(long, value_name = "SPEC")]
    pub fabric: Spec,
    /// Largest payload of a packet on all links, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4096)]
    #[arg(value_parser = clap::value_parser!(u16).range(256..=16384))]
    pub mtu: u16,
}

/// Which fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    FatTree(u8, u8),
    Mesh(u16, u16),
    File(PathBuf),
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::FatTree(ports, levels) => write!(f, "fat-tree:{ports},{levels}"),
            Spec::Mesh(columns, rows) => write!(f, "mesh:{columns},{rows}"),
            Spec::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Spec, String> {
        let expected = "expected fat-tree:M,N, mesh:M,N or file:PATH";
        let (kind, rest) = text.split_once(':').ok_or(expected)?;
        let numbers = || rest.split_once(',').ok_or_else(|| expected.to_owned());
        match kind {
            "fat-tree" => {
                let (ports, levels) = numbers()?;
                Ok(Spec::FatTree(number(ports)?, number(levels)?))
            }
            "mesh" => {
                let (columns, rows) = numbers()?;
                Ok(Spec::Mesh(number(columns)?, number(rows)?))
            }
            "file" if !rest.is_empty() => Ok(Spec::File(rest.into())),
            _ => Err(expected.to_owned()),
        }
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{text} is not a number that fits"))
}

#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct OutputArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
pub struct DrawArgs {
    #[command(flatten)]
    pub output: OutputArgs,
    /// Mark the links that a packet of this host to --group crosses
    #[arg(long, value_name = "HOST", requires = "group")]
    pub from: Option<String>,
    /// Members: hosts by name or number, separated by commas, or all
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', requires = "from")]
    pub group: Vec<String>,
    #[command(flatten)]
    pub scheme: SchemeArgs,
}

#[derive(Args)]
pub struct SchemeArgs {
    /// How multicast tables are made [default: cyclic on fat trees, xy on meshes, opensm elsewhere]
    #[arg(long, value_enum, value_name = "NAME")]
    pub scheme: Option<SchemeName>,
}

/// How multicast tables are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemeName {
    /// The cyclic scheme of Zhou, Lin and Chung 2007, corrected (fat trees)
    Cyclic,
    /// The XY union of Zhou, Liu and Chung, corrected (meshes)
    Xy,
    /// The union as both papers print it, which can loop (fat trees, meshes)
    Literal,
    /// One spanning tree for each group, as OpenSM makes it
    Opensm,
    /// The complete tree of the Omni-Path fabric manager
    Omnipath,
    /// The pruned tree of the Omni-Path fabric manager
    OmnipathPruned,
}

/// How unicast tables are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoutingName {
    /// That of the papers: multiple LIDs on fat trees, XY on meshes
    Paper,
    /// One LID for each host, and up ports spread by the destination (fat trees)
    DModK,
    /// OpenSM's minhop
    Minhop,
    /// OpenSM's updn
    Updn,
    /// OpenSM's ftree
    Ftree,
    /// OpenSM's dor
    Dor,
}

/// Where the LIDs of a fat tree's hosts begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NumberingName {
    /// At multiples of 2^LMC, as real InfiniBand demands
    Aligned,
    /// As in the paper: from 1
    Paper,
}

impl Default for UnicastArgs {
    fn default() -> UnicastArgs {
        UnicastArgs { routing: None, numbering: NumberingName::Aligned, roots: Vec::new() }
    }
}

#[derive(Args)]
pub struct UnicastArgs {
    /// How unicast tables are made [default: paper on fat trees and meshes, minhop elsewhere]
    #[arg(long, value_enum, value_name = "NAME")]
    pub routing: Option<RoutingName>,
    /// Where the LIDs of a fat tree's hosts begin
    #[arg(long, value_enum, value_name = "NAME", default_value = "aligned")]
    pub numbering: NumberingName,
    /// The roots for --routing updn, by the switches' names [default: OpenSM finds them]
    #[arg(long, value_name = "SWITCH,...", value_delimiter = ',')]
    pub roots: Vec<String>,
}

#[derive(Args)]
pub struct TablesArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    #[command(flatten)]
    pub unicast: UnicastArgs,
    /// Print multicast tables, for these members: hosts by name or number, or all
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub group: Vec<String>,
    /// Hosts that send to the group [default: the members with opensm and omnipath-pruned, everybody with the others]
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', requires = "group")]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Only this switch, by name
    #[arg(long, value_name = "NAME")]
    pub switch: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct TraceArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    #[command(flatten)]
    pub unicast: UnicastArgs,
    /// The host that sends, by name or number
    #[arg(long, value_name = "HOST")]
    pub from: String,
    /// Send to this host
    #[arg(long, value_name = "HOST", conflicts_with = "group", required_unless_present = "group")]
    pub to: Option<String>,
    /// Multicast to these members: hosts by name or number, or all
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub group: Vec<String>,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct MlidsArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    /// Members: hosts by name or number, separated by commas, or all
    #[arg(long, value_name = "HOST,...", value_delimiter = ',', default_value = "all")]
    pub group: Vec<String>,
    /// Hosts that send to the group [default: the members]
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub sources: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A routing engine of OpenSM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Shortest paths
    Minhop,
    /// Up*/Down*
    Updn,
    /// Fat trees
    Ftree,
    /// Dimension order, with --port-order 1,3,2,4 that of XY on meshes
    Dor,
}

impl EngineName {
    pub fn name(self) -> &'static str {
        match self {
            EngineName::Minhop => "minhop",
            EngineName::Updn => "updn",
            EngineName::Ftree => "ftree",
            EngineName::Dor => "dor",
        }
    }
}

#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub fabric: FabricArgs,
    /// OpenSM's routing engine
    #[arg(long, value_enum, value_name = "NAME", default_value = "minhop")]
    pub engine: EngineName,
    /// The order in which every switch looks at its ports, where not ascending
    #[arg(long, value_name = "PORT,...", value_delimiter = ',')]
    pub port_order: Vec<u8>,
    /// The roots for --engine updn, by the switches' names; OpenSM gets a file with their GUIDs
    #[arg(long, value_name = "SWITCH,...", value_delimiter = ',')]
    pub roots: Vec<String>,
    /// Number of groups; their members are drawn
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=900))]
    pub groups: u32,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Draw the switches' GUIDs too, as OpenSM goes by them
    #[arg(long)]
    pub shuffle: bool,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = units::parse_seconds)]
    pub timeout: Duration,
    /// Write what OpenSM did to this file, as JSON
    #[arg(long, value_name = "PATH")]
    pub record: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fabrics_are_read_and_written() {
        for (text, spec) in [
            ("fat-tree:8,3", Spec::FatTree(8, 3)),
            ("mesh:4,16", Spec::Mesh(4, 16)),
            ("file:a,b:c", Spec::File("a,b:c".into())),
        ] {
            assert_eq!(text.parse(), Ok(spec.clone()));
            assert_eq!(spec.to_string(), text);
        }
        for text in ["", "8,3", "fat-tree:8", "fat-tree:8,x", "mesh:4,70000", "file:", "torus:2,2"]
        {
            assert!(text.parse::<Spec>().is_err(), "{text}");
        }
    }
}
