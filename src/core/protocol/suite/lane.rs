//! Which protocol has an operation, and how far that is there.

use crate::protocol::choice::Algorithm;
use crate::rank::OpId;

/// Which protocol an operation went to. A protocol that joins the suite stands in [`LANES`], and in each method of
/// [`Suite`](super::Suite) that names all parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    TwoStage,
    Window,
    Unicast,
}

impl Lane {
    pub fn of(algorithm: Algorithm) -> Lane {
        match algorithm {
            Algorithm::TwoStage => Lane::TwoStage,
            Algorithm::Window | Algorithm::TwoStageOnDemand => Lane::Window,
            Algorithm::Binomial | Algorithm::Chain | Algorithm::ScatterAllgather => Lane::Unicast,
        }
    }
}

pub(super) const LANES: [Lane; 3] = [Lane::TwoStage, Lane::Window, Lane::Unicast];
/// Before any operation has gone anywhere. The window's packets concern all operations.
pub(super) const UNUSED: [bool; 3] = [false, true, false];

/// An operation, and what its protocol calls it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub lane: Lane,
    pub inner: OpId,
    pub is_complete: bool,
    pub is_quiescent: bool,
}

impl Entry {
    /// Whether its protocol may begin another instead. What the window keeps of a complete one is limited by its ring.
    pub fn is_over(&self) -> bool {
        match self.lane {
            Lane::Window => self.is_complete,
            Lane::TwoStage | Lane::Unicast => self.is_quiescent,
        }
    }
}
