//! What is wrong with a protocol's parameters.

/// A parameter of a protocol that makes no sense, alone or with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The length of fragments is zero.
    #[error("a fragment needs at least one byte")]
    FragmentLen,
    /// The root may not send anything ahead.
    #[error("the root must be allowed one fragment of run-ahead")]
    RunAhead,
    /// No operation may be in flight.
    #[error("at least one operation must be allowed in flight")]
    NoneInFlight,
    /// Operations in flight could not be told apart.
    #[error("too many operations in flight to number")]
    TooManyInFlight,
    /// The window is not a power of two.
    #[error("the window must be a power of two")]
    WindowSize,
    /// The window's slots could not be told apart.
    #[error("the window is too large to number")]
    WindowTooLarge,
    /// Broadcasts are acknowledged after every zero of them.
    #[error("every 0th broadcast cannot be acknowledged")]
    Acknowledge,
    /// The root has no credit.
    #[error("a root without any credit could not send")]
    NoCredits,
    /// Credits could not be told apart.
    #[error("too many credits to number")]
    TooManyCredits,
    /// The timeouts of repairs are zero, or out of order.
    #[error("the timeouts must be above zero, and least, initial and most in this order")]
    Patience,
    /// An acknowledgement is due before it is owed.
    #[error("an acknowledgement cannot be owed for no time at all")]
    AcknowledgeAfter,
    /// A rank may not send anything to another one.
    #[error("a rank must be allowed one packet at another")]
    Eager,
}
