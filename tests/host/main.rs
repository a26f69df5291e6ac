//! Tests that need no device: the protocols and the simulator, and what the library does on the host alone.

mod allocations;
mod book;
#[cfg(feature = "verbs")]
mod bootstrap;
mod catching_up;
mod choice;
mod late_repairers;
mod layers;
mod links;
#[path = "../support/needs.rs"]
mod needs;
#[path = "../support/book.rs"]
mod pages;
#[cfg(feature = "verbs")]
mod rdma_sys;
mod reordering;
mod scenario;
mod scenarios;
mod scripts;
mod security;
mod simulation;
mod swarm;
mod tags;
