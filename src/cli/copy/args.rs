//! What `verbcast copy` can be told.

use super::digest::Hash;
use crate::transport_args::TransportArgs;
use crate::units;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub struct CopyArgs {
    /// What to copy; rank 0 reads it: files, folders with -r, or - for its standard input, whose length need not be
    /// known
    #[arg(required = true)]
    pub src: Vec<PathBuf>,
    /// Where every other rank writes it; {rank} stands for the rank's number. It is the name of the copy, or, where it
    /// ends in / or several things are copied, the folder to put them into. An existing file is replaced once all ranks
    /// have everything; what else is in an existing folder stays. - is the standard output of each rank but 0
    pub dst: OsString,
    /// Copy folders, with all that is in them. Links are copied as links
    #[arg(short, long)]
    pub recursive: bool,
    /// Keep the times of modification
    #[arg(short, long)]
    pub times: bool,
    #[command(flatten)]
    pub transport: TransportArgs,
    /// Bytes per broadcast, 1 to 1G, with K, M or G for 1024, 1024² or 1024³ bytes; rank 0 decides.
    /// Every rank has memory for four: one is read or written and one is hashed while others are broadcast
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = units::parse_chunk)]
    pub chunk: u64,
    /// How all ranks find out that they have the same bytes; rank 0 decides. none: by the checks of the network alone
    #[arg(long, value_name = "NAME", default_value = "sha256")]
    pub hash: Hash,
    /// Read back what was written, and compare its hash before anything gets its name; rank 0 decides
    #[arg(long)]
    pub verify: bool,
    /// Keep what was written if the copy fails; after such a copy, send only what a rank still lacks
    #[arg(long)]
    pub resume: bool,
    /// What to do with holes in files: auto keeps them and does not send them; never sends them as zeros
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub sparse: Sparse,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sparse {
    Auto,
    Never,
}

pub const HELP: &str = "\
Examples:
  Eight processes on this host; ranks 1 to 7 write out.1 to out.7:
    verbcast copy data.bin 'out.{rank}' --ranks 8

  The same with a tenth of the packets lost on purpose:
    verbcast copy data.bin 'out.{rank}' --ranks 8 --fault loss=0.10

  One process on each of 16 hosts, from a Slurm job; the first host has data.bin:
    srun -N 16 --ntasks-per-node=1 verbcast copy data.bin /scratch/data.bin

  A folder and a file, into the folder /scratch of each host:
    srun -N 16 --ntasks-per-node=1 verbcast copy -r environment data.bin /scratch/

  A stream, unpacked on each host but the first:
    tar c environment | srun --input=0 -N 16 --ntasks-per-node=1 \\
      bash -c 'set -o pipefail; verbcast copy - - | tar x -C /scratch'

  Two hosts by hand, each with its own VERBCAST_RANK (0 and 1):
    VERBCAST_RANK=0 VERBCAST_SIZE=2 VERBCAST_RENDEZVOUS=node1:20000 \\
      verbcast copy data.bin /scratch/data.bin

Nothing appears at its destination until every rank has all of it and the hashes agree; - is written as it comes. \
Anything but files, folders and links, such as a device or a pipe, is refused by its name.

Exit status: 0 if every rank has everything, 1 if not, 2 if the command line is wrong.";
