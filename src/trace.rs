//! Writes what happens inside, as the crate `tracing` tells it, to standard error: for programs without a subscriber of
//! their own, as the command and what is preloaded.

use std::fmt;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{fmt as lines, registry};

/// The variable that says what is told: `warn`, or by module, `warn,verbcast::rdma=debug`.
pub const VARIABLE: &str = "VERBCAST_LOG";

/// Why nothing is written.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// [`VARIABLE`] has this value, which says nothing that can be read.
    Filter(String, ParseError),
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
            TraceError::Taken(_) => f.write_str("the program has a subscriber of its own"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TraceError::Filter(_, error) => Some(error),
            TraceError::Taken(error) => Some(error),
        }
    }
}

/// Writes events and spans as [`VARIABLE`] has it, or as `default` where it is not set, for the rest of the process.
///
/// # Errors
/// If the filter cannot be read, or the program has a subscriber.
pub fn to_stderr(default: &str) -> Result<(), TraceError> {
    let value = std::env::var(VARIABLE).unwrap_or_else(|_| default.to_owned());
    let filter: Targets = match value.parse() {
        Ok(filter) => filter,
        Err(error) => return Err(TraceError::Filter(value, error)),
    };
    // A span is told when it ends, with the time that it took.
    let written = lines::layer().with_span_events(FmtSpan::CLOSE);
    let written = written.with_writer(std::io::stderr).with_ansi(false);
    registry().with(written).with(filter).try_init().map_err(TraceError::Taken)
}
