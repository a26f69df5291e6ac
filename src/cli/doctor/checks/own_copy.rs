//! 7: own copies.

use super::{ARRIVAL, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 7,
    expected: "the sending QP gets a copy, or none; never two",
    bound: Duration::from_secs(30),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    let Pair { joined, sender, receiver, .. } = &mut pair;
    let sent = 8;
    for number in 0..sent {
        sender.send(joined, &[number; 32])?;
    }
    sender.settle()?;
    // Once another QP has the last one, a copy of its own is not far.
    receiver.expect(ARRIVAL, |payload| payload[0] == sent - 1)?;
    let mut copies = 0;
    while sender.expect(Duration::from_millis(100), |payload| payload.len() == 32)?.is_some() {
        copies += 1;
    }
    let came = format!("{copies} own copies of {sent} datagrams");
    Ok(match copies <= usize::from(sent) {
        true => Tried::holds(came),
        false => Tried::broken(came, "packets are duplicated: is there a loop in the network?"),
    })
}
