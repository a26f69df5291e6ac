//! 23: the shared receive queue.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::time::Duration;
use verbcast_verbs::{Pool, SharedReceiveQueue};

pub const CHECK: Check = Check {
    number: 23,
    expected: "a shared receive queue of the depth that is set can be made",
    bound: Duration::from_secs(10),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let limits = lab.context.limits().map_err(|error| error.to_string())?;
    let depth = site.settings.depths.reliable_receive;
    let came = format!("{depth} of at most {}", limits.max_srq_wr);
    let (pool, _) = Pool::new(&lab.domain, 1, 64).map_err(|error| error.to_string())?;
    Ok(match SharedReceiveQueue::new(&lab.domain, &pool, depth) {
        Ok(_) => Tried::holds(came),
        Err(error) => {
            Tried::broken(format!("{came}: {error}"), "set VERBCAST_RELIABLE_RECEIVE_DEPTH to less")
        }
    })
}
