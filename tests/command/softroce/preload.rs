//! MPI programs that the installed command runs.

use crate::mpirun::{self, BOTH, Mpi, text};
use crate::support::Folder;
use std::fs;
use std::os::unix::fs::symlink;

/// Where both libraries are installed, a program gets the one of its own MPI library, and its broadcasts go by multicast.
#[test]
fn programs_of_both_mpi_libraries_get_their_own() {
    let library = |mpi: Mpi| Mpi::target().join(mpi.name()).join("release/libverbcast.so");
    let all = mpirun::available(library);
    if all.len() < BOTH.len() {
        return;
    }
    let folder = Folder::new();
    fs::create_dir_all(folder.path("bin")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_verbcast"), folder.path("bin/verbcast")).unwrap();
    for mpi in &all {
        let installed = folder.path("lib/verbcast").join(mpi.name());
        fs::create_dir_all(&installed).unwrap();
        symlink(library(*mpi), installed.join("libverbcast.so")).unwrap();
    }
    for mpi in all {
        let programs = Mpi::target().join("mpi-tests").join(mpi.name());
        let mut command = mpi.launcher();
        command.env("VERBCAST_STATS", "1").env("VERBCAST_FIRST_BY_MPI", "0");
        // Two ranks would take no multicast by themselves.
        command.env("VERBCAST_ALGORITHM", "window");
        command.args(["-n", "2"]).arg(folder.path("bin/verbcast")).arg("preload");
        let output = mpirun::run(command.arg(programs.join("types")));
        let (said, told) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{told}");
        assert_eq!(said, fs::read_to_string(programs.join("types.2.expected")).unwrap());
        let begin = "verbcast: all ranks: multicast: ";
        let count = told.lines().find_map(|line| line.strip_prefix(begin)?.split(' ').next());
        assert!(count.is_some_and(|count| count != "0"), "{told}");
    }
}
