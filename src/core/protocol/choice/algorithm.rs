//! The protocols by name.

use super::TableError;
use std::fmt;
use std::str::FromStr;

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Multicast, then the eager chain (Hoefler 2007).
    TwoStage,
    /// Multicast, then the chain where something is missing.
    TwoStageOnDemand,
    /// Multicast with a window of buffers and acknowledgements (Liu 2004).
    Window,
    /// Reliable sends along a binomial tree (the "Original" of Liu 2004).
    Binomial,
    /// Reliable sends along a chain, fragment by fragment.
    Chain,
    /// Reliable sends: a scatter, then a ring in which all gather all.
    ScatterAllgather,
}

impl Algorithm {
    /// Whether it sends by reliable connections alone.
    pub fn is_unicast(self) -> bool {
        use Algorithm::*;
        matches!(self, Binomial | Chain | ScatterAllgather)
    }

    /// All protocols and their names.
    pub const NAMES: [(&'static str, Algorithm); 6] = [
        ("two-stage", Algorithm::TwoStage),
        ("two-stage-on-demand", Algorithm::TwoStageOnDemand),
        ("window", Algorithm::Window),
        ("binomial", Algorithm::Binomial),
        ("chain", Algorithm::Chain),
        ("scatter-allgather", Algorithm::ScatterAllgather),
    ];
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Algorithm::NAMES.iter().find(|(_, algorithm)| algorithm == self);
        f.pad(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for Algorithm {
    type Err = TableError;

    fn from_str(text: &str) -> Result<Self, TableError> {
        let found = Algorithm::NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, algorithm)| *algorithm)
            .ok_or_else(|| TableError::UnknownAlgorithm { name: text.to_owned() })
    }
}
