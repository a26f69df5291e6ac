//! What the making of communicators asks of a job's ranks, counted: exchanges in which all wait for all, and their bytes.
//! The real library on a real device; `ci/ledger` runs it as every rank of a job.
//!
//! Rank 0 prints a line for each kind: its name, exchanges, bytes that each rank gives, bytes that it gets.

use std::error::Error;
use verbcast::bootstrap::{Asked, Counted};
use verbcast::broadcast::Further;
use verbcast::{Bootstrap, Broadcaster, Config, Endpoint, Environment, Rank, Star};

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::from_env()?;
    let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
    let mut star = Counted::new(Star::join(&environment, config.device.timeout)?);
    let endpoint = Endpoint::new(&config.device);
    let rank = star.rank();
    let tell = |what: &str, Asked { rounds, given, gathered }: Asked| {
        if rank == Rank(0) {
            println!("{what} {rounds} {given} {gathered}");
        }
    };
    star.take();
    let mut first = Broadcaster::new_on(&endpoint, &mut star, &config)?;
    tell("first-communicator", star.take());
    let second = Broadcaster::new_on(&endpoint, &mut star, &config)?;
    tell("further-communicator", star.take());
    let further = Further::complete(first.further(), &mut star)?;
    tell("persistent-request", star.take());
    star.barrier()?;
    for broadcaster in [further, second, first] {
        broadcaster.close()?;
    }
    Ok(())
}
