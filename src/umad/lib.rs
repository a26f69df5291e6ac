//! Safe RAII over libibumad: a [`Port`] sends subnet management packets and waits for the answers; a
//! [`SubnetAdministrator`] is asked for memberships in multicast groups.
//!
//! It needs read and write access to `/dev/infiniband/umad*`, which is root's, or a fabric that is simulated:
//! with ibsim's `libumad2sim.so` preloaded, libibumad's device files are those of a simulated host.

mod channel;
mod claim;
mod error;
mod member_record;
mod port;
mod sa;
mod sa_packet;
mod simulated;

pub use error::Error;
pub use member_record::MemberRecord;
pub use port::{Patience, Port};
pub use sa::{NewGroup, SaError, SaMembership, SubnetAdministrator};
