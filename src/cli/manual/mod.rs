//! What goes with an installed command: manual pages, and completions for shells.

mod settings;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::print;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::fs;
use std::path::PathBuf;

#[derive(Args)]
pub struct ManualArgs {
    /// The folder for the pages, one for each command and one for the environment variables; it is made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Args)]
pub struct CompletionsArgs {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes the pages of the commands, of section 1, and that of the environment variables, of section 7.
pub fn pages(ManualArgs { folder }: &ManualArgs) -> Result<(), Failure> {
    let written = fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .and_then(|()| fs::write(folder.join(settings::NAME), settings::page()));
    written
        .map_err(|error| Failure::new(format!("cannot write into {}: {error}", folder.display())))
}

pub fn completions(CompletionsArgs { shell }: &CompletionsArgs) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(*shell, &mut Cli::command(), "verbcast", &mut text);
    print(&String::from_utf8_lossy(&text))
}
