//! The environment variables of a [`Config`]: what each takes, its default, and what it sets.

use super::Config;
use crate::rdma::{Family, Multicast, NodeSharing, SettingsError, Waiting};
use std::str::FromStr;
use std::time::Duration;
use verbcast_core::protocol::DepthsError;
use verbcast_core::protocol::options::{Options, OptionsError};

/// An environment variable that [`Config::from_env`] reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it takes, in words.
    pub takes: &'static str,
    /// The value that means the same as not to set it, for those who read of it; none if there is none. A test compares it
    /// with the default, which is set elsewhere.
    pub default: Option<&'static str>,
}

/// The variable that makes faults on purpose.
pub(super) const FAULT: &str = "VERBCAST_FAULT";
/// The variable that names the file with the table of protocols.
pub(super) const CHOICE: &str = "VERBCAST_CHOICE";
/// The variable that names the file with the network's switches.
pub(super) const TOPOLOGY: &str = "VERBCAST_TOPOLOGY";

/// A variable that stands for a field.
pub(super) struct Field {
    pub name: &'static str,
    pub takes: &'static str,
    default: Option<&'static str>,
    /// Reads the value; none if it cannot be read.
    pub set: fn(&mut Config, &str) -> Option<()>,
}

/// All variables of fields, but those of the protocols' parameters.
pub(super) const FIELDS: [Field; 26] = [
    Field {
        name: "VERBCAST_DEVICE",
        takes: "device names, separated by commas",
        default: None,
        set: |config, text| {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            config.device.devices = names.map(str::to_owned).collect();
            Some(())
        },
    },
    Field {
        name: "VERBCAST_PORT",
        takes: "a port number from 1 to 255",
        default: None,
        set: |config, text| {
            config.device.port = Some(text.parse().ok().filter(|port| *port > 0)?);
            Some(())
        },
    },
    Field {
        name: "VERBCAST_RAILS",
        takes: "a number from 1 to 4",
        default: Some("1"),
        set: |config, text| number(text, &mut config.device.rails),
    },
    Field {
        name: "VERBCAST_GID_INDEX",
        takes: "an index from 0 to 255",
        default: None,
        set: |config, text| optional(text, &mut config.device.gid_index),
    },
    Field {
        name: "VERBCAST_PKEY",
        takes: "a P_Key, hexadecimal as 0x8001, decimal without 0x",
        default: None,
        set: |config, text| {
            config.device.pkey = Some(hexadecimal(text)?);
            Some(())
        },
    },
    Field {
        name: "VERBCAST_SL",
        takes: "a number from 0 to 15",
        default: None,
        set: |config, text| optional(text, &mut config.device.service_level),
    },
    Field {
        name: "VERBCAST_TRAFFIC_CLASS",
        takes: "a number from 0 to 255",
        default: None,
        set: |config, text| optional(text, &mut config.device.traffic_class),
    },
    Field {
        name: "VERBCAST_MULTICAST",
        takes: "one of require, prefer, off",
        default: Some("require"),
        set: |config, text| {
            let ways = [
                ("require", Multicast::Require),
                ("prefer", Multicast::Prefer),
                ("off", Multicast::Off),
            ];
            choice(text, &ways, &mut config.device.multicast)
        },
    },
    Field {
        name: "VERBCAST_GROUP_FAMILY",
        takes: "one of auto, ipv4, ipv6",
        default: Some("auto"),
        set: |config, text| {
            let families = [("auto", Family::Auto), ("ipv4", Family::Ipv4), ("ipv6", Family::Ipv6)];
            choice(text, &families, &mut config.device.group_family)
        },
    },
    Field {
        name: "VERBCAST_GROUPS",
        takes: "a number of groups, at least 1",
        default: Some("8"),
        set: |config, text| number(text, &mut config.device.groups),
    },
    Field {
        name: "VERBCAST_RECEIVE_DEPTH",
        takes: "a number of packets from 4 to 1048576",
        default: Some("512"),
        set: |config, text| number(text, &mut config.device.depths.receive),
    },
    Field {
        name: "VERBCAST_SEND_DEPTH",
        takes: "a number of packets from 8 to 1048576",
        default: Some("256"),
        set: |config, text| number(text, &mut config.device.depths.send),
    },
    Field {
        name: "VERBCAST_RELIABLE_RECEIVE_DEPTH",
        takes: "a number of packets from 12 to 1048576",
        default: Some("144"),
        set: |config, text| number(text, &mut config.device.depths.reliable_receive),
    },
    Field {
        name: "VERBCAST_RELIABLE_SEND_DEPTH",
        takes: "a number of packets from 8 to 1048576",
        default: Some("32"),
        set: |config, text| number(text, &mut config.device.depths.reliable_send),
    },
    Field {
        name: "VERBCAST_RING_DEPTH",
        takes: "a number of packets from 2 to 1048576, a power of two",
        default: Some("256"),
        set: |config, text| number(text, &mut config.device.depths.ring),
    },
    Field {
        name: "VERBCAST_DEEP_RINGS",
        takes: "a number of communicators",
        default: Some("4"),
        set: |config, text| number(text, &mut config.device.deep_rings),
    },
    Field {
        name: "VERBCAST_FETCH_DEPTH",
        takes: "a number of packets from 1 to 1048576",
        default: Some("32"),
        set: |config, text| number(text, &mut config.device.depths.fetch),
    },
    Field {
        name: "VERBCAST_ZERO_COPY",
        takes: "a number of bytes, at least 1, or off",
        default: Some("65536"),
        set: |config, text| match text {
            "off" => {
                config.device.zero_copy = None;
                Some(())
            }
            bytes => optional(bytes, &mut config.device.zero_copy),
        },
    },
    Field {
        name: "VERBCAST_REGISTRATION_CACHE",
        takes: "a number of bytes",
        default: Some("67108864"),
        set: |config, text| number(text, &mut config.device.registration_cache),
    },
    Field {
        name: "VERBCAST_NODES",
        takes: "flat, shared, shared:RANKS or auto",
        default: Some("auto"),
        set: |config, text| {
            config.device.nodes = match text {
                "auto" => NodeSharing::Auto,
                "flat" => NodeSharing::Flat,
                "shared" => NodeSharing::Shared { most: u16::MAX },
                text => {
                    let most = text.strip_prefix("shared:")?.parse().ok()?;
                    NodeSharing::Shared { most: Some(most).filter(|most| *most > 0)? }
                }
            };
            Some(())
        },
    },
    Field {
        name: "VERBCAST_WAIT",
        takes: "one of spin, yield, block, adaptive",
        default: Some("adaptive"),
        set: |config, text| {
            let ways = [
                ("spin", Waiting::Spin),
                ("yield", Waiting::Yield),
                ("block", Waiting::Block),
                ("adaptive", Waiting::Adaptive),
            ];
            choice(text, &ways, &mut config.device.waiting)
        },
    },
    Field {
        name: "VERBCAST_TIMEOUT",
        takes: SECONDS,
        default: Some("30"),
        set: |config, text| seconds(text, &mut config.device.timeout),
    },
    Field {
        name: "VERBCAST_ACK_TIMEOUT",
        takes: SECONDS,
        default: Some("2"),
        set: |config, text| seconds(text, &mut config.device.ack_timeout),
    },
    Field {
        name: "VERBCAST_PAYLOAD_CRC",
        takes: "one of on, off",
        default: Some("off"),
        set: |config, text| {
            choice(text, &[("on", true), ("off", false)], &mut config.device.payload_crc)
        },
    },
    Field {
        name: "VERBCAST_WHOLE_DATAGRAMS",
        takes: "one of on, off",
        default: Some("on"),
        set: |config, text| {
            choice(text, &[("on", true), ("off", false)], &mut config.device.whole_datagrams)
        },
    },
    Field {
        name: "VERBCAST_MAC",
        takes: "one of on, off",
        default: Some("off"),
        set: |config, text| choice(text, &[("on", true), ("off", false)], &mut config.device.mac),
    },
];

const SECONDS: &str = "a time in seconds, above 0";

/// The variable of a parameter of the protocols: `VERBCAST_SOME_NAME` of `some-name`.
pub(super) fn of_parameter(name: &str) -> String {
    format!("VERBCAST_{}", name.replace('-', "_").to_uppercase())
}

/// The variable of a setting of the device that makes no sense.
pub(super) fn of_setting(error: &SettingsError) -> String {
    let variable = match error {
        SettingsError::Depths(error) => return of_depth(error),
        SettingsError::ZeroCopy => "VERBCAST_ZERO_COPY",
        SettingsError::Rails(_) | SettingsError::FewDevices { .. } => "VERBCAST_RAILS",
        SettingsError::Groups => "VERBCAST_GROUPS",
        SettingsError::ServiceLevel(_) => "VERBCAST_SL",
        SettingsError::PKey(_) => "VERBCAST_PKEY",
        SettingsError::Timeout => "VERBCAST_TIMEOUT or VERBCAST_ACK_TIMEOUT",
    };
    variable.to_owned()
}

/// The variable of a parameter of the protocols that makes no sense.
pub(super) fn of_option(error: &OptionsError) -> String {
    match error {
        OptionsError::RunAhead { .. } => of_parameter("run-ahead"),
        OptionsError::InFlight(_) => of_parameter("in-flight"),
        OptionsError::Window { .. } => of_parameter("window"),
        OptionsError::Depths(error) => of_depth(error),
        // What else it can be is not found by a check of the parameters.
        _ => "the protocols".to_owned(),
    }
}

fn of_depth(error: &DepthsError) -> String {
    match error {
        DepthsError::OutOfRange { name, .. } => of_parameter(name),
        _ => of_parameter("ring-depth"),
    }
}

impl Config {
    /// All variables that [`from_env`](Self::from_env) reads.
    pub fn variables() -> Vec<Variable> {
        let fields = FIELDS.iter().map(|field| Variable {
            name: field.name.to_owned(),
            takes: field.takes,
            default: field.default,
        });
        let special = [
            (FAULT, "shares from 0 to 1, as loss=0.05,dup=0.01,reorder=0.05,corrupt=0.01,seed=7"),
            (CHOICE, "the path of a table"),
            (TOPOLOGY, "the path of a file as Slurm's topology.conf"),
        ];
        let special =
            special.map(|(name, takes)| Variable { name: name.to_owned(), takes, default: None });
        let parameters = Options::PARAMETERS.iter().map(|parameter| Variable {
            name: of_parameter(parameter.name),
            takes: parameter.takes,
            default: parameter.default,
        });
        fields.chain(special).chain(parameters).collect()
    }
}

fn number<T: FromStr>(text: &str, to: &mut T) -> Option<()> {
    *to = text.parse().ok()?;
    Some(())
}

fn optional<T: FromStr>(text: &str, to: &mut Option<T>) -> Option<()> {
    *to = Some(text.parse().ok()?);
    Some(())
}

/// A number that is hexadecimal behind 0x, and else decimal.
fn hexadecimal(text: &str) -> Option<u16> {
    match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn seconds(text: &str, to: &mut Duration) -> Option<()> {
    let time = Duration::try_from_secs_f64(text.parse().ok()?).ok()?;
    // What is less than a nanosecond is none.
    *to = Some(time).filter(|time| !time.is_zero())?;
    Some(())
}

fn choice<T: Copy>(text: &str, choices: &[(&str, T)], to: &mut T) -> Option<()> {
    let (_, value) = choices.iter().find(|(name, _)| *name == text)?;
    *to = *value;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pkey_is_read_as_it_is_written() {
        for (text, pkey) in [("0x8001", 0x8001), ("0xffff", 0xffff), ("32769", 0x8001)] {
            let lookup = |name: &str| (name == "VERBCAST_PKEY").then(|| text.to_owned());
            assert_eq!(Config::from_lookup(lookup).unwrap().device.pkey, Some(pkey), "{text}");
        }
        for text in ["8001x", "0x10000", "-1"] {
            let lookup = |name: &str| (name == "VERBCAST_PKEY").then(|| text.to_owned());
            Config::from_lookup(lookup).unwrap_err();
        }
    }

    fn read(name: &str, value: &str) -> Result<Config, String> {
        let lookup = |variable: &str| (variable == name).then(|| value.to_owned());
        Config::from_lookup(lookup).map_err(|error| error.to_string())
    }

    /// The least and the greatest number that a variable says it takes.
    fn bounds(takes: &str) -> Option<(u64, u64)> {
        let number = |text: &str| text.split([' ', ',']).next()?.parse().ok();
        if let Some((_, rest)) = takes.split_once("at least ") {
            return Some((number(rest)?, u64::MAX));
        }
        let (_, rest) = takes.split_once(" from ")?;
        let (least, most) = rest.split_once(" to ")?;
        Some((number(least)?, number(most)?))
    }

    #[test]
    fn each_takes_as_much_as_it_says_and_a_refusal_names_it() {
        let mut count = 0;
        for Variable { name, takes, .. } in Config::variables() {
            // Faults have shares.
            let Some((least, most)) = bounds(takes).filter(|_| name != FAULT) else { continue };
            for value in [least].into_iter().chain(Some(most).filter(|most| *most < u64::MAX)) {
                let taken = read(&name, &value.to_string());
                assert!(taken.is_ok(), "{name}={value}: {}", taken.unwrap_err());
            }
            for value in [least.checked_sub(1), most.checked_add(1)].into_iter().flatten() {
                let refusal = read(&name, &value.to_string()).unwrap_err();
                assert!(refusal.starts_with(&name), "{name}={value}: {refusal}");
            }
            count += 1;
        }
        assert!(count > 12, "{count}");
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_by_its_variable() {
        for (name, value) in [
            ("VERBCAST_RING_DEPTH", "48"),
            ("VERBCAST_WINDOW", "3"),
            ("VERBCAST_WINDOW", "512"),
            ("VERBCAST_RUN_AHEAD", "0"),
            ("VERBCAST_RUN_AHEAD", "513"),
            ("VERBCAST_PKEY", "0x8000"),
            ("VERBCAST_ACK_TIMEOUT", "1e-12"),
        ] {
            let refusal = read(name, value).unwrap_err();
            assert!(refusal.starts_with(name), "{name}={value}: {refusal}");
        }
    }

    #[test]
    fn defaults_are_what_they_are_said_to_be() {
        for variable in Config::variables() {
            let Some(default) = variable.default else { continue };
            let lookup = |name: &str| (name == variable.name).then(|| default.to_owned());
            let config = Config::from_lookup(lookup).unwrap();
            assert_eq!(config, Config::default(), "{}={default}", variable.name);
        }
        let Config { device: settings, protocol: options, faults, .. } = Config::default();
        assert!(settings.devices.is_empty() && settings.port.is_none());
        assert!(settings.gid_index.is_none() && faults.is_none());
        assert!(options.run_ahead.is_none() && options.window.is_none());
    }
}
