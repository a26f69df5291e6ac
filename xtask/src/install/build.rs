//! What is installed, built for speed.

use crate::nextest::cargo;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An MPI library for whose programs something is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mpi {
    /// That of a folder.
    pub name: String,
    compiler: String,
}

impl Mpi {
    pub fn parse(text: &str) -> Result<Mpi, String> {
        let (name, compiler) = text.split_once('=').unwrap_or((text, ""));
        let is_name =
            |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        let is_plain = !name.is_empty() && !name.starts_with('.') && name.chars().all(is_name);
        match is_plain && !compiler.is_empty() {
            true => Ok(Mpi { name: name.to_owned(), compiler: compiler.to_owned() }),
            false => Err("expected NAME=MPICC, such as openmpi=/opt/openmpi/bin/mpicc".to_owned()),
        }
    }
}

/// Where cargo leaves things, or a folder of that for one MPI library: a build does not notice that MPICC has changed.
fn target(mpi: Option<&Mpi>) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    mpi.map_or(target.clone(), |mpi| target.join(&mpi.name))
}

/// Builds the command.
pub fn command() -> Result<PathBuf, Box<dyn Error>> {
    succeed(cargo().args(["build", "--locked", "--release", "-p", "verbcast-cli"]))?;
    Ok(target(None).join("release/verbcast"))
}

/// Builds what is preloaded under programs of an MPI library.
pub fn library(mpi: &Mpi) -> Result<PathBuf, Box<dyn Error>> {
    let mut build = cargo();
    build.args(["build", "--locked", "--release", "-p", "verbcast-preload"]);
    build.env("MPICC", &mpi.compiler).env("CARGO_TARGET_DIR", target(Some(mpi)));
    succeed(&mut build)?;
    Ok(target(Some(mpi)).join("release/libverbcast.so"))
}

/// The command's manual pages.
pub fn pages(command: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = target(None).join("install/man");
    // Pages of commands that are no more.
    let _ = fs::remove_dir_all(&folder);
    succeed(Command::new(command).arg("manual").arg(&folder))?;
    let mut all = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    all.sort();
    Ok(all)
}

/// The command's completions for a shell.
pub fn completions(command: &Path, shell: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let output = Command::new(command).args(["completions", shell]).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("there are no completions for {shell}").into()),
    }
}

fn succeed(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{command:?} failed: {status}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpi_library_is_a_name_and_a_compiler() {
        let mpi = Mpi::parse("openmpi-5.0=/opt/mpi=5/bin/mpicc").unwrap();
        assert_eq!(
            (mpi.name.as_str(), mpi.compiler.as_str()),
            ("openmpi-5.0", "/opt/mpi=5/bin/mpicc")
        );
        for text in ["openmpi", "=mpicc", "openmpi=", "../up=mpicc", "..=mpicc", "a/b=mpicc"] {
            assert!(Mpi::parse(text).is_err(), "{text}");
        }
    }
}
