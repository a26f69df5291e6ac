//! Why a broadcast goes by MPI's own.

/// Why a broadcast goes by MPI's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// MPI is not initialised, or finalised.
    NotRunning,
    /// The program's MPI is not the one that this library was built with.
    OtherLibrary,
    /// The communicator has one rank.
    OneRank,
    /// It is an inter-communicator.
    InterCommunicator,
    /// `VERBCAST_PRELOAD=off`.
    Off,
    /// All ranks share a node's memory, which is faster than an adapter.
    OneNode,
    /// A rank has as many communicators as it may.
    Limit,
    /// A rank's settings are wrong, or differ.
    Settings,
    /// A rank has no usable device, or the ranks cannot reach one another by multicast.
    Unavailable,
    /// The arguments are ones that MPI refuses.
    Refused,
    /// `MPI_Ibcast` before the communicator's first `MPI_Bcast`, or where MPI has no way to complete its request.
    NonBlocking,
    /// One of the first of its communicator, which may not have more.
    Early,
    /// A persistent broadcast, where MPI has no way to complete its request.
    Persistent,
    /// The table of algorithms leaves broadcasts of its size to MPI.
    Table,
}

impl Reason {
    /// All of them, each at its [`index`](Self::index).
    pub const ALL: [Reason; 14] = [
        Reason::NotRunning,
        Reason::OtherLibrary,
        Reason::OneRank,
        Reason::InterCommunicator,
        Reason::Off,
        Reason::OneNode,
        Reason::Limit,
        Reason::Settings,
        Reason::Unavailable,
        Reason::Refused,
        Reason::NonBlocking,
        Reason::Early,
        Reason::Persistent,
        Reason::Table,
    ];

    /// Its place among all.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The one at a place.
    pub fn at(index: usize) -> Option<Reason> {
        Self::ALL.get(index).copied()
    }

    /// What it is, in a few words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::NotRunning => "MPI not running",
            Reason::OtherLibrary => "built for another MPI",
            Reason::OneRank => "one rank",
            Reason::InterCommunicator => "inter-communicator",
            Reason::Off => "switched off",
            Reason::OneNode => "one node",
            Reason::Limit => "too many communicators",
            Reason::Settings => "settings",
            Reason::Unavailable => "no multicast",
            Reason::Refused => "refused arguments",
            Reason::NonBlocking => "non-blocking",
            Reason::Early => "first of a communicator",
            Reason::Persistent => "persistent",
            Reason::Table => "as the table says",
        }
    }

    /// Whether somebody who wants multicast should be told.
    pub fn is_worth_a_warning(self) -> bool {
        use Reason::{Limit, OtherLibrary, Settings, Unavailable};
        matches!(self, OtherLibrary | Limit | Settings | Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn each_is_at_its_place() {
        for (index, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index);
            assert_eq!(Reason::at(index), Some(reason));
        }
        assert_eq!(Reason::at(Reason::ALL.len()), None);
    }
}
