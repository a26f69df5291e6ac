//! How broadcasts are done, from code or from `VERBCAST_*` variables.

use crate::protocol::two_stage;
use crate::rdma::{Family, Multicast, Settings, Waiting};
use crate::transport::Faults;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How the root is kept from multicasting before anybody listens (Hoefler 2007, section 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronisation {
    /// It is not.
    #[default]
    None,
    /// The root waits this long.
    Delay(Duration),
    /// The root waits for one other rank, drawn anew for each broadcast.
    RandomRank,
}

impl Synchronisation {
    pub(super) fn with_seed(self, seed: u64) -> two_stage::Synchronisation {
        match self {
            Synchronisation::None => two_stage::Synchronisation::None,
            Synchronisation::Delay(delay) => two_stage::Synchronisation::Delay(delay),
            Synchronisation::RandomRank => two_stage::Synchronisation::RandomRank { seed },
        }
    }
}

/// How broadcasts are done.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The transport's settings.
    pub settings: Settings,
    /// How the root is kept from running ahead. The same at every rank.
    pub synchronisation: Synchronisation,
    /// Most fragments that the root multicasts ahead of its successor's acknowledgements; none:
    /// half of [`Settings::receive_depth`]. The same at every rank.
    pub run_ahead: Option<u32>,
    /// Most broadcasts in flight at a rank. The same at every rank.
    pub in_flight: u32,
    /// Whether the CRC covers payloads, and not only headers.
    pub payload_crc: bool,
    /// Faults on purpose, at the edge of this rank's transport.
    pub faults: Option<Faults>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            settings: Settings::default(),
            synchronisation: Synchronisation::default(),
            run_ahead: None,
            in_flight: 64,
            payload_crc: true,
            faults: None,
        }
    }
}

/// A setting that cannot be read or makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// The defaults, with what the environment's `VERBCAST_*` variables say. README has their list.
    ///
    /// # Errors
    /// If a variable cannot be read; the error names it and its value.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(|name| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned()))
    }

    /// As [`from_env`](Self::from_env), from any source of variables.
    ///
    /// # Errors
    /// If a variable cannot be read; the error names it and its value.
    pub fn from_lookup(
        lookup: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut config = Config::default();
        let settings = &mut config.settings;
        let read = Reader { lookup: &lookup };
        read.with("VERBCAST_DEVICE", "names of devices, with commas", |text| {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            settings.devices = names.map(str::to_owned).collect();
            Some(())
        })?;
        read.optional("VERBCAST_PORT", "a port number", &mut settings.port)?;
        read.optional("VERBCAST_GID_INDEX", "an index", &mut settings.gid_index)?;
        let depth = "a number of packets";
        read.number("VERBCAST_RECEIVE_DEPTH", depth, &mut settings.receive_depth)?;
        read.number("VERBCAST_SEND_DEPTH", depth, &mut settings.send_depth)?;
        let reliable = &mut settings.reliable_receive_depth;
        read.number("VERBCAST_RELIABLE_RECEIVE_DEPTH", depth, reliable)?;
        read.number("VERBCAST_RELIABLE_SEND_DEPTH", depth, &mut settings.reliable_send_depth)?;
        read.number("VERBCAST_RING_DEPTH", depth, &mut settings.ring_depth)?;
        read.number("VERBCAST_FETCH_DEPTH", depth, &mut settings.fetch_depth)?;
        read.seconds("VERBCAST_TIMEOUT", &mut settings.timeout)?;
        read.seconds("VERBCAST_ACK_TIMEOUT", &mut settings.ack_timeout)?;
        let waiting = [
            ("spin", Waiting::Spin),
            ("yield", Waiting::Yield),
            ("block", Waiting::Block),
            ("adaptive", Waiting::Adaptive),
        ];
        read.choice("VERBCAST_WAIT", &waiting, &mut settings.waiting)?;
        let multicast = [
            ("require", Multicast::Require),
            ("prefer", Multicast::Prefer),
            ("off", Multicast::Off),
        ];
        read.choice("VERBCAST_MULTICAST", &multicast, &mut settings.multicast)?;
        let family = [("auto", Family::Auto), ("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)];
        read.choice("VERBCAST_GROUP_FAMILY", &family, &mut settings.group_family)?;
        read.with("VERBCAST_SYNC", "none, random or delay:MICROSECONDS", |text| {
            config.synchronisation = match text.split_once(':') {
                None if text == "none" => Synchronisation::None,
                None if text == "random" => Synchronisation::RandomRank,
                Some(("delay", micros)) => {
                    Synchronisation::Delay(Duration::from_micros(micros.parse().ok()?))
                }
                _ => return None,
            };
            Some(())
        })?;
        read.optional("VERBCAST_RUN_AHEAD", "a number of fragments", &mut config.run_ahead)?;
        read.number("VERBCAST_IN_FLIGHT", "a number of broadcasts", &mut config.in_flight)?;
        let switch = [("on", true), ("off", false)];
        read.choice("VERBCAST_PAYLOAD_CRC", &switch, &mut config.payload_crc)?;
        if let Some(text) = lookup("VERBCAST_FAULT") {
            let faults = text
                .parse()
                .map_err(|error| ConfigError(format!("VERBCAST_FAULT={text}: {error}")))?;
            config.faults = Some(faults);
        }
        config.validate()?;
        Ok(config)
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.settings.validate().map_err(|error| ConfigError(error.to_string()))?;
        let depth = self.settings.receive_depth;
        let run_ahead = self.run_ahead();
        if !(1..=depth).contains(&run_ahead) {
            let what = format!(
                "a run-ahead of {run_ahead} fragments is not between 1 and the receive depth of \
                 {depth}: more would be sent than can be received"
            );
            return Err(ConfigError(what));
        }
        if !(1..=1 << 20).contains(&self.in_flight) {
            let what =
                format!("{} broadcasts in flight are not between 1 and 1048576", self.in_flight);
            return Err(ConfigError(what));
        }
        Ok(())
    }

    /// Most fragments that the root multicasts ahead of its successor's acknowledgements.
    pub fn run_ahead(&self) -> u32 {
        self.run_ahead.unwrap_or(self.settings.receive_depth / 2)
    }

    /// The settings that must be the same at every rank, in words.
    pub(super) fn common(&self) -> String {
        format!(
            "multicast {:?}, root synchronisation {:?}, run-ahead {}, {} in flight, \
             ring depth {}",
            self.settings.multicast,
            self.synchronisation,
            self.run_ahead(),
            self.in_flight,
            self.settings.ring_depth
        )
    }
}

/// Reads variables, and says which one is wrong.
struct Reader<'a> {
    lookup: &'a dyn Fn(&'static str) -> Option<String>,
}

impl Reader<'_> {
    fn with(
        &self,
        name: &'static str,
        expected: &str,
        take: impl FnOnce(&str) -> Option<()>,
    ) -> Result<(), ConfigError> {
        let Some(text) = (self.lookup)(name) else { return Ok(()) };
        take(&text).ok_or_else(|| ConfigError(format!("{name}={text}: expected {expected}")))
    }

    fn number<T: FromStr>(
        &self,
        name: &'static str,
        expected: &str,
        to: &mut T,
    ) -> Result<(), ConfigError> {
        self.with(name, expected, |text| text.parse().ok().map(|number| *to = number))
    }

    fn optional<T: FromStr>(
        &self,
        name: &'static str,
        expected: &str,
        to: &mut Option<T>,
    ) -> Result<(), ConfigError> {
        self.with(name, expected, |text| text.parse().ok().map(|number| *to = Some(number)))
    }

    fn seconds(&self, name: &'static str, to: &mut Duration) -> Result<(), ConfigError> {
        self.with(name, "a time in seconds", |text| {
            let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0)?;
            Duration::try_from_secs_f64(seconds).ok().map(|duration| *to = duration)
        })
    }

    fn choice<T: Copy>(
        &self,
        name: &'static str,
        choices: &[(&str, T)],
        to: &mut T,
    ) -> Result<(), ConfigError> {
        let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        self.with(name, &format!("one of {}", names.join(", ")), |text| {
            let (_, value) = choices.iter().find(|(name, _)| *name == text)?;
            *to = *value;
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&'static str, &str)]) -> Result<Config, ConfigError> {
        Config::from_lookup(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_are_read() {
        let config = read(&[
            ("VERBCAST_DEVICE", "rxe0, rxe1"),
            ("VERBCAST_TIMEOUT", "2.5"),
            ("VERBCAST_WAIT", "block"),
            ("VERBCAST_MULTICAST", "off"),
            ("VERBCAST_SYNC", "delay:50"),
            ("VERBCAST_PAYLOAD_CRC", "off"),
            ("VERBCAST_FAULT", "loss=0.5"),
            ("VERBCAST_RING_DEPTH", "64"),
            ("VERBCAST_FETCH_DEPTH", "3"),
        ])
        .unwrap();
        assert_eq!(config.settings.devices, ["rxe0", "rxe1"]);
        assert_eq!((config.settings.ring_depth, config.settings.fetch_depth), (64, 3));
        assert_eq!(config.settings.timeout, Duration::from_millis(2500));
        assert_eq!(config.settings.waiting, Waiting::Block);
        assert_eq!(config.settings.multicast, Multicast::Off);
        assert_eq!(config.synchronisation, Synchronisation::Delay(Duration::from_micros(50)));
        assert!(!config.payload_crc && config.faults.is_some());
        assert_eq!(read(&[]).unwrap(), Config::default());
    }

    #[test]
    fn a_bad_variable_is_named_with_its_value() {
        for (name, value) in [
            ("VERBCAST_PORT", "x"),
            ("VERBCAST_TIMEOUT", "-1"),
            ("VERBCAST_TIMEOUT", "inf"),
            ("VERBCAST_WAIT", "sleep"),
            ("VERBCAST_SYNC", "delay:"),
            ("VERBCAST_FAULT", "loss=7"),
            ("VERBCAST_IN_FLIGHT", "many"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}={value}")), "{error}");
        }
    }

    #[test]
    fn settings_that_contradict_are_refused() {
        let error = read(&[("VERBCAST_RUN_AHEAD", "65")]).unwrap_err().to_string();
        assert!(error.contains("run-ahead of 65"), "{error}");
    }
}
