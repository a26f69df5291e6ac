//! Programs of Open MPI on two hosts, started by `srun` and over ssh, with the library preloaded.

use super::{Folder, lines};
use crate::mpirun::Mpi;
use std::fs;

/// How the ranks are started, one on each host; `$1` is the library to preload, and `$2` the program.
const BY_SRUN: &str = "srun --mpi=pmix -N 2 -n 2 --export=ALL,LD_PRELOAD=$1 $2";
const OVER_SSH: &str = "mpirun.openmpi --allow-run-as-root -H node1,node2 -n 2 --mca plm rsh \
     --mca ras ^slurm -x LD_PRELOAD=$1 -x VERBCAST_STATS -x VERBCAST_FIRST_BY_MPI -x VERBCAST_ALGORITHM $2";
/// MPI's own messages go by TCP between the hosts. Two ranks would take no multicast by themselves.
const ENVIRONMENT: &str = "export VERBCAST_STATS=1 VERBCAST_FIRST_BY_MPI=0 VERBCAST_ALGORITHM=window \
     OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self \
     OMPI_MCA_btl_tcp_if_include=10.7.0.0/24 OMPI_MCA_oob_tcp_if_include=10.7.0.0/24";

/// Runs the program that broadcasts all datatypes: it says what it says without the library, and all its broadcasts go
/// by multicast.
fn broadcasts_by_multicast(name: &str, launcher: &str) {
    let Some(folder) = Folder::with_file(name, 0) else { return };
    let library = Mpi::target().join(Mpi::Open.name()).join("release/libverbcast.so");
    let programs = Mpi::target().join("mpi-tests").join(Mpi::Open.name());
    let script =
        format!("{ENVIRONMENT}\n{launcher} >said 2>told; status=$?; cat told; exit $status");
    let output = folder.run(&script, &[library.as_ref(), programs.join("types").as_ref()]);
    assert!(output.status.success(), "{}", lines(&output));
    let expected = fs::read_to_string(programs.join("types.2.expected")).unwrap();
    assert_eq!(fs::read_to_string(folder.path.join("said")).unwrap(), expected);
    let told = fs::read_to_string(folder.path.join("told")).unwrap();
    let number = |begin: &str| -> u64 {
        let begin = format!("verbcast: all ranks: {begin}");
        let line = told.lines().find_map(|line| line.strip_prefix(&begin));
        line.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
    };
    let broadcasts = number("");
    assert!(broadcasts > 0 && number("multicast: ") == broadcasts, "{told}");
    let begin = format!("all ranks: multicast: {broadcasts} broadcasts");
    let line = told.lines().find(|line| line.contains(&begin)).unwrap();
    assert!(!line.contains(", 0 packets multicast"), "{line}");
}

#[test]
fn programs_that_srun_starts_broadcast_by_multicast() {
    broadcasts_by_multicast("mpi-srun", BY_SRUN);
}

#[test]
fn programs_that_are_started_over_ssh_broadcast_by_multicast() {
    broadcasts_by_multicast("mpi-ssh", OVER_SSH);
}
