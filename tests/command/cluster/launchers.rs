//! Programs of Open MPI and MPICH on two hosts, started by `srun` and over ssh, with the library preloaded.

use super::{Folder, lines};
use crate::mpirun::Mpi;
use std::fs;

/// How the ranks are started, one on each host; `$1` is the library to preload, and `$2` the program.
const BY_SRUN: [(Mpi, &str); 2] = [
    (Mpi::Open, "srun --mpi=pmix -N 2 -n 2 --export=ALL,LD_PRELOAD=$1 $2"),
    (Mpi::Mpich, "srun --mpi=pmi2 -N 2 -n 2 --export=ALL,LD_PRELOAD=$1 $2"),
];
const OVER_SSH: [(Mpi, &str); 1] = [(
    Mpi::Open,
    "mpirun.openmpi --allow-run-as-root -H node1,node2 -n 2 --mca plm rsh --mca ras ^slurm
     -x LD_PRELOAD=$1 -x VERBCAST_STATS -x VERBCAST_ALGORITHM $2",
)];
/// MPI's own messages go by TCP between the hosts. Two ranks would take no multicast by themselves.
const MPI: &str = "export VERBCAST_STATS=1 VERBCAST_ALGORITHM=window UCX_TLS=tcp,self OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self
     export OMPI_MCA_btl_tcp_if_include=10.7.0.0/24 OMPI_MCA_oob_tcp_if_include=10.7.0.0/24";

/// Runs the program that broadcasts all datatypes: it says what it says without the library, and all its broadcasts go
/// by multicast.
fn try_all(name: &str, launchers: &[(Mpi, &str)]) {
    let Some(folder) = Folder::with_file(name, 0) else { return };
    for (mpi, launcher) in launchers.iter().copied() {
        let library = Mpi::target().join(mpi.name()).join("release/libverbcast.so");
        let mut preloaded = library.into_os_string();
        if mpi == Mpi::Mpich {
            // Its ranks would keep the cores of a host of few from all others.
            preloaded.push(":");
            preloaded.push(Mpi::yielding());
        }
        let programs = Mpi::target().join("mpi-tests").join(mpi.name());
        let launcher = launcher.replace('\n', " ");
        let script = format!("{MPI}\n{launcher} >said 2>told; status=$?; cat told; exit $status");
        let output = folder.run(&script, &[&preloaded, programs.join("types").as_ref()]);
        assert!(output.status.success(), "{}: {}", mpi.name(), lines(&output));
        let expected = fs::read_to_string(programs.join("types.2.expected")).unwrap();
        assert_eq!(
            fs::read_to_string(folder.path.join("said")).unwrap(),
            expected,
            "{}",
            mpi.name()
        );
        let told = fs::read_to_string(folder.path.join("told")).unwrap();
        let number = |begin: &str| -> u64 {
            let begin = format!("verbcast: all ranks: {begin}");
            let line = told.lines().find_map(|line| line.strip_prefix(&begin));
            line.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0)
        };
        let broadcasts = number("");
        assert!(broadcasts > 0, "{}: {told}", mpi.name());
        assert_eq!(number("multicast: "), broadcasts, "{}: {told}", mpi.name());
        let begin = format!("all ranks: multicast: {broadcasts} broadcasts");
        let line = told.lines().find(|line| line.contains(&begin)).unwrap();
        assert!(!line.contains(", 0 packets multicast"), "{}: {line}", mpi.name());
    }
}

#[test]
fn programs_that_srun_starts_broadcast_by_multicast() {
    try_all("mpi-srun", &BY_SRUN);
}

#[test]
fn programs_that_are_started_over_ssh_broadcast_by_multicast() {
    try_all("mpi-ssh", &OVER_SSH);
}
