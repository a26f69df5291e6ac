//! Settings that a contender has for itself, in which it differs from what the environment says for all:
//! `ring=512,acknowledge=every:64`.
//!
//! There is no list of them here. Each is a variable of [`Config::variables`] under a short name: without
//! `VERBCAST_`, in small letters, with `-` for `_`; and `-depth` at the end may be left away.

use super::ALGORITHM;
use std::str::FromStr;
use verbcast::broadcast::Config;

/// What all variables begin with.
const PREFIX: &str = "VERBCAST_";
/// What may be left away at the end.
const DEPTH: &str = "-depth";

/// Variables and their values, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnSettings(Vec<(String, String)>);

impl OwnSettings {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts them over what a configuration has. Whether all of it goes together, [`Config::validate`] says.
    pub fn apply(&self, config: &mut Config) -> Result<(), String> {
        self.0.iter().try_for_each(|(variable, value)| {
            config.set(variable, value).map_err(|error| error.to_string())
        })
    }
}

impl FromStr for OwnSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<OwnSettings, String> {
        let settings: Result<_, String> = text.split(',').map(read).collect();
        let settings = OwnSettings(settings?);
        settings.apply(&mut Config::default())?;
        Ok(settings)
    }
}

/// One setting: its variable and its value.
fn read(text: &str) -> Result<(String, String), String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(format!("{text:?} is not a setting: expected NAME=VALUE"));
    };
    let variables = Config::variables().into_iter().map(|variable| variable.name);
    let known = variables.map(|variable| (short(&variable), variable));
    // The contender's name says which algorithm it is.
    let known: Vec<_> = known.filter(|(short, _)| short != ALGORITHM).collect();
    let is_meant = |short: &str| short == name || short.strip_suffix(DEPTH) == Some(name);
    match known.iter().find(|(short, _)| is_meant(short)) {
        Some((_, variable)) => Ok((variable.clone(), value.to_owned())),
        None => {
            let names: Vec<&str> = known.iter().map(|(short, _)| short.as_str()).collect();
            Err(format!("there is no setting {name:?}; there are {}", names.join(", ")))
        }
    }
}

/// The short name of a variable.
fn short(variable: &str) -> String {
    variable.trim_start_matches(PREFIX).to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use verbcast_core::protocol::window::Acknowledge;

    #[test]
    fn settings_go_over_those_of_all() {
        let settings: OwnSettings = "ring=512,send-depth=64,acknowledge=every:64".parse().unwrap();
        let mut config = Config::default();
        config.set("VERBCAST_RECEIVE_DEPTH", "1024").unwrap();
        settings.apply(&mut config).unwrap();
        let depths = config.device.depths;
        assert_eq!((depths.ring, depths.send, depths.receive), (512, 64, 1024));
        assert_eq!(config.protocol.acknowledge, Acknowledge::Every(64));
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (text, expected) in [
            ("rings=512", "there is no setting \"rings\"; there are device,"),
            ("algorithm=chain", "there is no setting \"algorithm\""),
            ("ring", "\"ring\" is not a setting: expected NAME=VALUE"),
            ("", "expected NAME=VALUE"),
            ("ring=512,acknowledge=some", "VERBCAST_ACKNOWLEDGE=some: expected needed, each,"),
            ("ring=many", "VERBCAST_RING_DEPTH=many: expected a number of packets"),
        ] {
            let error = text.parse::<OwnSettings>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn no_two_settings_have_one_name() {
        let shorts = Config::variables().into_iter().map(|variable| short(&variable.name));
        let names = shorts.flat_map(|short| {
            let cut = short.strip_suffix(DEPTH).map(str::to_owned);
            cut.into_iter().chain([short])
        });
        let mut seen = BTreeSet::new();
        for name in names {
            assert!(!name.is_empty() && seen.insert(name.clone()), "{name}");
        }
    }
}
