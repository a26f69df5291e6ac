//! The library's own broadcasts.

use super::{AUTO, Contender};
use std::ops::DerefMut;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Config, Endpoint, Error};
use verbcast::rdma::Multicast;
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::choice::Algorithm;
use verbcast_core::rank::Rank;

pub struct Reliable(Broadcaster);

impl Reliable {
    /// The algorithm `name`, which `config` has already.
    pub fn open(
        name: &str,
        bootstrap: &mut dyn Bootstrap,
        endpoint: &Endpoint,
        config: &Config,
    ) -> Result<Reliable, String> {
        let mut config = config.clone();
        if name != AUTO {
            // What is measured under a name is nothing else.
            let is_unicast = name.parse().is_ok_and(Algorithm::is_unicast);
            config.device.multicast = if is_unicast { Multicast::Off } else { Multicast::Require };
        }
        let made = Broadcaster::new_on(endpoint, bootstrap, &config);
        made.map(Reliable).map_err(|error| format!("{name}: {error}"))
    }
}

fn say(error: Error) -> String {
    error.to_string()
}

impl Contender for Reliable {
    fn buffer(&mut self, len: usize) -> Box<dyn DerefMut<Target = [u8]>> {
        Box::new(self.0.buffer(len))
    }

    fn broadcast(&mut self, root: Rank, message: &mut [u8]) -> Result<bool, String> {
        self.0.broadcast_into(root, message).map(|()| true).map_err(say)
    }

    fn progress(&mut self) -> Result<(), String> {
        self.0.progress().map_err(say)
    }

    fn settle(&mut self) -> Result<(), String> {
        self.0.flush().map_err(say)
    }

    fn counters(&self) -> Statistics {
        self.0.statistics()
    }

    fn abort(&mut self, reason: &str) {
        self.0.abort(reason);
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.0.close().map_err(say)
    }
}
