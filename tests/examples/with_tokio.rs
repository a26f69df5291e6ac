//! Waits for a broadcast in tokio's event loop, beside whatever else goes on there.
//!
//! ```text
//! cargo build --example with_tokio
//! export VERBCAST_SIZE=3 VERBCAST_RENDEZVOUS=unix:/tmp/with_tokio
//! for rank in 0 1 2; do VERBCAST_RANK=$rank target/debug/examples/with_tokio & done; wait
//! ```

use std::error::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{Interest, unix::AsyncFd};
use tokio::time::{sleep, timeout};
use verbcast::{Broadcaster, Config, Environment, Pending, Rank, Star};

/// A broadcaster, and its descriptor as tokio knows it.
struct Receiver {
    broadcaster: Broadcaster,
    descriptor: AsyncFd<OwnedFd>,
}

impl Receiver {
    fn new(broadcaster: Broadcaster) -> Result<Self, Box<dyn Error>> {
        let descriptor = broadcaster.as_fd().try_clone_to_owned()?;
        #[allow(
            deprecated,
            reason = "what it asks for since is so: an `OwnedFd` stays the same descriptor"
        )]
        let descriptor = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
        Ok(Receiver { broadcaster, descriptor })
    }

    async fn wait(&mut self, mut pending: Pending) -> Result<Vec<u8>, Box<dyn Error>> {
        loop {
            if let Poll::Ready(message) = self.broadcaster.try_wait(&mut pending) {
                return Ok(message?);
            }
            let at_most = self.broadcaster.arm()?;
            if let Ok(readable) = timeout(at_most, self.descriptor.readable()).await {
                readable?.clear_ready();
            }
        }
    }
}

async fn tick() -> Result<Vec<u8>, Box<dyn Error>> {
    loop {
        sleep(Duration::from_millis(10)).await;
        println!("still waiting");
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let config = Config::from_env()?;
    let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
    let mut bootstrap = Star::join(&environment, config.device.timeout)?;
    let mut receiver = Receiver::new(Broadcaster::new(&mut bootstrap, &config)?)?;

    let (root, mut message) = (Rank(0), vec![0; 11]);
    if receiver.broadcaster.rank() == root {
        // The others have time to wait.
        sleep(Duration::from_millis(100)).await;
        message.copy_from_slice(b"from rank 0");
    }
    let pending = receiver.broadcaster.start(root, message)?;
    let message = tokio::select! {
        message = receiver.wait(pending) => message?,
        message = tick() => message?,
    };
    println!("{}: {}", receiver.broadcaster.rank(), message.escape_ascii());
    receiver.broadcaster.close()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())
}
