//! Datagrams: the UD QP, and what its receives will probably get.

mod leaving;
mod port;
mod prediction;

pub(super) use port::{DEFAULT_QKEY, Datagram, Datagrams, Place, Tail, fill};
