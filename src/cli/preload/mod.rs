//! `verbcast preload`: runs an MPI program with the library in which `MPI_Bcast` goes by multicast.

mod args;
mod dependencies;
mod libraries;

pub use args::{HELP, PreloadArgs};

use crate::failure::Failure;
use libraries::Library;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How env(1) and shells tell that a program could not be run, and that there is none.
const NOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;

pub fn run(args: &PreloadArgs) -> Result<(), Failure> {
    let library = match &args.library {
        Some(path) => path
            .canonicalize()
            .map_err(|error| Failure::usage(format!("--library {}: {error}", path.display())))?,
        None => installed(args)?.path,
    };
    if args.show {
        return crate::print(&format!("{}\n", library.display()));
    }
    // There is one unless the library's path is asked for.
    let (program, arguments) = args.program.split_first().expect("clap asks for it");
    let before = before(&library, env::var_os("LD_PRELOAD")).map_err(Failure::new)?;
    let error = Command::new(program).args(arguments).env("LD_PRELOAD", before).exec();
    let status = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUN };
    let message = format!("{} cannot be run: {error}", program.display());
    Err(Failure { messages: vec![message], status })
}

/// The installed library that fits.
fn installed(args: &PreloadArgs) -> Result<Library, Failure> {
    let folder = libraries::folder().map_err(Failure::new)?;
    let all = libraries::installed(&folder);
    let program = args.program.first().and_then(|name| find(name, env::var_os("PATH")));
    let needed = || program.as_deref().and_then(dependencies::of_mpi);
    libraries::choose(all, args.mpi.as_deref(), needed, &folder).map_err(Failure::usage)
}

/// The value of LD_PRELOAD: a library before what is there already.
fn before(library: &Path, others: Option<OsString>) -> Result<OsString, String> {
    // The dynamic linker takes these for the end of a name.
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        let why = "a path with a space or a colon cannot be preloaded";
        return Err(format!("{}: {why}", library.display()));
    }
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    Ok(value)
}

/// Where a program is, as `execvp` finds it.
fn find(program: &OsStr, path: Option<OsString>) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let path = path?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_others_stay() {
        let library = Path::new("/opt/verbcast/lib/libverbcast.so");
        assert_eq!(before(library, None).unwrap(), library.as_os_str());
        assert_eq!(before(library, Some("".into())).unwrap(), library.as_os_str());
        let both = before(library, Some("libtool.so".into())).unwrap();
        assert_eq!(both, "/opt/verbcast/lib/libverbcast.so:libtool.so");
        for path in ["/opt/my programs/libverbcast.so", "/opt/a:b/libverbcast.so"] {
            assert!(before(Path::new(path), None).unwrap_err().contains("cannot be preloaded"));
        }
    }

    #[test]
    fn programs_are_found_as_they_would_be_run() {
        let path = || Some("/nonexistent:/usr/bin:/bin".into());
        assert!(find("env".as_ref(), path()).unwrap().ends_with("bin/env"));
        assert_eq!(find("./env".as_ref(), path()), Some("./env".into()));
        assert_eq!(find("no-such-program".as_ref(), path()), None);
    }
}
