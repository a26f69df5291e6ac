//! The options of all commands that bring ranks together.

use crate::units;
use clap::Args;
use std::time::Duration;
use verbcast::broadcast::{Config, ConfigError};
use verbcast_core::transport::Faults;

#[derive(Args)]
pub struct TransportArgs {
    /// Start this many processes (ranks) on this host, 2 to 512. Without it, this process is one
    /// rank of a job, as VERBCAST_RANK, Open MPI, PMI or Slurm say in the environment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=512))]
    pub ranks: Option<u32>,
    /// Use these RDMA devices, separated by commas; local rank R uses the R-th of them, in turn, and with
    /// VERBCAST_RAILS=N the N from the (R x N)-th on [default: the best usable one]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub device: Vec<String>,
    /// Lose, duplicate, reorder or damage arriving packets on purpose, to see the repair at work, for
    /// example loss=0.05,dup=0.01,reorder=0.05,corrupt=0.01,seed=7 (shares from 0 to 1) [default: no faults]
    #[arg(long, value_name = "SPEC")]
    pub fault: Option<Faults>,
    /// Give up when a rank cannot be reached for this many seconds
    /// [default: VERBCAST_TIMEOUT, or 30]
    #[arg(long, value_name = "SECONDS", value_parser = units::parse_seconds)]
    pub timeout: Option<Duration>,
}

impl TransportArgs {
    /// The environment's settings, with what was said on the command line.
    pub fn configure(&self) -> Result<Config, ConfigError> {
        let mut config = Config::from_env()?;
        if !self.device.is_empty() {
            config.device.devices.clone_from(&self.device);
        }
        if let Some(timeout) = self.timeout {
            config.device.timeout = timeout;
        }
        if self.fault.is_some() {
            config.faults = self.fault;
        }
        config.validate()?;
        Ok(config)
    }
}
