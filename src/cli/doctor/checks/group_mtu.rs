//! 5: datagrams of the whole MTU.

use super::{ARRIVAL, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 5,
    expected: "a datagram of the port's MTU arrives unchanged",
    bound: Duration::from_secs(20),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    let payload: Vec<u8> = (0..site.mtu).map(|at| (at % 251) as u8).collect();
    // One may be lost.
    for _ in 0..3 {
        pair.sender.send(&pair.joined, &payload)?;
    }
    let came = pair.receiver.expect(ARRIVAL, |bytes| bytes == payload)?;
    Ok(match came {
        Some(_) => Tried::holds(format!("{} bytes", site.mtu)),
        None => Tried::broken(
            format!("short datagrams arrive, those of {} bytes do not", site.mtu),
            "the group or the network carries less than the port's MTU: on InfiniBand, a port of a \
             smaller MTU made the group; on RoCE, set the interface's and the switches' MTU to the \
             port's MTU and 100 bytes more",
        ),
    })
}
