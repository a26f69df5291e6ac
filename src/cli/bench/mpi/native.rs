//! MPI's own broadcast.

use crate::bench::contender::Contender;
use crate::launch::decide::blame;
use std::ops::DerefMut;
use verbcast::mpi::{MpiError, OwnBroadcast};
use verbcast_core::driver::Statistics;
use verbcast_core::rank::Rank;

pub struct Native<'a> {
    own: OwnBroadcast<'a>,
    me: Rank,
}

impl<'a> Native<'a> {
    pub fn new(own: OwnBroadcast<'a>) -> Native<'a> {
        Native { me: own.rank(), own }
    }

    fn outcome(&self, outcome: Result<(), MpiError>) -> Result<(), String> {
        outcome.map_err(|error| blame(self.me, error))
    }
}

impl Contender for Native<'_> {
    fn buffer(&mut self, len: usize) -> Box<dyn DerefMut<Target = [u8]>> {
        Box::new(vec![0; len])
    }

    fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, String> {
        let outcome = self.own.broadcast(root, message);
        self.outcome(outcome).map(|()| true)
    }

    fn progress(&mut self) -> Result<(), String> {
        self.own.progress();
        Ok(())
    }

    fn settle(&mut self) -> Result<(), String> {
        let outcome = self.own.barrier();
        self.outcome(outcome)
    }

    fn counters(&self) -> Statistics {
        Statistics::default()
    }

    // MPI has no way to leave a broadcast; its launcher ends the others when this process ends.
    fn abort(&mut self, _reason: &str) {}

    fn close(self: Box<Self>) -> Result<(), String> {
        self.own.close();
        Ok(())
    }
}
