//! How broadcasts are done, from code or from `VERBCAST_*` variables.

use super::ConfigBuilder;
use super::topology::{TopologyFileError, switches_above};
use super::variables::{CHOICE, FAULT, FIELDS, TOPOLOGY, of_option, of_parameter, of_setting};
use crate::rdma::{Settings, SettingsError};
use std::fmt::Write;
use verbcast_core::cause::Cause;
use verbcast_core::protocol::Depths;
use verbcast_core::protocol::choice::{Table, TableError};
use verbcast_core::protocol::options::{Options, OptionsError, Parameter};
use verbcast_core::rank::OpId;
use verbcast_core::topology::SwitchPath;
use verbcast_core::transport::{FaultError, Faults};

/// The variable that names one algorithm for all broadcasts.
const ALGORITHM: &str = "VERBCAST_ALGORITHM";

/// How broadcasts are done: made by a [builder](Self::builder), from the [environment](Self::from_env), or by setting
/// fields of the default.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How the device and its queues are used.
    pub device: Settings,
    /// Which protocol a broadcast takes, and the protocols' parameters. The same at every rank.
    pub protocol: Options,
    /// The id of the first broadcast, which wraps after the highest. The same at every rank.
    pub first_op: OpId,
    /// The switches above this host, from the top down; none where they are not known. Ranks tell them to one another, so
    /// that each may know those of its own host alone.
    pub switches: SwitchPath,
    /// Faults on purpose, at the edge of this rank's transport.
    pub faults: Option<Faults>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            device: Settings::default(),
            protocol: Options::default(),
            first_op: OpId(0),
            switches: SwitchPath::default(),
            faults: None,
        }
    }
}

/// A setting that cannot be read or makes no sense.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A variable with a value that it does not take.
    #[error("{name}={value}: expected {takes}")]
    Variable {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
        /// What it takes, in words.
        takes: &'static str,
    },
    /// A variable that there is not.
    #[error("there is no variable {name}: Config::variables lists them")]
    Unknown {
        /// The name.
        name: String,
    },
    /// `VERBCAST_FAULT` cannot be read.
    #[error("{FAULT}={value}: {source}")]
    Fault {
        /// The variable's value.
        value: String,
        /// What is wrong with it.
        source: FaultError,
    },
    /// The file that `VERBCAST_CHOICE` names cannot be opened or read.
    #[error("{CHOICE}={path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system says.
        source: Cause,
    },
    /// The file that `VERBCAST_CHOICE` names is not a table of protocols.
    #[error("{CHOICE}={path}: {source}")]
    Table {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: TableError,
    },
    /// The file that `VERBCAST_TOPOLOGY` names cannot be read, or does not tell of switches.
    #[error("{TOPOLOGY}={path}: {source}")]
    Topology {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: TopologyFileError,
    },
    /// The transport does not work with its settings.
    #[error("{variable}: {0}", variable = of_setting(.0))]
    Settings(#[from] SettingsError),
    /// The protocols do not work with their parameters.
    #[error("{variable}: {0}", variable = of_option(.0))]
    Options(#[from] OptionsError),
}

impl Config {
    /// Begins a configuration with the defaults.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// The defaults, with what the environment's `VERBCAST_*` variables say; [`variables`](Self::variables)
    /// lists them.
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
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut config = Config::default();
        let fields = FIELDS.iter().map(|field| field.name.to_owned());
        let parameters = Options::PARAMETERS.iter().map(|parameter| of_parameter(parameter.name));
        for name in fields.chain(parameters).chain([FAULT, TOPOLOGY].map(str::to_owned)) {
            if let Some(text) = lookup(&name) {
                config.set(&name, &text)?;
            }
        }
        if let Some(path) = lookup(CHOICE) {
            let table = read_table(&path)?;
            // One algorithm for all broadcasts goes before a table.
            if lookup(ALGORITHM).is_none_or(|name| name == "auto") {
                config.protocol.table = table;
            }
        }
        config.validate()?;
        Ok(config)
    }

    /// Sets what one of the [variables](Self::variables) stands for. Whether the settings go together,
    /// [`validate`](Self::validate) says.
    ///
    /// # Errors
    /// If there is no such variable, or it does not take this value. The error names the variable and the value.
    pub fn set(&mut self, variable: &str, value: &str) -> Result<(), ConfigError> {
        if let Some(field) = FIELDS.iter().find(|field| field.name == variable) {
            return (field.set)(self, value).ok_or_else(|| refused(variable, value, field.takes));
        }
        let is_named = |parameter: &&Parameter| of_parameter(parameter.name) == variable;
        if let Some(parameter) = Options::PARAMETERS.iter().find(is_named) {
            let refused = |_| refused(variable, value, parameter.takes);
            return self.protocol.set(parameter.name, value).map_err(refused);
        }
        match variable {
            FAULT => {
                let bad = |source| ConfigError::Fault { value: value.to_owned(), source };
                self.faults = Some(value.parse().map_err(bad)?);
            }
            CHOICE => self.protocol.table = read_table(value)?,
            TOPOLOGY => self.switches = switches_above(value)?,
            _ => return Err(ConfigError::Unknown { name: variable.to_owned() }),
        }
        Ok(())
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// If they contradict each other.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.device.validate()?;
        self.protocol.validate(&self.device.depths)?;
        Ok(())
    }

    /// The settings that must be the same at every rank, each with its value in a line.
    pub(super) fn common(&self) -> String {
        let Settings { multicast, depths, rails, .. } = self.device;
        let Depths { receive, reliable_receive, ring, .. } = depths;
        let mut text = self.protocol.describe(&depths);
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "multicast: {multicast:?}\nring depth: {ring}\nreceive depth: {receive}\n\
             depth of reliable receives: {reliable_receive}\nrails: {rails}\nfirst id: {}\n",
            self.first_op.0
        );
        text
    }
}

/// The table of protocols in a file.
fn read_table(path: &str) -> Result<Table, ConfigError> {
    let file = |error| ConfigError::File { path: path.to_owned(), source: Cause::new(error) };
    let text = std::fs::read_to_string(path).map_err(file)?;
    text.parse().map_err(|source| ConfigError::Table { path: path.to_owned(), source })
}

fn refused(name: &str, value: &str, takes: &'static str) -> ConfigError {
    ConfigError::Variable { name: name.to_owned(), value: value.to_owned(), takes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast::variables::Field;
    use crate::rdma::{Multicast, Waiting};
    use std::collections::BTreeSet;
    use std::error::Error;
    use std::io;
    use std::time::Duration;
    use verbcast_core::protocol::choice::Algorithm;
    use verbcast_core::protocol::options::{CoRoots, Synchronisation};
    use verbcast_core::protocol::window::Acknowledge;

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
            ("VERBCAST_ALGORITHM", "window"),
            ("VERBCAST_CO_ROOTS", "4"),
            ("VERBCAST_PAYLOAD_CRC", "on"),
            ("VERBCAST_WHOLE_DATAGRAMS", "off"),
            ("VERBCAST_FAULT", "loss=0.5"),
            ("VERBCAST_RING_DEPTH", "64"),
            ("VERBCAST_FETCH_DEPTH", "3"),
            ("VERBCAST_GROUPS", "5"),
            ("VERBCAST_ZERO_COPY", "off"),
            ("VERBCAST_REGISTRATION_CACHE", "1000000"),
        ])
        .unwrap();
        assert_eq!(config.device.devices, ["rxe0", "rxe1"]);
        assert_eq!((config.device.depths.ring, config.device.depths.fetch), (64, 3));
        assert_eq!((config.device.groups, config.device.zero_copy), (5, None));
        assert_eq!(config.device.registration_cache, 1_000_000);
        assert_eq!(config.device.timeout, Duration::from_millis(2500));
        assert_eq!(config.device.waiting, Waiting::Block);
        assert_eq!(config.device.multicast, Multicast::Off);
        let delay = Synchronisation::Delay(Duration::from_micros(50));
        assert_eq!(config.protocol.synchronisation, delay);
        assert_eq!(config.protocol.table, Table::uniform(Algorithm::Window));
        assert_eq!(config.protocol.co_roots, CoRoots::Groups(4));
        assert!(config.device.payload_crc && config.faults.is_some());
        assert!(!config.device.whole_datagrams);
        assert_eq!(read(&[]).unwrap(), Config::default());
    }

    #[test]
    fn a_table_is_loaded_from_its_file_and_a_bad_one_is_named_with_its_line() {
        let path = std::env::temp_dir().join(format!("verbcast-choice-{}", std::process::id()));
        let text = path.to_str().unwrap();
        std::fs::write(&path, "ranks any bytes <= 2KiB window\nranks any bytes any chain\n")
            .unwrap();
        let with = |pairs: &[(&'static str, &str)]| {
            let choice = [("VERBCAST_CHOICE", text)];
            read(&[&choice, pairs].concat()).unwrap().protocol.table
        };
        let table = with(&[]);
        assert_eq!(with(&[("VERBCAST_ALGORITHM", "auto")]), table);
        let one = with(&[("VERBCAST_ALGORITHM", "binomial")]);
        assert_eq!(one, Table::uniform(Algorithm::Binomial));
        std::fs::write(&path, "ranks any bytes any chain\nranks any bytes <= 5 window\n").unwrap();
        let error = read(&[("VERBCAST_CHOICE", text)]).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(table.choose(2048, 8), Algorithm::Window);
        assert_eq!(table.choose(2049, 8), Algorithm::Chain);
        assert!(error.contains(text) && error.contains("line 2"), "{error}");
    }

    #[test]
    fn switches_are_those_above_this_host() {
        let path = std::env::temp_dir().join(format!("verbcast-topology-{}", std::process::id()));
        let text = path.to_str().unwrap();
        let name = rustix::system::uname();
        let host = name.nodename().to_str().unwrap();
        let switches = |lines: &str| {
            std::fs::write(&path, lines).unwrap();
            read(&[("VERBCAST_TOPOLOGY", text)]).map(|config| config.switches)
        };
        let there = switches(&format!("SwitchName=a Nodes={host}\nSwitchName=b Switches=a\n"));
        let elsewhere = switches("SwitchName=a Nodes=another-host\n# caf\u{e9}\n");
        let bad = switches("SwitchName=a\nSwitchName=b Switches=[\n").unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(there.unwrap().names(), ["b", "a"]);
        assert_eq!(elsewhere.unwrap(), SwitchPath::default());
        let expected = format!("VERBCAST_TOPOLOGY={text}: line 2: a bracket in the list");
        assert!(bad.starts_with(&expected), "{bad}");
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
            ("VERBCAST_ZERO_COPY", "on"),
            ("VERBCAST_REGISTRATION_CACHE", "-1"),
            ("VERBCAST_ACKNOWLEDGE_AFTER", "soon"),
            ("VERBCAST_CHOICE", "/nowhere/table"),
            ("VERBCAST_TOPOLOGY", "/nowhere/topology.conf"),
            ("VERBCAST_TOPOLOGY", "/dev/zero"),
            ("VERBCAST_TOPOLOGY", "/dev/null"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}={value}")), "{error}");
        }
    }

    #[test]
    fn every_variable_can_be_set_alone() {
        for variable in Config::variables() {
            let Some(default) = variable.default else { continue };
            let mut config = Config::default();
            config.set(&variable.name, default).unwrap();
            assert_eq!(config, Config::default(), "{}", variable.name);
        }
        let mut config = Config::default();
        config.set("VERBCAST_RING_DEPTH", "128").unwrap();
        config.set("VERBCAST_ACKNOWLEDGE", "every:64").unwrap();
        assert_eq!(config.device.depths.ring, 128);
        assert_eq!(config.protocol.acknowledge, Acknowledge::Every(64));
        let error = config.set("VERBCAST_SPEED", "11").unwrap_err().to_string();
        assert!(error.contains("no variable VERBCAST_SPEED"), "{error}");
    }

    #[test]
    fn an_error_has_its_cause() {
        let cause = |variable| {
            let error = read(&[variable]).unwrap_err();
            error.source().map(ToString::to_string)
        };
        let fault = cause(("VERBCAST_FAULT", "loss"));
        assert_eq!(fault, "loss".parse::<Faults>().err().map(|error| error.to_string()));
        let missing = read(&[("VERBCAST_CHOICE", "/nowhere/table")]).unwrap_err();
        let system = missing.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(system.map(io::Error::kind), Some(io::ErrorKind::NotFound));
        assert_eq!(cause(("VERBCAST_PORT", "x")), None);
    }

    #[test]
    fn the_book_says_which_of_the_devices_settings_are_compared() {
        let book = include_str!("../../docs/src/settings.md");
        let line = book.lines().find_map(|line| line.strip_prefix("The same at every rank: "));
        let said = line.unwrap().trim_end_matches('.').split(", ");
        let said: BTreeSet<&str> = said.map(|name| name.trim_matches('`')).collect();
        let differs = |field: &&Field| {
            let mut config = Config::default();
            let others = ["7", "16", "off", "on", "ipv4", "flat", "block", "0x8001"];
            // The first that it takes and that is not the default.
            let is_set = others.iter().any(|text| {
                (field.set)(&mut config, text).is_some() && config != Config::default()
            });
            assert!(is_set, "{}", field.name);
            config.common() != Config::default().common()
        };
        let mut compared: BTreeSet<&str> =
            FIELDS.iter().filter(differs).map(|field| field.name).collect();
        // Told with the keys, as each rank makes one of its own.
        compared.insert("VERBCAST_MAC");
        assert_eq!(said, compared);
    }

    #[test]
    fn settings_that_contradict_are_refused() {
        let contradiction = [("VERBCAST_RUN_AHEAD", "65"), ("VERBCAST_RECEIVE_DEPTH", "64")];
        let error = read(&contradiction).unwrap_err().to_string();
        assert!(error.contains("run-ahead of 65"), "{error}");
    }
}
