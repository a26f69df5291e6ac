//! UdPort: the UD QP, and what its receives will probably get.

mod deferred_drop;
mod port;
mod prediction;
mod restarts;

pub(super) use port::{Datagram, Place, UdPort};
pub(super) use prediction::Stream;
