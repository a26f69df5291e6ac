//! How ranks wait for one that works for long at its disk.
//!
//! A vote at the rendezvous has to come to its end within the timeout, but to write or to read back a large file may take
//! longer. So the ranks meet over the communicator before they vote: there a rank waits for one that is alive, however
//! long that works.

use crate::launch::decide::blame;
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

/// Packets that rank 0 multicasts for a meeting.
pub const PACKETS: u64 = 2;

/// Returns when every rank has called it with success; or else tells the others what is wrong here. An error starts with
/// the name of the rank it comes from.
pub fn meet<T>(caster: &mut Broadcaster, outcome: Result<T, String>) -> Result<T, String> {
    match outcome {
        Ok(value) => wait(caster).map(|()| value).map_err(|error| error.to_string()),
        Err(what) => {
            caster.abort(&what);
            Err(blame(caster.rank(), what))
        }
    }
}

fn wait(caster: &mut Broadcaster) -> Result<(), verbcast::broadcast::Error> {
    let is_root = caster.rank() == Rank(0);
    // Rank 0 knows of the first byte that all have it when they have come; the second one tells them.
    for _ in 0..PACKETS {
        if is_root {
            caster.flush()?;
        }
        caster.broadcast_into(Rank(0), &mut [0_u8])?;
    }
    Ok(())
}
