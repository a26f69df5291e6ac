//! Options as text: what users write, and what ranks compare.

use super::{CoRoots, Options, OptionsError, Places, Synchronisation};
use crate::protocol::choice::{Algorithm, Table};
use crate::protocol::depths::Depths;
use crate::protocol::window::{Acknowledge, Bounds, By, Repair};
use std::str::FromStr;
use std::time::Duration;

/// The longest delay of an adaptive root, unless it is given.
const MAX_DELAY: Duration = Duration::from_millis(10);

/// A parameter of the protocols under the name that users give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name.
    pub name: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// The value that means the same as not to set it, for those who read of it; none if there is none. A test compares it
    /// with the default, which is set elsewhere.
    pub default: Option<&'static str>,
}

impl Options {
    /// What [`set`](Self::set) knows.
    pub const PARAMETERS: [Parameter; 16] = [
        Parameter {
            name: "algorithm",
            takes: "auto, two-stage, two-stage-on-demand, window, co-root, aggregate, basic, binomial, chain \
                    or scatter-allgather",
            default: Some("auto"),
        },
        Parameter {
            name: "in-flight",
            takes: "a number of broadcasts from 1 to 1048576",
            default: Some("64"),
        },
        Parameter {
            name: "sync",
            takes: "none, random, delay:MICROSECONDS, adaptive or adaptive:MAX_MICROSECONDS",
            default: Some("none"),
        },
        Parameter {
            name: "run-ahead",
            takes: "a number of fragments, from 1 up to the receive depth",
            default: None,
        },
        Parameter {
            name: "window",
            takes: "a number of fragments, a power of two up to the ring depth",
            default: None,
        },
        Parameter {
            name: "co-roots",
            takes: "none, optimal or a number of groups, at least 1",
            default: Some("none"),
        },
        Parameter {
            name: "repair-tree",
            takes: "a number of ranks, at least 1, or off",
            default: Some("16"),
        },
        Parameter {
            name: "acknowledge",
            takes: "needed, each, every:M or skewed:M",
            default: Some("needed"),
        },
        Parameter { name: "piggyback", takes: "on or off", default: Some("off") },
        Parameter { name: "acknowledge-by", takes: "write or message", default: Some("write") },
        Parameter {
            name: "acknowledge-after",
            takes: "a time in microseconds",
            default: Some("1000"),
        },
        Parameter { name: "repair", takes: "push or pull", default: Some("pull") },
        Parameter { name: "credits", takes: "on or off", default: Some("on") },
        Parameter { name: "repair-after", takes: "a time in microseconds", default: Some("2000") },
        Parameter {
            name: "segment",
            takes: "a number of bytes, at least 1, or off",
            default: Some("131072"),
        },
        Parameter { name: "places", takes: "hosts or numbers", default: Some("hosts") },
    ];

    /// Sets one option from text.
    ///
    /// # Errors
    /// If there is no such option, or its value cannot be read; the error says what is expected.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionsError> {
        let known = Options::PARAMETERS.iter().find(|known| known.name == name);
        let Some(Parameter { name, takes, .. }) = known else {
            return Err(OptionsError::Unknown { name: name.to_owned() });
        };
        let refused = || OptionsError::Value { name, value: value.to_owned(), takes };
        self.take(name, value).ok_or_else(refused)
    }

    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "algorithm" => self.take_algorithm(value)?,
            "places" => {
                self.places = match value {
                    "hosts" => Places::Hosts,
                    "numbers" => Places::Numbers,
                    _ => return None,
                }
            }
            "in-flight" => self.in_flight = value.parse().ok()?,
            "sync" => {
                self.synchronisation = match value.split_once(':') {
                    None if value == "none" => Synchronisation::None,
                    None if value == "random" => Synchronisation::RandomRank,
                    None if value == "adaptive" => Synchronisation::Adaptive(MAX_DELAY),
                    Some(("adaptive", micros)) => Synchronisation::Adaptive(micros_of(micros)?),
                    Some(("delay", micros)) => Synchronisation::Delay(micros_of(micros)?),
                    _ => return None,
                }
            }
            "run-ahead" => self.run_ahead = Some(value.parse().ok()?),
            "window" => self.window = Some(value.parse().ok()?),
            "co-roots" => {
                self.co_roots = match value {
                    "none" => CoRoots::None,
                    "optimal" => CoRoots::Optimal,
                    groups => CoRoots::Groups(groups.parse().ok().filter(|groups| *groups > 0)?),
                }
            }
            "repair-tree" => {
                self.repair_tree = match value {
                    "off" => None,
                    fan_out => Some(fan_out.parse().ok()?),
                }
            }
            "acknowledge" => {
                self.acknowledge = match value.split_once(':') {
                    None if value == "needed" => Acknowledge::Needed,
                    None if value == "each" => Acknowledge::Each,
                    Some(("every", m)) => Acknowledge::Every(m.parse().ok().filter(|m| *m > 0)?),
                    Some(("skewed", m)) => Acknowledge::Skewed(m.parse().ok().filter(|m| *m > 0)?),
                    _ => return None,
                }
            }
            "piggyback" => self.piggyback = switch(value)?,
            "acknowledge-by" => {
                self.by = match value {
                    "write" => By::Counter,
                    "message" => By::Message,
                    _ => return None,
                }
            }
            "acknowledge-after" => self.acknowledge_after = micros_of(value)?,
            "repair" => {
                self.repair = match value {
                    "push" => Repair::Push,
                    "pull" => Repair::Pull,
                    _ => return None,
                }
            }
            "credits" => self.credits = switch(value)?,
            "repair-after" => {
                let initial = micros_of(value)?;
                let Bounds { least, most, .. } = self.patience;
                let (least, most) = (least.min(initial), most.max(initial));
                self.patience = Bounds { initial, least, most };
            }
            "segment" => {
                self.segment = match value {
                    "off" => None,
                    bytes => Some(bytes.parse().ok().filter(|bytes| *bytes > 0)?),
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// An algorithm's name, or one of the papers' names for the window family with certain options
    /// (Liu 2004, section 6: Basic, Window, Co-root and Aggregate10).
    fn take_algorithm(&mut self, name: &str) -> Option<()> {
        let algorithm = match name {
            "auto" => {
                self.table = Table::default();
                return Some(());
            }
            "basic" => {
                self.acknowledge = Acknowledge::Each;
                self.blocking = true;
                self.repair = Repair::Push;
                Algorithm::Window
            }
            "co-root" => {
                self.acknowledge = Acknowledge::Each;
                self.co_roots = CoRoots::Optimal;
                Algorithm::Window
            }
            "aggregate" => {
                self.acknowledge = Acknowledge::Every(10);
                Algorithm::Window
            }
            name => Algorithm::from_str(name).ok()?,
        };
        self.table = Table::uniform(algorithm);
        Some(())
    }

    /// All options, each with its value in a line, for ranks to compare.
    pub fn describe(&self, depths: &Depths) -> String {
        let Options { table, places, in_flight, synchronisation, window, blocking, .. } = self;
        let Options { acknowledge, piggyback, by, acknowledge_after, repair, .. } = self;
        let Options { co_roots, repair_tree, credits, segment, .. } = self;
        let lines = [
            ("choice", table.to_string().trim_end().replace('\n', ", ")),
            ("places", format!("{places:?}")),
            ("in-flight", in_flight.to_string()),
            ("sync", format!("{synchronisation:?}")),
            ("run-ahead", self.run_ahead(depths).to_string()),
            ("window", window.map_or("all slots".to_owned(), |window| window.to_string())),
            ("basic", blocking.to_string()),
            ("co-roots", format!("{co_roots:?}")),
            ("repair-tree", repair_tree.map_or("off".to_owned(), |ranks| ranks.to_string())),
            ("acknowledge", format!("{acknowledge:?}")),
            ("piggyback", piggyback.to_string()),
            ("acknowledge-by", format!("{by:?}")),
            ("acknowledge-after", format!("{acknowledge_after:?}")),
            ("repair", format!("{repair:?}")),
            ("credits", credits.to_string()),
            ("repair-after", format!("{:?}", self.patience)),
            ("segment", segment.map_or("off".to_owned(), |bytes| bytes.to_string())),
        ];
        lines.map(|(name, value)| format!("{name}: {value}\n")).concat()
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn micros_of(value: &str) -> Option<Duration> {
    value.parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

    #[test]
    fn options_are_read() {
        let options = read(&[
            ("algorithm", "aggregate"),
            ("places", "numbers"),
            ("co-roots", "4"),
            ("repair-tree", "off"),
            ("sync", "delay:50"),
            ("repair", "push"),
            ("credits", "off"),
            ("repair-after", "20"),
            ("segment", "off"),
        ])
        .unwrap();
        assert_eq!(options.acknowledge, Acknowledge::Every(10));
        assert_eq!(options.co_roots, CoRoots::Groups(4));
        assert_eq!(options.repair_tree, None);
        assert_eq!(options.places, Places::Numbers);
        assert_eq!(options.synchronisation, Synchronisation::Delay(Duration::from_micros(50)));
        assert_eq!((options.repair, options.credits), (Repair::Push, false));
        assert_eq!(options.patience.least, Duration::from_micros(20));
        assert_eq!(options.segment, None);
        assert_eq!(read(&[]).unwrap(), Options::default());
    }

    #[test]
    fn a_bad_option_is_named_with_what_is_expected() {
        for (name, value) in [
            ("algorithm", "fast"),
            ("places", "racks"),
            ("sync", "delay:"),
            ("acknowledge", "every:0"),
            ("co-roots", "0"),
            ("piggyback", "yes"),
            ("in-flight", "many"),
            ("segment", "0"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}={value}: expected ")), "{error}");
        }
        let error = read(&[("speed", "11")]).unwrap_err().to_string();
        assert!(error.contains("no option \"speed\""), "{error}");
    }
}
