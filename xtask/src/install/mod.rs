//! `cargo xtask install`: all that a site gives its users, below one folder.

mod build;
mod module_file;
mod notices;
mod place;

use place::Place;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// Installs the command, the libraries to preload, manual pages, completions and a module file
#[derive(clap::Args)]
pub struct Arguments {
    /// The folder below which all comes: bin, lib and share. A path that begins with /, as the module file has it
    #[arg(long, value_name = "DIR", value_parser = absolute)]
    prefix: PathBuf,
    /// Also what is preloaded under programs of the MPI library that this compiler builds for, under this name; may be
    /// given several times
    #[arg(long, value_name = "NAME=MPICC", value_parser = build::Mpi::parse)]
    mpi: Vec<build::Mpi>,
    /// Before every path that is written, and not in the module file: for who makes a package
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,
}

fn absolute(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    // The module file is Tcl, in which these mean something.
    let is_plain = !text
        .contains(|character: char| character.is_whitespace() || "{}[]$\\\"".contains(character));
    match path.is_absolute() && is_plain {
        true => Ok(path),
        false => {
            Err("expected a path that begins with /, without spaces, quotes or brackets".to_owned())
        }
    }
}

/// # Errors
/// If something cannot be built or written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))?;
    let place = Place::new(&arguments.prefix, arguments.destdir.as_deref());
    let command = build::command()?;
    let mut libraries = Vec::new();
    for mpi in &arguments.mpi {
        libraries.push((mpi.name.as_str(), build::library(mpi)?));
    }
    place.put(&command, "bin/verbcast", place::PROGRAM)?;
    for (name, library) in &libraries {
        place.put(library, &format!("lib/verbcast/{name}/libverbcast.so"), place::PROGRAM)?;
    }
    for page in build::pages(&command)? {
        let name = page.file_name().ok_or("a page without a name")?.to_string_lossy();
        let (_, section) = name.rsplit_once('.').ok_or("a page without a section")?;
        place.put(&page, &format!("share/man/man{section}/{name}"), place::TEXT)?;
    }
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/verbcast"),
        ("zsh", "share/zsh/site-functions/_verbcast"),
        ("fish", "share/fish/vendor_completions.d/verbcast.fish"),
    ] {
        place.write(&build::completions(&command, shell)?, path, place::TEXT)?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"] {
        place.put(name.as_ref(), &format!("share/doc/verbcast/{name}"), place::TEXT)?;
    }
    place.write(notices::text()?.as_bytes(), "share/doc/verbcast/THIRD-PARTY.txt", place::TEXT)?;
    let version = env!("CARGO_PKG_VERSION");
    let text = module_file::text(&arguments.prefix, version);
    place.write(text.as_bytes(), &format!("share/modulefiles/verbcast/{version}"), place::TEXT)?;
    println!("installed below {}", place.root().display());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_plain_absolute_path() {
        assert_eq!(absolute("/opt/verbcast/0.1.0").unwrap(), PathBuf::from("/opt/verbcast/0.1.0"));
        for text in ["opt", "", "/opt/a b", "/opt/$x", "/opt/[exit]"] {
            assert!(absolute(text).is_err(), "{text}");
        }
    }
}
