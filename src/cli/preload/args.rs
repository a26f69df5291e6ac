//! What `verbcast preload` takes.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args)]
pub struct PreloadArgs {
    /// The MPI library that the program uses, where it cannot be told: one of those that verbcast was installed for
    #[arg(long, value_name = "NAME")]
    pub mpi: Option<String>,
    /// Take this library, and not an installed one
    #[arg(long, value_name = "FILE", conflicts_with = "mpi")]
    pub library: Option<PathBuf>,
    /// Print the library's path, and run nothing
    #[arg(long)]
    pub show: bool,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required_unless_present = "show",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,
}

pub const HELP: &str = "\
Examples:
  Broadcasts of an MPI program by multicast, and at the end how many were:
    VERBCAST_STATS=1 srun --mpi=pmix -N 16 verbcast preload ./program input
    mpirun -n 8 verbcast preload ./program input

  Of a script, which does not say which MPI library it will load:
    mpirun -n 8 verbcast preload --mpi openmpi python3 train.py

  With a launcher that sets variables itself:
    mpirun -n 8 -x LD_PRELOAD=$(verbcast preload --show --mpi openmpi) ./program

The library is that in lib/verbcast/NAME/, beside the folder of this command, whose MPI library the program is linked \
with (ldd tells); where only one is installed, that one. In a program of another MPI library it does nothing.

Exit status: the program's; 126 or 127 if it cannot be run, 1 if the library cannot be preloaded, 2 if the command line \
is wrong or no library fits.";
