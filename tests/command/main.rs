//! The command as its users run it. What needs a device is in `softroce`.

mod book;
mod cluster;
mod conformance;
mod doctor;
mod fabric;
mod fabric_omnipath;
mod fabric_program;
mod figures;
mod launch;
mod links;
mod log;
#[path = "../support/mpirun.rs"]
mod mpirun;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/book.rs"]
mod pages;
mod report;
mod sim;
mod simulated_fabric;
mod site;
mod softroce;
mod subnet_joins;
mod support;
mod tune;
mod versions;
