//! Who can be reached, and who is there.

use super::TransportError;
use crate::rank::Rank;
use crate::time::Instant;

/// The connections of a rank with others, and whether those live: asked of a peer's adapter, not of its CPU,
/// which may be busy for long.
pub trait Liveness {
    /// Begins to connect with `peer`, unless there is a connection. By default there always is.
    ///
    /// # Errors
    /// If the device fails.
    fn connect(&mut self, _peer: Rank) -> Result<(), TransportError> {
        Ok(())
    }

    /// Whether a connection with `peer` can be used by either side without the other's CPU.
    fn is_connected(&self, _peer: Rank) -> bool {
        true
    }

    /// The ranks that a reliable connection was made with, by either side.
    fn connected(&self) -> Vec<Rank>;

    /// Asks the adapter of `peer` whether it is there. The answer is
    /// [`Arrival::Alive`](super::Arrival::Alive) or [`Arrival::Broken`](super::Arrival::Broken); while one is
    /// due, asking again does nothing.
    ///
    /// # Errors
    /// If the device fails.
    fn probe(&mut self, peer: Rank) -> Result<(), TransportError>;

    /// `peer` has left in good order: what is under way to it is given up, at the latest soon, since it
    /// may never be answered; and none of it is reported. By default everything is answered.
    fn disconnect(&mut self, _now: Instant, _peer: Rank) {}
}
