//! Broadcasts that are over in the call that begins them.

use verbcast_core::driver::{Driver, Failure};
use verbcast_core::protocol::Core;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::time::Instant;
use verbcast_core::transport::Transport;

/// Sends or takes the message of the next broadcast, of a root that is this rank or another, if it is short and nothing else is
/// to be done; which broadcast it was.
pub(super) fn call<C: Core, T: Transport>(
    driver: &mut Driver<C, T>,
    now: Instant,
    (root, is_own): (Rank, bool),
    message: &mut [u8],
) -> Result<Option<OpId>, Failure> {
    if is_own {
        return driver.send_short(now, message);
    }
    match driver.is_short(now, root, message.len()) {
        true => driver.take_short((now, now), root, message),
        false => Ok(None),
    }
}
