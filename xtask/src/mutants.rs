//! `cargo xtask mutants`: cargo-mutants, beside the mutations of `ci/mutations`, which are of the papers' rules.

use crate::nextest::cargo;
use std::error::Error;
use std::process::ExitCode;

/// What is passed on to cargo-mutants, which reads `.cargo/mutants.toml` too.
#[derive(clap::Args)]
pub struct Arguments {
    /// For cargo-mutants: `--file 'src/core/wire/**'`, `--list`, `--shard 1/8`, …
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// # Errors
/// If cargo-mutants is missing or cannot be started.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))?;
    if !cargo().args(["mutants", "--version"]).output()?.status.success() {
        return Err("cargo-mutants is missing: cargo install --locked cargo-mutants".into());
    }
    let mut command = cargo();
    command.args(["mutants", "--workspace", "--output", "target"]).args(&arguments.arguments);
    let is_success = command.status()?.success();
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
