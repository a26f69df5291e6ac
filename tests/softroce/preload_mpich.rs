//! What is preloaded under programs of MPICH, on a device.

use crate::mpirun::Mpi;
use crate::preload;

#[test]
fn datatypes() {
    preload::scenarios::datatypes(Mpi::Mpich);
}

#[test]
fn fortran() {
    preload::scenarios::unmodified(Mpi::Mpich, &["fortran", "fortran08", "persistent08"]);
}

#[test]
fn communicators() {
    preload::scenarios::communicators(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn many_communicators() {
    preload::scenarios::many_communicators(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn a_root_that_runs_ahead() {
    preload::scenarios::ahead(Mpi::Mpich);
}

#[test]
fn nonblocking() {
    preload::non_blocking::nonblocking(Mpi::Mpich);
}

#[test]
fn nonblocking_only() {
    preload::non_blocking::nonblocking_only(Mpi::Mpich);
}

#[test]
fn whoever_waits_lets_mpi_make_progress() {
    preload::non_blocking::progress(Mpi::Mpich);
}

#[test]
fn more_than_may_be_in_flight() {
    preload::non_blocking::queued(Mpi::Mpich);
}

#[test]
fn a_table_that_leaves_short_broadcasts_to_mpi() {
    preload::scenarios::table_for_mpi(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn first_broadcasts() {
    preload::scenarios::first_broadcasts(Mpi::Mpich);
}

#[test]
fn first_broadcasts_that_ranks_count_differently() {
    preload::scenarios::first_broadcasts_differ(Mpi::Mpich, 0, 3);
}

#[test]
fn persistent() {
    preload::non_blocking::persistent(Mpi::Mpich);
}

#[test]
fn persistent_by_mpi() {
    // Four rounds of three.
    preload::non_blocking::persistent_by_mpi(Mpi::Mpich, "persistent08", 12);
}

#[test]
fn variables_of_tools() {
    preload::scenarios::variables(Mpi::Mpich);
}

#[test]
fn files_of_counters() {
    preload::scenarios::metrics(Mpi::Mpich);
}

#[test]
fn what_held_a_job_up() {
    preload::scenarios::held_up(Mpi::Mpich);
}

#[test]
fn a_rank_that_is_away() {
    preload::non_blocking::away(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn gpu_memory() {
    preload::scenarios::gpu(Mpi::Mpich);
}

#[test]
fn threads() {
    preload::scenarios::threads(Mpi::Mpich);
}

#[test]
fn errors() {
    preload::scenarios::errors(Mpi::Mpich);
}

#[test]
fn an_error_that_ends_the_program() {
    preload::scenarios::fatal(Mpi::Mpich);
}

#[test]
fn a_rank_that_is_killed() {
    preload::scenarios::killed(Mpi::Mpich);
}

#[test]
fn a_process_that_is_gone_where_mpi_goes_on() {
    preload::scenarios::tolerant(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn a_missing_device() {
    preload::scenarios::a_missing_device(Mpi::Mpich);
}

#[test]
fn a_library_for_another_mpi() {
    preload::scenarios::another_library(Mpi::Mpich, Mpi::Open);
}

#[test]
fn attributes() {
    preload::scenarios::unmodified(Mpi::Mpich, &["attributes"]);
}

#[test]
fn the_standards_interface() {
    preload::scenarios::the_standards_interface(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn mistakes_in_reports() {
    preload::scenarios::mistakes_in_reports(Mpi::Mpich);
}

#[test]
fn a_tool() {
    preload::scenarios::a_tool(Mpi::Mpich);
}

#[test]
fn functions_of_large_counts() {
    preload::non_blocking::large_counts(Mpi::Mpich);
}

#[test]
fn sessions() {
    preload::scenarios::sessions(Mpi::Mpich);
}

#[test]
#[ignore = "the library's own doing, which is tried with Open MPI"]
fn imitated_adapters() {
    preload::scenarios::imitated(Mpi::Mpich, &["hfi1"]);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn more_imitated_adapters() {
    let more = ["mlx5-ib,pkeys=0x8001,ipoib_pkey=0x8001", "mlx5-roce"];
    preload::scenarios::imitated(Mpi::Mpich, &more);
}
