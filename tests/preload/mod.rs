//! MPI programs under their launchers, with and without the library that is preloaded; `ci/lib/mpi.sh` has
//! built them.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Seconds for a program; longer is a hang.
const LIMIT: &str = "280";

/// An MPI library.
#[derive(Clone, Copy, Debug)]
pub enum Mpi {
    Open,
    Mpich,
}

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
    /// The name that its tools and folders end with.
    fn name(self) -> &'static str {
        match self {
            Mpi::Open => "openmpi",
            Mpi::Mpich => "mpich",
        }
    }

    fn target() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target")
    }

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
        assert!(std::env::var_os("VERBCAST_SOFTROCE_PROMISED").is_none(), "{what}");
        println!("SKIPPED: {what}");
        false
    }

    /// Runs a program on ranks of several kinds, with `library` preloaded.
    pub fn run(self, library: &Path, program: &str, kinds: &[Ranks<'_>]) -> Said {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", LIMIT]);
        match self {
            Mpi::Open => {
                command.arg("mpirun.openmpi").args(OPEN_MPI);
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            Mpi::Mpich => {
                command.arg("mpiexec.mpich");
                // On SoftRoCE, UCX drops its own datagrams.
                command.env("UCX_TLS", "posix,sysv,self");
            }
        }
        for (at, Ranks { number, environment }) in kinds.iter().enumerate() {
            if at > 0 {
                command.arg(":");
            }
            command.args(["-n", &number.to_string()]);
            let library = ("LD_PRELOAD", library.to_str().unwrap());
            for (name, value) in environment.iter().chain([&library]) {
                match self {
                    Mpi::Open => command.args(["-x", &format!("{name}={value}")]),
                    Mpi::Mpich => command.args(["-env", name, value]),
                };
            }
            command.arg(self.program(program));
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        let [out, err] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        println!("{command:?}: {status}\n{out}{err}");
        assert!(!matches!(status.code(), Some(124 | 137)), "{program}: it hangs");
        Said { out, err, is_success: status.success() }
    }
}

/// Ranks outnumber cores, and components that look for other hardware take long to start.
const OPEN_MPI: &[&str] = &[
    "--oversubscribe",
    "--bind-to",
    "none",
    "--mca",
    "mpi_yield_when_idle",
    "1",
    "--mca",
    "pml",
    "ob1",
    "--mca",
    "btl",
    "self,vader",
    "--mca",
    "btl_vader_single_copy_mechanism",
    "none",
    "--mca",
    "osc",
    "sm",
    "--mca",
    "coll",
    "basic,libnbc,self,inter,tuned",
];

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
