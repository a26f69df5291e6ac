//! MPI programs under their launchers, with and without the library that is preloaded; `ci/lib/mpi.sh` has
//! built them.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod non_blocking;
pub mod scenarios;

use crate::mpirun::{self, Mpi, text};
use crate::needs;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What all programs get, unless they set something else: a communicator's first broadcasts go by multicast, too.
const ALL_BY_MULTICAST: (&str, &str) = ("VERBCAST_FIRST_BY_MPI", "0");

/// Ranks of a program, with an environment of their own.
pub struct Ranks<'a> {
    pub number: u32,
    pub environment: &'a [(&'a str, &'a str)],
}

/// What a program has said.
pub struct Said {
    pub out: String,
    pub err: String,
    pub is_success: bool,
}

impl Mpi {
    /// The library that is preloaded under its programs.
    pub fn library(self) -> PathBuf {
        Self::target().join(self.name()).join("release/libverbcast.so")
    }

    fn program(self, program: &str) -> PathBuf {
        Self::target().join("mpi-tests").join(self.name()).join(program)
    }

    /// What a program says on so many ranks without the library.
    pub fn expected(self, program: &str, ranks: u32) -> String {
        let path = self.program(&format!("{program}.{ranks}.expected"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Whether all is built; if not, says that the test is skipped.
    ///
    /// # Panics
    /// If the environment promised that it is there.
    pub fn is_built(self) -> bool {
        let missing = [self.library(), self.program("types"), self.program("types.8.expected")];
        let Some(path) = missing.iter().find(|path| !path.exists()) else { return true };
        let what = format!("{} is missing; ci/lib/mpi.sh builds it", path.display());
        needs::missing(what);
        false
    }

    /// What ranks preload, with `library`.
    fn preloaded(self, library: &Path) -> String {
        let library = library.to_str().unwrap();
        match self {
            Mpi::Open => library.to_owned(),
            Mpi::Mpich => format!("{library}:{}", Self::yielding().display()),
        }
    }

    /// Runs a program on ranks of several kinds, with `library` preloaded.
    pub fn run(self, library: &Path, program: &str, kinds: &[Ranks<'_>]) -> Said {
        self.run_with(&[], library, program, kinds)
    }

    /// The same as users have it: with the defaults of all that they do not set.
    pub fn run_as_users(self, library: &Path, program: &str, kinds: &[Ranks<'_>]) -> Said {
        self.run_given(self.launcher(), (&[], library), &[program], kinds)
    }

    /// As [`run`](Self::run), with further variables of the launcher.
    pub fn run_with(
        self,
        variables: &[(&str, &str)],
        library: &Path,
        program: &str,
        kinds: &[Ranks<'_>],
    ) -> Said {
        let mut launcher = self.launcher();
        launcher.envs(variables.iter().copied());
        self.run_given(launcher, (&[ALL_BY_MULTICAST], library), &[program], kinds)
    }

    /// As [`run`](Self::run), with a program for each kind of ranks.
    pub fn run_programs(self, library: &Path, programs: &[&str], kinds: &[Ranks<'_>]) -> Said {
        self.run_given(self.launcher(), (&[ALL_BY_MULTICAST], library), programs, kinds)
    }

    /// As [`run`](Self::run), with MPICH's launcher told to end nobody else where a rank ends.
    pub fn run_tolerantly(self, library: &Path, program: &str, kinds: &[Ranks<'_>]) -> Said {
        let mut launcher = self.launcher();
        launcher.arg("-disable-auto-cleanup");
        self.run_given(launcher, (&[ALL_BY_MULTICAST], library), &[program], kinds)
    }

    /// With these variables for all ranks, unless they set something else; the last program is that of all further kinds.
    fn run_given(
        self,
        mut command: Command,
        (given, library): (&[(&str, &str)], &Path),
        programs: &[&str],
        kinds: &[Ranks<'_>],
    ) -> Said {
        let preloaded = self.preloaded(library);
        let preloaded = [("LD_PRELOAD", preloaded.as_str())];
        for (at, Ranks { number, environment }) in kinds.iter().enumerate() {
            if at > 0 {
                command.arg(":");
            }
            command.args(["-n", &number.to_string()]);
            let is_unsaid = |given: &&(&str, &str)| environment.iter().all(|own| own.0 != given.0);
            let given = given.iter().filter(is_unsaid);
            for (name, value) in environment.iter().chain(given).chain(&preloaded) {
                match self {
                    Mpi::Open => command.args(["-x", &format!("{name}={value}")]),
                    Mpi::Mpich => command.args(["-env", name, value]),
                };
            }
            command.arg(self.program(programs[at.min(programs.len() - 1)]));
        }
        let output = mpirun::run(&mut command);
        let is_success = output.status.success();
        Said { out: text(&output.stdout), err: text(&output.stderr), is_success }
    }
}

impl Said {
    /// The lines of the library, from that of all ranks on which there is one.
    fn ours(&self) -> impl Iterator<Item = &str> {
        self.err.lines().filter_map(|line| line.strip_prefix("verbcast: "))
    }

    /// The library's lines that begin so.
    pub fn lines(&self, begin: &str) -> Vec<&str> {
        self.ours().filter(|line| line.starts_with(begin)).collect()
    }

    /// The number before `what` in the sum over all ranks: broadcasts in the line of that way.
    pub fn sum(&self, way: &str) -> u64 {
        let mut begin = "all ranks: ".to_owned();
        let _ = write!(begin, "{way}");
        let lines = self.lines(&begin);
        let Some(line) = lines.first() else { return 0 };
        let rest = line[begin.len()..].trim_start_matches(": ");
        rest.split(' ').next().unwrap().parse().unwrap()
    }
}

/// Ranks that are all alike.
pub fn alike<'a>(number: u32, environment: &'a [(&'a str, &'a str)]) -> [Ranks<'a>; 1] {
    [Ranks { number, environment }]
}
