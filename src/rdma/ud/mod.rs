//! UdPort: the UD QP, and what its receives will probably get.

mod deferred_drop;
mod extent;
mod port;
mod prediction;
mod restarts;
mod sender;

pub(super) use extent::Extent;
pub(super) use port::{Datagram, Place, UdPort};
pub(super) use prediction::Stream;
pub(super) use sender::Sender;
