//! What the environment says about preloading, read once.

use multicast::broadcast::{Config, ConfigError};
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Communicators with multicast at a rank, unless the environment says otherwise. Each has one of MPI's
/// beside it, of which MPICH has 2048.
const COMMUNICATORS: usize = 512;

/// Whether ranks that share one node use multicast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneNode {
    /// On a software adapter only.
    Auto,
    /// On any.
    Use,
    /// On none.
    Pass,
}

/// Where what was counted is to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Nowhere.
    None,
    /// The standard error stream.
    Stderr,
    /// The end of a file, for programs whose output must not change.
    File(PathBuf),
}

/// What the environment says.
#[derive(Debug)]
pub struct Settings {
    /// Nothing is to be done by multicast.
    pub is_off: bool,
    /// Whether ranks that share one node use multicast.
    pub one_node: OneNode,
    /// Most communicators with multicast at a time.
    pub communicators: usize,
    /// Where what was counted is to go.
    pub report: Report,
    /// How broadcasts are done.
    pub config: Result<Config, ConfigError>,
    /// Which variable is wrong.
    pub mistake: Option<String>,
}

impl Settings {
    /// The process's.
    pub fn get() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let mut settings = Self::read(|name| {
                env::var_os(name).map(|value| value.to_string_lossy().into_owned())
            });
            settings.config = Config::from_env();
            // A program's output stays as it is unless something else is asked for.
            if let Err(error) = multicast::trace::to_stderr("off") {
                settings.mistake.get_or_insert(error.to_string());
            }
            settings
        })
    }

    fn read(lookup: impl Fn(&str) -> Option<String>) -> Settings {
        let mut settings = Settings {
            is_off: false,
            one_node: OneNode::Auto,
            communicators: COMMUNICATORS,
            report: Report::None,
            config: Ok(Config::default()),
            mistake: None,
        };
        let switch = [("on", false), ("off", true)];
        settings.is_off = settings.choice(&lookup, "VERBCAST_PRELOAD", &switch, false);
        let ways = [("auto", OneNode::Auto), ("use", OneNode::Use), ("pass", OneNode::Pass)];
        settings.one_node = settings.choice(&lookup, "VERBCAST_ONE_NODE", &ways, OneNode::Auto);
        settings.report = settings.report(&lookup);
        if let Some(text) = lookup("VERBCAST_COMMUNICATORS") {
            match text.parse() {
                Ok(number) => settings.communicators = number,
                Err(_) => settings.mistaken("VERBCAST_COMMUNICATORS", &text, "a number"),
            }
        }
        settings
    }

    fn report(&mut self, lookup: &impl Fn(&str) -> Option<String>) -> Report {
        let Some(text) = lookup("VERBCAST_STATS") else { return Report::None };
        match text.as_str() {
            "0" | "off" => Report::None,
            "1" | "on" => Report::Stderr,
            path if path.contains('/') => Report::File(path.into()),
            _ => {
                self.mistaken("VERBCAST_STATS", &text, "one of 0, off, 1, on, or a path with a /");
                Report::None
            }
        }
    }

    fn choice<T: Copy>(
        &mut self,
        lookup: &impl Fn(&str) -> Option<String>,
        name: &str,
        choices: &[(&str, T)],
        default: T,
    ) -> T {
        let Some(text) = lookup(name) else { return default };
        let found = choices.iter().find(|(choice, _)| *choice == text);
        if found.is_none() {
            let names: Vec<_> = choices.iter().map(|(choice, _)| *choice).collect();
            self.mistaken(name, &text, &format!("one of {}", names.join(", ")));
        }
        found.map_or(default, |(_, value)| *value)
    }

    fn mistaken(&mut self, name: &str, text: &str, expected: &str) {
        self.mistake.get_or_insert(format!("{name}={text}: expected {expected}"));
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMUNICATORS, OneNode, Report, Settings};

    fn read(name: &'static str, value: &'static str) -> Settings {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn variables_are_read_and_a_wrong_one_is_named_with_its_value() {
        let settings = read("nothing", "");
        assert!(!settings.is_off && settings.mistake.is_none());
        assert_eq!(settings.report, Report::None);
        assert_eq!((settings.one_node, settings.communicators), (OneNode::Auto, COMMUNICATORS));
        assert!(read("VERBCAST_PRELOAD", "off").is_off);
        assert_eq!(read("VERBCAST_STATS", "1").report, Report::Stderr);
        assert_eq!(read("VERBCAST_STATS", "./all").report, Report::File("./all".into()));
        assert_eq!(read("VERBCAST_ONE_NODE", "use").one_node, OneNode::Use);
        assert_eq!(read("VERBCAST_COMMUNICATORS", "3").communicators, 3);
        let names =
            ["VERBCAST_PRELOAD", "VERBCAST_STATS", "VERBCAST_ONE_NODE", "VERBCAST_COMMUNICATORS"];
        for name in names {
            let mistake = read(name, "perhaps").mistake.unwrap();
            assert!(mistake.starts_with(&format!("{name}=perhaps: ")), "{mistake}");
        }
    }
}
