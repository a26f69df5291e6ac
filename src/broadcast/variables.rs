//! The environment variables of a [`Config`]: what each takes, its default, and what it sets.

use super::Config;
use crate::rdma::{Family, Multicast, NodeSharing, Waiting};
use std::str::FromStr;
use std::time::Duration;
use verbcast_core::protocol::options::Options;

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
        takes: "a port number",
        default: None,
        set: |config, text| optional(text, &mut config.device.port),
    },
    Field {
        name: "VERBCAST_RAILS",
        takes: "a number from 1 to 4",
        default: Some("1"),
        set: |config, text| number(text, &mut config.device.rails),
    },
    Field {
        name: "VERBCAST_GID_INDEX",
        takes: "an index",
        default: None,
        set: |config, text| optional(text, &mut config.device.gid_index),
    },
    Field {
        name: "VERBCAST_PKEY",
        takes: "a P_Key, as 0x8001",
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
        takes: "a number of groups",
        default: Some("8"),
        set: |config, text| number(text, &mut config.device.groups),
    },
    Field {
        name: "VERBCAST_RECEIVE_DEPTH",
        takes: PACKETS,
        default: Some("512"),
        set: |config, text| number(text, &mut config.device.depths.receive),
    },
    Field {
        name: "VERBCAST_SEND_DEPTH",
        takes: PACKETS,
        default: Some("256"),
        set: |config, text| number(text, &mut config.device.depths.send),
    },
    Field {
        name: "VERBCAST_RELIABLE_RECEIVE_DEPTH",
        takes: PACKETS,
        default: Some("144"),
        set: |config, text| number(text, &mut config.device.depths.reliable_receive),
    },
    Field {
        name: "VERBCAST_RELIABLE_SEND_DEPTH",
        takes: PACKETS,
        default: Some("32"),
        set: |config, text| number(text, &mut config.device.depths.reliable_send),
    },
    Field {
        name: "VERBCAST_RING_DEPTH",
        takes: PACKETS,
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
        takes: PACKETS,
        default: Some("32"),
        set: |config, text| number(text, &mut config.device.depths.fetch),
    },
    Field {
        name: "VERBCAST_ZERO_COPY",
        takes: "a number of bytes, or off",
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

const PACKETS: &str = "a number of packets";
const SECONDS: &str = "a time in seconds";

/// The variable of a parameter of the protocols: `VERBCAST_SOME_NAME` of `some-name`.
pub(super) fn of_parameter(name: &str) -> String {
    format!("VERBCAST_{}", name.replace('-', "_").to_uppercase())
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
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0)?;
    *to = Duration::try_from_secs_f64(seconds).ok()?;
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
