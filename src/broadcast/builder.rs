//! Makes a configuration step by step.

use super::{Config, ConfigError};
use crate::rdma::{Multicast, Settings, Waiting};
use std::time::Duration;
use verbcast_core::protocol::choice::{Algorithm, Table};
use verbcast_core::protocol::options::Options;
use verbcast_core::topology::SwitchPath;
use verbcast_core::transport::Faults;

/// Makes a [`Config`] step by step, and checks it in the end.
///
/// ```
/// use std::time::Duration;
/// use verbcast::{Algorithm, Config, Waiting};
///
/// # fn main() -> Result<(), verbcast::ConfigError> {
/// let config = Config::builder()
///     .devices(["mlx5_0"])
///     .timeout(Duration::from_secs(10))
///     .waiting(Waiting::Spin)
///     .algorithm(Algorithm::Window)
///     .build()?;
/// # assert_eq!(config.device.devices, ["mlx5_0"]);
/// # Ok(())
/// # }
/// ```
///
/// It begins with the defaults, or with another configuration: `ConfigBuilder::from(Config::from_env()?)`.
#[derive(Clone, Debug, Default)]
#[must_use = "call `build` to obtain the configuration"]
pub struct ConfigBuilder {
    config: Config,
}

impl ConfigBuilder {
    /// Devices to use, by name: local rank r takes the (r mod n)-th.
    pub fn devices<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config.device.devices = names.into_iter().map(Into::into).collect();
        self
    }

    /// How long each collective step of the set-up may take.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.config.device.timeout = timeout;
        self
    }

    /// How a rank waits for its device.
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.config.device.waiting = waiting;
        self
    }

    /// Whether to use multicast.
    pub fn multicast(mut self, multicast: Multicast) -> Self {
        self.config.device.multicast = multicast;
        self
    }

    /// Bytes from which on a message is sent and received without a copy; none: never.
    pub fn zero_copy(mut self, from: Option<usize>) -> Self {
        self.config.device.zero_copy = from;
        self
    }

    /// One algorithm for all broadcasts.
    pub fn algorithm(self, algorithm: Algorithm) -> Self {
        self.table(Table::uniform(algorithm))
    }

    /// Which algorithm a broadcast takes, by its length and the number of ranks.
    pub fn table(mut self, table: Table) -> Self {
        self.config.protocol.table = table;
        self
    }

    /// Whether payloads have CRCs that their receivers check, besides what links check.
    pub fn payload_crc(mut self, is_covered: bool) -> Self {
        self.config.device.payload_crc = is_covered;
        self
    }

    /// Whether fragments may [fill their datagrams](Settings::whole_datagrams).
    pub fn whole_datagrams(mut self, they_may: bool) -> Self {
        self.config.device.whole_datagrams = they_may;
        self
    }

    /// Whether packets have [authentication codes](Settings::mac). The same at every rank.
    pub fn mac(mut self, is_used: bool) -> Self {
        self.config.device.mac = is_used;
        self
    }

    /// The [switches above this host](Config::switches).
    pub fn switches(mut self, switches: SwitchPath) -> Self {
        self.config.switches = switches;
        self
    }

    /// Faults on purpose, for tests.
    pub fn faults(mut self, faults: Faults) -> Self {
        self.config.faults = Some(faults);
        self
    }

    /// Changes any of the transport's settings.
    pub fn device(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.config.device);
        self
    }

    /// Changes any of the protocols' parameters.
    pub fn protocol(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.config.protocol);
        self
    }

    /// The configuration.
    ///
    /// # Errors
    /// If settings contradict each other.
    pub fn build(self) -> Result<Config, ConfigError> {
        self.config.validate()?;
        Ok(self.config)
    }
}

impl From<Config> for ConfigBuilder {
    fn from(config: Config) -> Self {
        ConfigBuilder { config }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdma::SettingsError;
    use verbcast_core::rank::OpId;

    #[test]
    fn what_is_built_is_what_was_said() {
        let begun = Config { first_op: OpId(9), ..Config::default() };
        let config = ConfigBuilder::from(begun)
            .multicast(Multicast::Off)
            .zero_copy(None)
            .device(|settings| settings.groups = 3)
            .protocol(|options| options.in_flight = 7)
            .build()
            .unwrap();
        let mut expected = Config { first_op: OpId(9), ..Config::default() };
        expected.device.multicast = Multicast::Off;
        expected.device.zero_copy = None;
        expected.device.groups = 3;
        expected.protocol.in_flight = 7;
        assert_eq!(config, expected);
    }

    #[test]
    fn what_cannot_work_is_not_built() {
        let refused = Config::builder().timeout(Duration::ZERO).build();
        assert!(matches!(refused, Err(ConfigError::Settings(SettingsError::Timeout))));
    }
}
