//! One constructor for the driver of a rank, so that what is simulated is what runs on a device.

use super::{Driver, Identity};
use crate::protocol::options::{Options, OptionsError, SuiteParameters};
use crate::protocol::suite::Suite;
use crate::transport::Transport;
use crate::wire::{Key, MacKey};

/// Runtime parameters of a rank's driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Those of its protocols.
    pub suite: SuiteParameters,
    /// The communicator's key.
    pub key: Key,
    /// Whether payloads have CRCs.
    pub payload_crc: bool,
    /// The key of its packets' authentication codes, if they have any: then in place of all CRCs.
    pub mac: Option<MacKey>,
    /// Whether other communicators need the transport's receive buffers too: then each reliable message that comes before
    /// its operation is copied out of them.
    pub shares_buffers: bool,
}

impl Parameters {
    fn identity(&self) -> Identity {
        let SuiteParameters { rank, depths, .. } = self.suite;
        let size = self.suite.order.size();
        Identity {
            rank,
            size,
            key: self.key,
            payload_crc: self.payload_crc,
            mac: self.mac,
            most_held: depths.max_held() as usize,
            most_copied: (!self.shares_buffers).then(|| depths.max_copied(size) as usize),
        }
    }
}

impl<T: Transport> Driver<Suite, T> {
    /// The driver of a rank over its transport, with all protocols of `options`.
    ///
    /// # Errors
    /// If the options contradict each other or the parameters.
    pub fn assemble(
        options: &Options,
        parameters: &Parameters,
        transport: T,
    ) -> Result<Self, OptionsError> {
        let suite = options.suite(&parameters.suite)?;
        Ok(Driver::new(suite, transport, parameters.identity()))
    }

    /// As if broadcasts of so many fragments had gone by; for simulations, before the first is started:
    /// [`Suite::pass`].
    pub fn pass(&mut self, fragments: u64) {
        self.core.pass(fragments);
    }
}
