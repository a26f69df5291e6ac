//! What is preloaded under programs of MPICH, on a device.

#![cfg(feature = "verbs")]

#[path = "preload/mod.rs"]
mod preload;
mod ranks;
#[path = "preload/scenarios.rs"]
mod scenarios;

use preload::Mpi;

#[test]
fn datatypes() {
    scenarios::datatypes(Mpi::Mpich);
}

#[test]
fn communicators() {
    scenarios::communicators(Mpi::Mpich);
}

#[test]
fn a_root_that_runs_ahead() {
    scenarios::ahead(Mpi::Mpich);
}

#[test]
fn threads() {
    scenarios::threads(Mpi::Mpich);
}

#[test]
fn errors() {
    scenarios::errors(Mpi::Mpich);
}

#[test]
fn a_rank_that_is_killed() {
    scenarios::killed(Mpi::Mpich);
}

#[test]
fn a_missing_device() {
    scenarios::a_missing_device(Mpi::Mpich);
}

#[test]
fn a_library_for_another_mpi() {
    scenarios::another_library(Mpi::Mpich, Mpi::Open);
}
