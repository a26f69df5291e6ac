//! The command on RDMA devices, which `VERBCAST_TEST_DEVICES` names.

mod adapters;
mod bench;
mod book;
mod copy;
mod doctor;
mod ledger;
mod limits;
mod mpi_bench;
mod preload;
mod trace;
mod wire;
