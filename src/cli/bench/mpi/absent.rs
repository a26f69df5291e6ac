//! A build without MPI.

use super::check_feature;
use crate::bench::contender::Contender;
use crate::bench::plan::Plan;
use verbcast::bootstrap::{Bootstrap, Environment};

/// No MPI.
pub struct Mpi;

impl Mpi {
    pub fn start(_plan: &Plan, environment: &Environment) -> Result<(Mpi, Environment), String> {
        Ok((Mpi, environment.clone()))
    }

    pub fn open(&self, _bootstrap: &dyn Bootstrap) -> Result<Box<dyn Contender>, String> {
        Err(check_feature().err().unwrap_or_default())
    }

    pub fn version(&self) -> Option<String> {
        None
    }

    pub fn finish(self) {}
}
