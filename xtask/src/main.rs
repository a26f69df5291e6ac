//! The project's own tasks: `cargo xtask --help`.
//!
//! Bash is left to what runs before there is anything to run this with: `ci/test` installs what is missing, and
//! `ci/softroce` is the machine with SoftRoCE.
#![forbid(unsafe_code)]

mod aside;
mod checks;
mod install;
mod libtest;
mod machine;
mod mutants;
mod nextest;
mod process;
mod section;
mod skips;
mod tally;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Checks everything, or the parts that are named. `ci/test` installs what is missing and does the same
    Test(checks::Parts),
    /// Breaks the sources wherever cargo-mutants can, and shows what no test notices
    Mutants(mutants::Arguments),
    Install(install::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Test(parts) => checks::run(&parts),
        Task::Mutants(arguments) => mutants::run(&arguments),
        Task::Install(arguments) => install::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
