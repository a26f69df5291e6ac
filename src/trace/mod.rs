//! Writes what happens inside, as the crate `tracing` tells it, for programs without a subscriber of their own, as the
//! command and what is preloaded: as lines to standard error, and as a timeline into a file.

mod file;
mod timeline;

pub use file::{FORMAT, Process};
pub use timeline::Timeline;

use std::path::{Path, PathBuf};
use std::{fmt, io};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{fmt as lines, registry};

/// The variable that says what is told on standard error: `warn`, or by module, `warn,verbcast::rdma=debug`.
pub const VARIABLE: &str = "VERBCAST_LOG";

/// The variable that names the folder for timelines; each process writes one file into it.
pub const FOLDER: &str = "VERBCAST_TRACE";

/// Why something is not written.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// [`VARIABLE`] has this value, which says nothing that can be read.
    Filter(String, ParseError),
    /// The timeline cannot be written to this file or folder, which [`FOLDER`] names.
    File(PathBuf, io::Error),
    /// The program has a subscriber already.
    Taken(TryInitError),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Filter(value, _) => {
                write!(
                    f,
                    "{VARIABLE}={value}: off, error, warn, info, debug or trace is needed, or MODULE=LEVEL,…"
                )
            }
            TraceError::File(path, error) => {
                write!(f, "{FOLDER}: cannot write {}: {error}", path.display())
            }
            TraceError::Taken(_) => f.write_str("the program has a subscriber of its own"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TraceError::Filter(_, error) => Some(error),
            TraceError::File(_, error) => Some(error),
            TraceError::Taken(error) => Some(error),
        }
    }
}

/// For the rest of the process, writes events and spans to standard error as [`VARIABLE`] has it, or as `default` where
/// it is not set, and a timeline into the folder that [`FOLDER`] names, if it does.
///
/// # Errors
/// If the filter cannot be read, the timeline's file cannot be made, or the program has a subscriber. Then nothing is
/// written.
pub fn from_env(default: &str) -> Result<(), TraceError> {
    let value = std::env::var(VARIABLE).unwrap_or_else(|_| default.to_owned());
    let filter = match filter(&value) {
        Ok(filter) => filter,
        Err(error) => return Err(TraceError::Filter(value, error)),
    };
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let timeline = folder.map(|folder| Timeline::create(Path::new(&folder))).transpose()?;
    // Everything of verbcast's crates but what happens to each packet.
    let ours = Targets::new().with_target("verbcast", LevelFilter::DEBUG);
    let timeline = timeline.map(|timeline| timeline.with_filter(ours));
    // A span is told when it ends, with the time that it took.
    let written = lines::layer().with_span_events(FmtSpan::CLOSE);
    let written = written.with_writer(io::stderr).with_ansi(false).with_filter(filter);
    registry().with(written).with(timeline).try_init().map_err(TraceError::Taken)
}

/// A level, or levels by module. A word that is no level would be a module, of which all is told, and nothing of the others.
fn filter(value: &str) -> Result<Targets, ParseError> {
    for word in value.split(',').filter(|part| !part.contains('=')) {
        word.parse::<LevelFilter>()?;
    }
    value.parse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn a_filter_has_levels_and_modules_with_levels() {
        let both = filter("warn,verbcast::rdma=debug").unwrap();
        assert!(both.would_enable("verbcast::rdma::ud", &Level::DEBUG));
        assert!(both.would_enable("verbcast", &Level::WARN));
        assert!(!both.would_enable("verbcast", &Level::INFO));
        assert!(filter("OFF").is_ok_and(|off| !off.would_enable("verbcast", &Level::ERROR)));
    }

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for value in ["debgu", "verbcast", "verbcast::rdma", "warn,debgu", "warn,verbcast=debgu"] {
            assert!(filter(value).is_err(), "{value}");
        }
    }
}
