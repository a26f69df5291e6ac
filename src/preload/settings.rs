//! What the environment says about preloading, read once.

use multicast::broadcast::{Config, ConfigError};
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;
use verbcast_core::wire::OneNode;

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

/// A variable that is read here: its name, what it takes, and its default.
pub struct Variable {
    pub name: &'static str,
    takes: &'static str,
    default: &'static str,
}

const PRELOAD: Variable =
    Variable { name: "VERBCAST_PRELOAD", takes: "one of on, off", default: "on" };
const ONE_NODE: Variable =
    Variable { name: "VERBCAST_ONE_NODE", takes: "one of auto, use, pass", default: "auto" };
/// Each communicator with multicast has one of MPI's beside it, of which MPICH has 2048.
const COMMUNICATORS: Variable =
    Variable { name: "VERBCAST_COMMUNICATORS", takes: "a number", default: "512" };
/// Few enough to be had soon, and more than most communicators have that are made for one exchange: `docs/src/performance/set_up.md`.
pub const FIRST_BY_MPI: Variable =
    Variable { name: "VERBCAST_FIRST_BY_MPI", takes: "a number", default: "8" };
const STATS: Variable = Variable {
    name: "VERBCAST_STATS",
    takes: "one of 0, off, 1, on, or a path with a /",
    default: "0",
};

/// What this says is only told, too.
const METRICS: Variable =
    Variable { name: "VERBCAST_METRICS", takes: "off or a folder", default: "off" };

/// What the environment says.
#[derive(Debug)]
pub struct Settings {
    /// Nothing is to be done by multicast.
    pub is_off: bool,
    /// Whether ranks that share one node use multicast.
    pub one_node: OneNode,
    /// Most communicators with multicast at a time.
    pub communicators: usize,
    /// Broadcasts of each communicator that MPI does before its ranks decide, if this is its rank 0.
    pub first_by_mpi: usize,
    /// Where what was counted is to go.
    pub report: Report,
    /// The folder for files that monitoring reads.
    pub metrics: Option<PathBuf>,
    /// How broadcasts are done.
    pub config: Result<Config, ConfigError>,
    /// Which variable is wrong.
    pub mistake: Option<String>,
    /// Which variables are wrong that only say what is to be told, and so change nothing.
    pub complaints: Vec<String>,
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
            if let Err(error) = multicast::trace::from_env("off") {
                settings.complaints.push(error.to_string());
            }
            settings
        })
    }

    fn read(lookup: impl Fn(&str) -> Option<String>) -> Settings {
        let mut settings = Settings {
            is_off: false,
            one_node: OneNode::Auto,
            communicators: 0,
            first_by_mpi: 0,
            report: Report::None,
            metrics: None,
            config: Ok(Config::default()),
            mistake: None,
            complaints: Vec::new(),
        };
        let mut take = |variable: &Variable, set: fn(&mut Settings, &str) -> Option<()>| {
            set(&mut settings, variable.default);
            // As if it were not set: scripts clear variables so.
            let Some(text) = lookup(variable.name).filter(|text| !text.is_empty()) else { return };
            if set(&mut settings, &text).is_none() {
                settings.mistaken(variable, &text);
            }
        };
        take(&PRELOAD, |settings, text| {
            settings.is_off = choice(text, &[("on", false), ("off", true)])?;
            Some(())
        });
        take(&ONE_NODE, |settings, text| {
            let ways = [("auto", OneNode::Auto), ("use", OneNode::Use), ("pass", OneNode::Pass)];
            settings.one_node = choice(text, &ways)?;
            Some(())
        });
        take(&COMMUNICATORS, |settings, text| {
            settings.communicators = text.parse().ok()?;
            Some(())
        });
        take(&FIRST_BY_MPI, |settings, text| {
            settings.first_by_mpi = text.parse().ok()?;
            Some(())
        });
        take(&METRICS, |settings, text| {
            settings.metrics = (text != "off").then(|| text.into());
            Some(())
        });
        take(&STATS, |settings, text| {
            settings.report = match text {
                "0" | "off" => Report::None,
                "1" | "on" => Report::Stderr,
                path => Report::File(path.contains('/').then(|| path.into())?),
            };
            Some(())
        });
        settings
    }

    fn mistaken(&mut self, variable: &Variable, text: &str) {
        let Variable { name, takes, .. } = variable;
        let what = format!("{name}={text}: expected {takes}");
        match *name == STATS.name {
            true => self.complaints.push(what),
            false => _ = self.mistake.get_or_insert(what),
        }
    }
}

fn choice<T: Copy>(text: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::{COMMUNICATORS, FIRST_BY_MPI, ONE_NODE, OneNode, PRELOAD, Report, STATS, Settings};

    const VARIABLES: [super::Variable; 5] = [PRELOAD, ONE_NODE, COMMUNICATORS, FIRST_BY_MPI, STATS];

    fn read(name: &'static str, value: &'static str) -> Settings {
        Settings::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn variables_are_read_and_a_wrong_one_is_named_with_its_value() {
        let settings = read("nothing", "");
        assert!(!settings.is_off && settings.mistake.is_none());
        assert_eq!(settings.report, Report::None);
        assert_eq!((settings.one_node, settings.communicators), (OneNode::Auto, 512));
        assert!(read("VERBCAST_PRELOAD", "off").is_off);
        assert_eq!(read("VERBCAST_STATS", "1").report, Report::Stderr);
        assert_eq!(read("VERBCAST_STATS", "./all").report, Report::File("./all".into()));
        assert_eq!(read("VERBCAST_ONE_NODE", "use").one_node, OneNode::Use);
        assert_eq!(read("VERBCAST_METRICS", "metrics").metrics, Some("metrics".into()));
        assert_eq!((settings.metrics, read("VERBCAST_METRICS", "off").metrics), (None, None));
        assert_eq!(read("VERBCAST_COMMUNICATORS", "3").communicators, 3);
        assert_eq!(read("VERBCAST_FIRST_BY_MPI", "0").first_by_mpi, 0);
        for variable in VARIABLES {
            let Settings { mistake, mut complaints, .. } = read(variable.name, "perhaps");
            let mistake = mistake.or_else(|| complaints.pop()).unwrap();
            assert!(mistake.starts_with(&format!("{}=perhaps: ", variable.name)), "{mistake}");
        }
    }

    #[test]
    fn what_is_only_told_changes_nothing_and_what_is_empty_is_not_set() {
        let settings = read("VERBCAST_STATS", "perhaps");
        assert_eq!((settings.mistake, settings.complaints.len()), (None, 1));
        for variable in VARIABLES {
            let settings = read(variable.name, "");
            assert_eq!((settings.mistake, settings.complaints.len()), (None, 0));
        }
    }
}
