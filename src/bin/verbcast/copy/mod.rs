//! `verbcast copy`: one file from rank 0 to every other rank.

pub mod cleanup;
mod decide;
pub mod destination;
pub mod plan;
mod progress;
mod rank;
pub mod report;
mod source;
mod transfer;

use crate::cli::CopyArgs;
use crate::failure::Failure;
use crate::launch;
use cleanup::Cleanup;
use destination::Destination;
use report::Report;
use verbcast::bootstrap::{Address, Environment};
use verbcast::broadcast::Config;

pub fn run(args: &CopyArgs) -> Result<(), Failure> {
    let config = configure(args).map_err(Failure::usage)?;
    let destination: Destination = args.dst.parse().map_err(Failure::usage)?;
    if args.src.as_os_str() == "-" {
        let what = "SRC must be a regular file: its length is sent first, so that standard input \
                    ('-') cannot be copied";
        return Err(Failure::usage(what));
    }
    let is_launched = launch::is_child();
    match (args.ranks, is_launched) {
        (Some(ranks), false) => {
            if ranks > 2 && !destination.is_numbered() {
                return Err(Failure::usage(format!(
                    "ranks 1-{} on this host would all write {}; put {{rank}} into DST, as in \
                     '{}.{{rank}}'",
                    ranks - 1,
                    args.dst,
                    args.dst
                )));
            }
            launch::run(args, ranks, &destination, config.settings.timeout)
        }
        _ => {
            let environment = Environment::from_env().map_err(Failure::usage)?;
            let environment = environment.ok_or_else(|| {
                Failure::usage(
                    "how many ranks? Say --ranks N to start them on this host; or start this \
                     command as the ranks of a job, with srun, mpirun or VERBCAST_RANK",
                )
            })?;
            if environment.size > 1 && environment.rendezvous.is_none() {
                return Err(Failure::usage(
                    "VERBCAST_RENDEZVOUS is not set; it says where rank 0 waits for the others, \
                     as HOST:PORT with a host that all can reach",
                ));
            }
            run_rank(args, &config, &destination, &environment, is_launched)
        }
    }
}

fn configure(args: &CopyArgs) -> Result<Config, verbcast::broadcast::ConfigError> {
    let mut config = Config::from_env()?;
    if !args.device.is_empty() {
        config.settings.devices.clone_from(&args.device);
    }
    if let Some(timeout) = args.timeout {
        config.settings.timeout = timeout;
    }
    if args.fault.is_some() {
        config.faults = args.fault;
    }
    config.validate()?;
    Ok(config)
}

/// This process as one rank, which reports to the launcher or to the user.
fn run_rank(
    args: &CopyArgs,
    config: &Config,
    destination: &Destination,
    environment: &Environment,
    is_launched: bool,
) -> Result<(), Failure> {
    let cleanup = Cleanup::default();
    cleanup.on_signals().map_err(|error| Failure::new(format!("cannot watch signals: {error}")))?;
    if is_launched {
        let socket = match &environment.rendezvous {
            Some(Address::Unix(path)) => Some(path.clone()),
            _ => None,
        };
        cleanup.on_end_of_launcher(socket);
    }
    let outcome = rank::run(args, config, destination, environment, &cleanup);
    if is_launched {
        let (report, status) = match outcome {
            Ok(summary) => (Report::Done(summary.map(Box::new)), None),
            Err(message) => (Report::Failed(message), Some(1)),
        };
        report.send()?;
        return match status {
            Some(status) => Err(Failure { messages: Vec::new(), status }),
            None => Ok(()),
        };
    }
    match outcome {
        Ok(Some(summary)) => summary.print(args.json),
        Ok(None) => Ok(()),
        Err(message) => Err(Failure::new(message)),
    }
}
