//! Which rank a process is, as whatever started it says in the environment.

use super::{Address, AddressError, slurm, token_file};
use std::fmt;
use std::path::{Path, PathBuf};
use verbcast_core::rank::Rank;

/// A process's place in its job.
///
/// The first of these that is there decides, and all of its variables must be good:
///
/// | started by | rank | size |
/// |---|---|---|
/// | by hand | `VERBCAST_RANK` | `VERBCAST_SIZE` |
/// | Open MPI | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` |
/// | PMI (MPICH, Intel MPI) | `PMI_RANK` | `PMI_SIZE` |
/// | PMIx | `PMIX_RANK` | `PMIX_SIZE`, or `SLURM_STEP_NUM_TASKS`, or `SLURM_NTASKS` |
/// | Slurm | `SLURM_PROCID` | `SLURM_STEP_NUM_TASKS`, or `SLURM_NTASKS` |
///
/// `VERBCAST_RENDEZVOUS` is the address where rank 0 waits for the others. Without it, a job under
/// Slurm meets at the first host of `SLURM_STEP_NODELIST` (or `SLURM_JOB_NODELIST`), at a port
/// from 10000 to 31999 that follows from the job's and the step's number.
///
/// The [token](Environment::token) is `VERBCAST_TOKEN`, or what the file `VERBCAST_TOKEN_FILE` holds, which nobody but
/// its owner may read or write. By default it is `PMI_SHARED_SECRET` (Cray's PMI, also under Slurm, and Flux), which is
/// a secret of the job; else under Slurm the job's and the step's number, which is none.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    /// This process's rank.
    pub rank: Rank,
    /// The number of ranks.
    pub size: u32,
    /// Where rank 0 listens, if that is known. A single rank needs none.
    pub rendezvous: Option<Address>,
    /// The same text, of at most 256 bytes, at every rank of a job. Each rank proves to rank 0 that it knows it, and
    /// rank 0 to each rank, before anything else is said; it never travels itself. If nobody else can know or guess it,
    /// nobody else can take part. One that can be guessed, or an empty one, only keeps jobs apart that happen to use the
    /// same address.
    pub token: String,
}

/// The token stays out of logs.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Environment { rank, size, rendezvous, token: _ } = self;
        let mut fields = f.debug_struct("Environment");
        fields.field("rank", rank).field("size", size).field("rendezvous", rendezvous);
        fields.finish_non_exhaustive()
    }
}

/// A variable with a value that makes no sense, or one that is missing beside another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// One variable of a pair is missing.
    #[error("{variable} is not set, but {beside} is")]
    Missing {
        /// The one that is missing.
        variable: &'static str,
        /// The one that is there.
        beside: &'static str,
    },
    /// A value is not a number.
    #[error("{variable} is '{value}', which is not a number")]
    NotANumber {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The job has no ranks.
    #[error("{variable} is 0, but a job has at least one rank")]
    NoRanks {
        /// The variable.
        variable: &'static str,
    },
    /// The job has no such rank.
    #[error("{variable} is {rank}, but {sized_by} is {size}: ranks count from 0")]
    RankTooLarge {
        /// The variable with the rank.
        variable: &'static str,
        /// Its value.
        rank: u32,
        /// The variable with the number of ranks.
        sized_by: &'static str,
        /// Its value.
        size: u32,
    },
    /// Slurm's list of hosts begins with none.
    #[error("{variable} is '{list}', which names no host")]
    NoHost {
        /// The variable.
        variable: &'static str,
        /// Its value.
        list: String,
    },
    /// There are two tokens.
    #[error("VERBCAST_TOKEN and VERBCAST_TOKEN_FILE are both set: set one of them")]
    TwoTokens,
    /// The file with the token cannot be used.
    #[error("VERBCAST_TOKEN_FILE is {}: {what}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        what: String,
    },
    /// The rendezvous is not an address.
    #[error("VERBCAST_RENDEZVOUS has {0}")]
    Rendezvous(#[from] AddressError),
}

const LAUNCHERS: [(&str, &[&str]); 5] = [
    ("VERBCAST_RANK", &["VERBCAST_SIZE"]),
    ("OMPI_COMM_WORLD_RANK", &["OMPI_COMM_WORLD_SIZE"]),
    ("PMI_RANK", &["PMI_SIZE"]),
    ("PMIX_RANK", &["PMIX_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"]),
    ("SLURM_PROCID", &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"]),
];

impl Environment {
    /// Reads this process's environment; `None` if nothing there speaks of a rank.
    ///
    /// # Errors
    /// If a variable is bad, or one of a pair is missing.
    pub fn from_env() -> Result<Option<Environment>, EnvironmentError> {
        Environment::from_lookup(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
        })
    }

    /// The same with any source of variables.
    ///
    /// # Errors
    /// If a variable is bad, or one of a pair is missing.
    pub fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Environment>, EnvironmentError> {
        let found =
            LAUNCHERS.into_iter().find_map(|(name, sizes)| Some((name, sizes, lookup(name)?)));
        let Some((source, sizes, rank)) = found else {
            return match lookup("VERBCAST_SIZE") {
                Some(_) => Err(EnvironmentError::Missing {
                    variable: "VERBCAST_RANK",
                    beside: "VERBCAST_SIZE",
                }),
                None => Ok(None),
            };
        };
        let rank = number(source, &rank)?;
        let (sized_by, size) = sizes
            .iter()
            .find_map(|&name| Some((name, lookup(name)?)))
            .ok_or(EnvironmentError::Missing { variable: sizes[0], beside: source })?;
        let size = number(sized_by, &size)?;
        if size == 0 {
            return Err(EnvironmentError::NoRanks { variable: sized_by });
        }
        if rank >= size {
            return Err(EnvironmentError::RankTooLarge { variable: source, rank, sized_by, size });
        }
        let rendezvous = match lookup("VERBCAST_RENDEZVOUS") {
            Some(text) => Some(text.parse()?),
            None => slurm::rendezvous(&lookup)?,
        };
        let token = token(&lookup)?;
        Ok(Some(Environment { rank: Rank(rank), size, rendezvous, token }))
    }

    /// A job of one process.
    pub fn alone() -> Environment {
        Environment { rank: Rank(0), size: 1, rendezvous: None, token: String::new() }
    }
}

/// The token in this process's environment, whoever started it.
pub(super) fn environment_token() -> Result<String, EnvironmentError> {
    token(&|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

/// The job's token, from whoever gives one.
fn token(lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, EnvironmentError> {
    match (lookup("VERBCAST_TOKEN"), lookup("VERBCAST_TOKEN_FILE")) {
        (Some(_), Some(_)) => Err(EnvironmentError::TwoTokens),
        (Some(token), None) => Ok(token),
        (None, Some(path)) => token_file::read(Path::new(&path))
            .map_err(|what| EnvironmentError::TokenFile { path: path.into(), what }),
        (None, None) => {
            let secret = lookup("PMI_SHARED_SECRET").filter(|secret| !secret.is_empty());
            Ok(secret.or_else(|| slurm::token(lookup)).unwrap_or_default())
        }
    }
}

pub(super) fn number(variable: &'static str, text: &str) -> Result<u32, EnvironmentError> {
    let refused = |_| EnvironmentError::NotANumber { variable, value: text.to_owned() };
    text.trim().parse().map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Environment>, String> {
        Environment::from_lookup(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_no_job() {
        assert_eq!(read(&[("HOME", "/")]), Ok(None));
    }

    #[test]
    fn each_launcher_is_understood() {
        for (rank, size) in [
            ("VERBCAST_RANK", "VERBCAST_SIZE"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            ("PMIX_RANK", "PMIX_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
        ] {
            let found = read(&[(rank, "3"), (size, "8")]).unwrap().unwrap();
            assert_eq!((found.rank, found.size), (Rank(3), 8));
        }
    }

    #[test]
    fn the_command_line_of_the_user_goes_first() {
        let found = read(&[
            ("SLURM_PROCID", "5"),
            ("SLURM_NTASKS", "6"),
            ("VERBCAST_RANK", "1"),
            ("VERBCAST_SIZE", "2"),
            ("VERBCAST_RENDEZVOUS", "unix:/run/here"),
            ("VERBCAST_TOKEN", "abc"),
        ]);
        let found = found.unwrap().unwrap();
        assert_eq!((found.rank, found.size), (Rank(1), 2));
        assert_eq!(found.rendezvous, Some(Address::Unix("/run/here".into())));
        assert_eq!(found.token, "abc");
    }

    #[test]
    fn slurm_says_where_to_meet() {
        let found = read(&[
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "99"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_JOB_ID", "4711"),
            ("SLURM_STEP_ID", "2"),
            ("SLURM_STEP_NODELIST", "rack[07-09,12]n[3,4],login1"),
        ]);
        let found = found.unwrap().unwrap();
        assert_eq!(found.size, 4);
        let Some(Address::Tcp { host, port }) = found.rendezvous else { panic!("no address") };
        assert_eq!(host, "rack07n3");
        assert!((10000..32000).contains(&port));
        assert_eq!(found.token, "slurm 4711.2");
    }

    #[test]
    fn a_token_comes_from_one_place() {
        let job = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
        let token = |more: &[(&str, &str)]| {
            read(&[&job[..], more].concat()).map(|found| found.unwrap().token)
        };
        let slurm = ("SLURM_JOB_ID", "7");
        let shared = ("PMI_SHARED_SECRET", "8913246");
        assert_eq!(token(&[]).as_deref(), Ok(""));
        assert_eq!(token(&[slurm]).as_deref(), Ok("slurm 7."));
        assert_eq!(token(&[slurm, ("PMI_SHARED_SECRET", "")]).as_deref(), Ok("slurm 7."));
        assert_eq!(token(&[slurm, shared]).as_deref(), Ok("8913246"));
        assert_eq!(token(&[shared, ("VERBCAST_TOKEN", "own")]).as_deref(), Ok("own"));
        let none = ("VERBCAST_TOKEN_FILE", "/nonexistent/token");
        let error = token(&[none]).unwrap_err();
        assert!(error.starts_with("VERBCAST_TOKEN_FILE is /nonexistent/token: "), "{error}");
        assert!(token(&[none, ("VERBCAST_TOKEN", "own")]).unwrap_err().contains("both set"));
    }

    #[test]
    fn a_token_is_not_shown() {
        let environment = Environment { token: "hunter2".to_owned(), ..Environment::alone() };
        assert!(!format!("{environment:?}").contains("hunter2"));
    }

    #[test]
    fn a_bad_variable_is_named_with_its_value() {
        for (variables, expected) in [
            (&[("PMI_RANK", "x"), ("PMI_SIZE", "2")][..], "PMI_RANK is 'x', which is not a number"),
            (&[("VERBCAST_RANK", "1")], "VERBCAST_SIZE is not set, but VERBCAST_RANK is"),
            (&[("VERBCAST_SIZE", "1")], "VERBCAST_RANK is not set, but VERBCAST_SIZE is"),
            (
                &[("VERBCAST_RANK", "2"), ("VERBCAST_SIZE", "2")],
                "VERBCAST_RANK is 2, but VERBCAST_SIZE is 2: ranks count from 0",
            ),
            (
                &[("PMI_RANK", "0"), ("PMI_SIZE", "0")],
                "PMI_SIZE is 0, but a job has at least one rank",
            ),
        ] {
            assert_eq!(read(variables), Err(expected.to_owned()));
        }
        let error = read(&[
            ("VERBCAST_RANK", "0"),
            ("VERBCAST_SIZE", "2"),
            ("VERBCAST_RENDEZVOUS", "node1"),
        ]);
        let error = error.unwrap_err();
        assert!(error.starts_with("VERBCAST_RENDEZVOUS has no port in 'node1'"), "{error}");
    }
}
