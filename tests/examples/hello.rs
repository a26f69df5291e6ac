//! Every rank gets a greeting that rank 0 has written.
//!
//! Ranks are started by Slurm, by `mpirun`, or by hand:
//!
//! ```text
//! cargo build --example hello
//! export VERBCAST_SIZE=3 VERBCAST_RENDEZVOUS=unix:/tmp/hello
//! for rank in 0 1 2; do VERBCAST_RANK=$rank target/debug/examples/hello & done; wait
//! ```

use std::error::Error;
use verbcast::{Broadcaster, Config, Environment, Rank, Star};

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::from_env()?;
    let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
    let mut bootstrap = Star::join(&environment, config.device.timeout)?;
    let mut broadcaster = Broadcaster::new(&mut bootstrap, &config)?;

    let root = Rank(0);
    let mut greeting = *b"?????";
    if broadcaster.rank() == root {
        greeting = *b"hello";
    }
    broadcaster.broadcast_into(root, &mut greeting)?;

    println!("{} of {}: {}", broadcaster.rank(), broadcaster.size(), greeting.escape_ascii());
    broadcaster.close()?;
    Ok(())
}
