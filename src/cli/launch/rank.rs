//! This process as one rank, which reports to the launcher or to the user.

use super::Job;
use super::child::lifeline_path;
use super::cleanup::Cleanup;
use super::word::Word;
use crate::failure::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::os::unix::net::UnixStream;
use verbcast::bootstrap::{Address, Environment};
use verbcast_core::rank::Rank;

pub fn run<T: Serialize + DeserializeOwned>(
    job: &Job<'_>,
    work: impl FnOnce(&Environment, &Cleanup) -> Result<Option<T>, String>,
) -> Result<Option<T>, Failure> {
    let environment = environment(job.finds_rendezvous)?;
    let is_launched = super::is_child();
    let cleanup = Cleanup::default();
    cleanup.on_signals().map_err(|error| Failure::new(format!("cannot watch signals: {error}")))?;
    if is_launched {
        let socket = match &environment.rendezvous {
            Some(Address::Unix(path)) => Some(path.clone()),
            _ => None,
        };
        match &socket {
            Some(path) if job.reads_stdin && environment.rank == Rank(0) => {
                let lifeline = UnixStream::connect(lifeline_path(path)).map_err(|error| {
                    Failure::new(format!("cannot reach who has started this: {error}"))
                })?;
                cleanup.on_end_of_launcher(lifeline, socket);
            }
            _ => cleanup.on_end_of_launcher(io::stdin(), socket),
        }
    }
    let outcome = work(&environment, &cleanup);
    if !is_launched {
        return outcome.map_err(|message| Failure {
            messages: message.lines().map(str::to_owned).collect(),
            status: 1,
        });
    }
    let (word, ending) = match outcome {
        Ok(outcome) => (Word::Done(outcome), Ok(None)),
        Err(message) => (Word::Failed(message), Err(Failure { messages: Vec::new(), status: 1 })),
    };
    word.send()?;
    ending
}

fn environment(finds_rendezvous: bool) -> Result<Environment, Failure> {
    let environment = Environment::from_env().map_err(Failure::usage)?;
    let environment = environment.ok_or_else(|| {
        Failure::usage(
            "how many ranks? Say --ranks N to start them on this host; or start this command as the \
             ranks of a job, with srun, mpirun or VERBCAST_RANK",
        )
    })?;
    if environment.size > 1 && environment.rendezvous.is_none() && !finds_rendezvous {
        return Err(Failure::usage(
            "VERBCAST_RENDEZVOUS is not set; it says where rank 0 waits for the others, as HOST:PORT \
             with a host that all can reach",
        ));
    }
    Ok(environment)
}
