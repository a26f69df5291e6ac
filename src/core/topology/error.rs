//! What is wrong with a topology file.

use super::MAX_NAMES;
use super::host_list::HostListError;
use super::path::{MAX_SWITCHES, SwitchPathError};

/// What is wrong with a topology file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {mistake}")]
pub struct TopologyError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    #[source]
    pub mistake: TopologyMistake,
}

/// What can be wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyMistake {
    /// Something that is not KEY=VALUE.
    #[error("expected KEY=VALUE, but there is {0:?}")]
    NoPair(String),
    /// Something else than a switch.
    #[error("expected SwitchName=, as topology/tree has it, but there is {0}=")]
    NotASwitch(String),
    /// A key twice.
    #[error("{0}= is there twice")]
    KeyTwice(String),
    /// Hosts and switches below one switch.
    #[error("a switch has Nodes= or Switches=, not both")]
    Both,
    /// The name of the switch cannot be one.
    #[error(transparent)]
    Name(#[from] SwitchPathError),
    /// A list that cannot be read.
    #[error(transparent)]
    List(#[from] HostListError),
    /// A switch on two lines.
    #[error("switch {name} is on line {first} already")]
    SwitchTwice {
        /// The switch.
        name: String,
        /// Its first line.
        first: usize,
    },
    /// A host below two leaf switches.
    #[error("host {name} is below switch {switch} on line {line} already")]
    HostTwice {
        /// The host.
        name: String,
        /// The first leaf switch.
        switch: String,
        /// Its line.
        line: usize,
    },
    /// A switch that has no line.
    #[error("there is no line SwitchName={name}")]
    UnknownSwitch {
        /// The switch.
        name: String,
    },
    /// A switch below itself.
    #[error("switch {name} is below itself")]
    Cycle {
        /// The switch.
        name: String,
    },
    /// Too many switches above each other.
    #[error("more than {MAX_SWITCHES} switches are above each other")]
    TooDeep,
    /// Too many hosts and switches.
    #[error("the file names more than {MAX_NAMES} hosts and switches")]
    TooManyNames,
    /// No switch at all.
    #[error("there is no switch in the file")]
    NoSwitch,
}
