//! 12: the time until a new group delivers.

use super::Pair;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 12,
    expected: "a datagram arrives at a second QP within the timeout of the set-up",
    bound: Duration::from_secs(25),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    match Pair::open(site, 16) {
        Ok(pair) => Ok(Tried::holds(format!("after {:.1?}", pair.took))),
        Err(what) => Ok(Tried::broken(
            what,
            "do the switches forward multicast (IGMP snooping needs a querier), and does a firewall \
             or another network namespace keep RoCE's UDP port 4791 away?",
        )),
    }
}
