//! Two levels: ranks that share memory take a message off the wire once.
//!
//! The ranks of a communicator that share a host are a [node](Nodes). One of them, the *receiver*, is attached to the
//! group. What it receives it also publishes in a ring in the memory that its node mates share, and a root publishes its
//! own multicasts there. To a mate that ring is one more way on which multicast datagrams arrive: it may lose them, and
//! loss is normal. The protocols know nothing of it.
//!
//! Nobody waits for a mate. Publishing waits for no reader: who is slow is overrun, and fetches what it misses. A reader
//! waits for a writer that has stopped for [a bounded time](cursor::WRITER_PATIENCE) at most, and passes it by. The
//! receiver is whoever comes: it [tells](Role) that it polls, and when it has not for a while, a mate that does poll takes its
//! place.
//!
//! Here is what is decided, without the memory that it is decided about: a device maps that, a simulation makes it up.

pub mod cursor;
mod handover;
mod nodes;
mod role;
#[cfg(test)]
mod tests;

pub use cursor::{Cursor, Look, SlotState};
pub use nodes::Nodes;
pub use role::{
    Around, Change, MateIndex, PATIENCE, Role, SLEEPER_PATIENCE, WAITER_PATIENCE, Watch,
    longest_sleep,
};
