//! What is preloaded under programs of Open MPI, on a device.

use crate::mpirun::Mpi;
use crate::preload;

#[test]
fn datatypes() {
    preload::scenarios::datatypes(Mpi::Open);
}

#[test]
fn fortran_and_python() {
    preload::scenarios::unmodified(Mpi::Open, &["fortran", "fortran08", "python.py"]);
}

#[test]
fn communicators() {
    preload::scenarios::communicators(Mpi::Open);
}

#[test]
fn many_communicators() {
    preload::scenarios::many_communicators(Mpi::Open);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn sixteen_ranks() {
    preload::scenarios::sixteen_ranks(Mpi::Open);
}

#[test]
fn a_root_that_runs_ahead() {
    preload::scenarios::ahead(Mpi::Open);
}

#[test]
fn nonblocking() {
    preload::non_blocking::nonblocking(Mpi::Open);
}

#[test]
fn nonblocking_only() {
    preload::non_blocking::nonblocking_only(Mpi::Open);
}

#[test]
fn whoever_waits_lets_mpi_make_progress() {
    preload::non_blocking::progress(Mpi::Open);
}

#[test]
fn more_than_may_be_in_flight() {
    preload::non_blocking::queued(Mpi::Open);
}

#[test]
fn a_table_that_leaves_short_broadcasts_to_mpi() {
    preload::scenarios::table_for_mpi(Mpi::Open);
}

#[test]
fn first_broadcasts() {
    preload::scenarios::first_broadcasts(Mpi::Open);
}

#[test]
fn first_broadcasts_that_ranks_count_differently() {
    preload::scenarios::first_broadcasts_differ(Mpi::Open, 3, 0);
}

#[test]
fn persistent() {
    preload::non_blocking::persistent(Mpi::Open);
}

#[test]
fn a_rank_that_is_away() {
    preload::non_blocking::away(Mpi::Open);
}

#[test]
fn gpu_memory() {
    preload::scenarios::gpu(Mpi::Open);
}

#[test]
fn variables_of_tools() {
    preload::scenarios::variables(Mpi::Open);
}

#[test]
fn files_of_counters() {
    preload::scenarios::metrics(Mpi::Open);
}

#[test]
fn what_held_a_job_up() {
    preload::scenarios::held_up(Mpi::Open);
}

#[test]
fn threads() {
    preload::scenarios::threads(Mpi::Open);
}

#[test]
fn errors() {
    preload::scenarios::errors(Mpi::Open);
}

#[test]
fn an_error_that_ends_the_program() {
    preload::scenarios::fatal(Mpi::Open);
}

#[test]
fn a_rank_that_is_killed() {
    preload::scenarios::killed(Mpi::Open);
}

#[test]
fn a_missing_device() {
    preload::scenarios::a_missing_device(Mpi::Open);
}

#[test]
fn a_library_for_another_mpi() {
    preload::scenarios::another_library(Mpi::Open, Mpi::Mpich);
}

#[test]
fn attributes() {
    preload::scenarios::unmodified(Mpi::Open, &["attributes"]);
}

#[test]
fn the_standards_interface() {
    preload::scenarios::the_standards_interface(Mpi::Open);
}

#[test]
fn mistakes_in_reports() {
    preload::scenarios::mistakes_in_reports(Mpi::Open);
}

#[test]
fn dynamic_processes() {
    preload::scenarios::dynamic_processes(Mpi::Open);
}

#[test]
fn a_tool() {
    preload::scenarios::a_tool(Mpi::Open);
}

#[test]
fn ranks_in_c_and_in_fortran() {
    preload::non_blocking::bindings(Mpi::Open);
}

#[test]
fn requests_of_c() {
    preload::non_blocking::requests_of_c(Mpi::Open);
}

#[test]
fn another_library_before_a_late_one() {
    preload::scenarios::another_library_before_a_late_one(Mpi::Open, Mpi::Mpich);
}

#[test]
fn imitated_adapters() {
    preload::scenarios::imitated(Mpi::Open, &["mlx5-ib,pkeys=0x8001,ipoib_pkey=0x8001", "hfi1"]);
}

#[test]
#[ignore = "takes long where the machine is emulated"]
fn more_imitated_adapters() {
    let more = ["mlx5-ib", "hfi1,pkeys=0x8001,ipoib_pkey=0x8001", "mlx5-roce"];
    preload::scenarios::imitated(Mpi::Open, &more);
}
