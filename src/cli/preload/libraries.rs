//! The libraries to preload that are installed, one for each MPI library.

use super::dependencies;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FILE: &str = "libverbcast.so";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Of the MPI library, as it was installed.
    pub name: String,
    pub path: PathBuf,
}

/// Where they are: beside the folder of this command.
pub fn folder() -> Result<PathBuf, String> {
    let command =
        env::current_exe().map_err(|error| format!("this command has no path: {error}"))?;
    let prefix = command.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    Ok(prefix.join("lib/verbcast"))
}

/// All of a folder, by name.
pub fn installed(folder: &Path) -> Vec<Library> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries
        .map(|entry| Library {
            name: entry.file_name().to_string_lossy().into_owned(),
            path: entry.path().join(FILE),
        })
        .filter(|library| library.path.is_file())
        .collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

/// The one that has this name; else the only one; else the one that is linked with the same MPI library as the program.
pub fn choose(
    all: Vec<Library>,
    name: Option<&str>,
    needed: impl FnOnce() -> Option<String>,
    folder: &Path,
) -> Result<Library, String> {
    let names = all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    if all.is_empty() {
        let advice = "install it for an MPI library, or name one with --library";
        return Err(format!("there is no {}/NAME/{FILE}: {advice}", folder.display()));
    }
    if let Some(name) = name {
        let found = all.into_iter().find(|one| one.name == name);
        return found.ok_or_else(|| format!("--mpi {name}: verbcast is installed for {names}"));
    }
    if all.len() == 1 {
        return Ok(all.into_iter().next().expect("there is one"));
    }
    let Some(needed) = needed() else {
        return Err(format!(
            "cannot tell which MPI library the program uses: give --mpi, one of {names}"
        ));
    };
    let fits = |one: &Library| dependencies::of_mpi(&one.path).as_deref() == Some(&needed);
    all.into_iter().find(fits).ok_or_else(|| {
        format!("the program is linked with {needed}, and verbcast is installed for {names}, which are not")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str) -> Library {
        Library { name: name.to_owned(), path: format!("/nonexistent/{name}/{FILE}").into() }
    }

    fn chosen(names: &[&str], name: Option<&str>, needed: Option<&str>) -> Result<String, String> {
        let all = names.iter().map(|name| library(name)).collect();
        choose(all, name, || needed.map(str::to_owned), Path::new("/opt/lib")).map(|one| one.name)
    }

    #[test]
    fn a_name_or_being_the_only_one_decides() {
        assert_eq!(chosen(&["mpich", "openmpi"], Some("openmpi"), None).unwrap(), "openmpi");
        assert_eq!(chosen(&["mpich"], None, None).unwrap(), "mpich");
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for (outcome, expected) in [
            (chosen(&[], None, None), "there is no /opt/lib/NAME/libverbcast.so"),
            (
                chosen(&["mpich"], Some("openmpi"), None),
                "--mpi openmpi: verbcast is installed for mpich",
            ),
            (chosen(&["mpich", "openmpi"], None, None), "give --mpi, one of mpich, openmpi"),
            (chosen(&["mpich", "openmpi"], None, Some("libmpi.so.9")), "linked with libmpi.so.9"),
        ] {
            let why = outcome.unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }

    #[test]
    fn folders_without_a_library_are_none() {
        let folder = env::temp_dir().join(format!("verbcast-libraries-{}", std::process::id()));
        for name in ["openmpi", "mpich", "empty"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        for name in ["openmpi", "mpich"] {
            fs::write(folder.join(name).join(FILE), "").unwrap();
        }
        let names: Vec<_> = installed(&folder).into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["mpich", "openmpi"]);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(installed(&folder), []);
    }
}
