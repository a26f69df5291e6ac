//! 17: the time until a peer that is gone is noticed.

use super::zero_write::connected;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 17,
    expected: "a write to a process that was killed fails in bounded time",
    bound: Duration::from_secs(60),
    attempt,
};

/// Times the configured timeout that an adapter may take. The standard lets it take four times what it was told.
const FACTOR: u32 = 8;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let (mut line, mut helper) = connected(site, &lab)?;
    helper.kill()?;
    let id = line.number();
    line.qp.write_nothing(id).map_err(|error| error.to_string())?;
    let timeout = site.settings.ack_timeout;
    let begun = std::time::Instant::now();
    let ended = line.settle(FACTOR * timeout);
    let took = begun.elapsed();
    Ok(match ended {
        Err(what) if took < FACTOR * timeout => {
            Tried::holds(format!("after {took:.1?}, with a timeout of {timeout:?}: {what}"))
        }
        Err(what) => Tried::broken(
            format!("{what}, with a timeout of {timeout:?}"),
            "a rank that dies is noticed by the timeout alone: set VERBCAST_TIMEOUT to seconds",
        ),
        Ok(_) => Tried::broken(
            format!("acknowledged after {took:.1?} by nobody"),
            "please send the report: dead ranks are not noticed here",
        ),
    })
}
