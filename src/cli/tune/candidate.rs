//! What a line of the table can name.

use crate::bench::contender;
use std::fmt;
use std::str::FromStr;
use verbcast_core::protocol::choice::{Algorithm, TableError};

/// What a line of the table can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    Protocol(Algorithm),
    /// The broadcast of the MPI library.
    Mpi,
}

impl Candidate {
    /// All of them, in their order.
    pub fn all() -> impl Iterator<Item = Candidate> {
        let protocols = Algorithm::NAMES.into_iter();
        protocols.map(|(_, algorithm)| Candidate::Protocol(algorithm)).chain([Candidate::Mpi])
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Candidate::Protocol(algorithm) => algorithm.fmt(f),
            Candidate::Mpi => f.pad(contender::MPI),
        }
    }
}

impl FromStr for Candidate {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        match text {
            contender::MPI => Ok(Candidate::Mpi),
            _ => text.parse().map(Candidate::Protocol),
        }
    }
}
