//! The `verbcast` command.

#![forbid(unsafe_code)]

mod bench;
mod chart;
mod cli;
mod conformance;
mod copy;
mod doctor;
mod fabric;
mod failure;
mod figures;
mod files;
mod incidents;
mod info;
mod launch;
mod manual;
mod message;
mod preload;
mod progress;
mod report;
mod results;
mod root;
mod sim;
mod table;
mod trace;
mod transport_args;
mod tune;
mod units;

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&cli::Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for message in failure.messages {
                // There is nobody left to tell if standard error is closed.
                let _ = writeln!(std::io::stderr(), "error: {message}");
            }
            ExitCode::from(failure.status)
        }
    }
}

fn run(command: &cli::Command) -> Result<(), failure::Failure> {
    // The timelines and the log are the program's, which takes the place of this process.
    if let cli::Command::Preload(args) = command {
        return preload::run(args);
    }
    verbcast::trace::from_env("warn").map_err(failure::Failure::usage)?;
    match command {
        cli::Command::Info(args) => info::run(args),
        cli::Command::Conformance => conformance::run(),
        cli::Command::Doctor(args) => doctor::run(args),
        cli::Command::Copy(args) => copy::run(args),
        cli::Command::Bench(args) => bench::run(args),
        cli::Command::Tune(args) => tune::run(args),
        cli::Command::Report(args) => report::run(args),
        cli::Command::Trace(args) => trace::run(args),
        cli::Command::Sim(args) => sim::run(args),
        cli::Command::Figures(args) => figures::run(args),
        cli::Command::Fabric(command) => fabric::run(command),
        cli::Command::Preload(args) => preload::run(args),
        cli::Command::Manual(args) => manual::pages(args),
        cli::Command::Completions(args) => manual::completions(args),
    }
}

/// Prints a result on standard output.
fn print(text: &str) -> Result<(), failure::Failure> {
    let mut stdout = std::io::stdout();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| failure::Failure::new(format!("cannot write to standard output: {error}")))
}
