//! 26: the order of a sender's multicasts.

use super::Pair;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Arrival, GRH};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 26,
    expected: "what one QP multicasts arrives in its order",
    bound: Duration::from_secs(25),
    attempt,
};

const SENT: u32 = 1000;

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 256)?;
    let Pair { joined, sender, receiver, .. } = &mut pair;
    let (mut count, mut late, mut last) = (0, 0, None);
    for number in 0..SENT {
        sender.send(joined, &number.to_be_bytes())?;
        let wait = if number + 1 == SENT { 500 } else { 0 };
        while let Some(arrival) = receiver.receive(Duration::from_millis(wait))? {
            let Arrival::Datagram(bytes) = arrival else { continue };
            let Some(bytes) = bytes.get(GRH..GRH + 4) else { continue };
            let number = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            count += 1;
            late += u32::from(last.is_some_and(|last| number < last));
            last = last.max(Some(number));
        }
    }
    let came = format!("{count} of {SENT}, {late} late");
    // Datagrams in another order cost repairs, and nothing else.
    Ok(match late {
        0 => Tried::holds(came),
        _ => Tried::broken(
            came,
            "adaptive routing or a bond of links? Broadcasts are right but slow",
        ),
    })
}
