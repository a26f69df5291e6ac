//! What is preloaded under programs of Open MPI, on a device.

#![cfg(feature = "verbs")]

#[path = "preload/mod.rs"]
mod preload;
mod ranks;
#[path = "preload/scenarios.rs"]
mod scenarios;

use preload::Mpi;

#[test]
fn datatypes() {
    scenarios::datatypes(Mpi::Open);
}

#[test]
fn communicators() {
    scenarios::communicators(Mpi::Open);
}

#[test]
fn a_root_that_runs_ahead() {
    scenarios::ahead(Mpi::Open);
}

#[test]
fn threads() {
    scenarios::threads(Mpi::Open);
}

#[test]
fn errors() {
    scenarios::errors(Mpi::Open);
}

#[test]
fn a_rank_that_is_killed() {
    scenarios::killed(Mpi::Open);
}

#[test]
fn a_missing_device() {
    scenarios::a_missing_device(Mpi::Open);
}

#[test]
fn a_library_for_another_mpi() {
    scenarios::another_library(Mpi::Open, Mpi::Mpich);
}
