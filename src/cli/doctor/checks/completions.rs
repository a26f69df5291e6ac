//! 24: a completion queue under load.

use super::Pair;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Arrival;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 24,
    expected: "every send completes while the queue is resized",
    bound: Duration::from_secs(25),
    attempt,
};

const SENT: u32 = 2000;

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 128)?;
    let Pair { joined, sender, receiver, .. } = &mut pair;
    let mut arrived = 0;
    for number in 0..SENT {
        sender.send(joined, &[3; 32])?;
        if number == SENT / 2 {
            receiver.cq.resize(512).map_err(|error| error.to_string())?;
        }
        while let Some(arrival) = receiver.receive(Duration::ZERO)? {
            arrived += u32::from(matches!(arrival, Arrival::Datagram(_)));
        }
        while sender.receive(Duration::ZERO)?.is_some() {}
    }
    sender.settle()?;
    while let Some(arrival) = receiver.receive(Duration::from_millis(200))? {
        arrived += u32::from(matches!(arrival, Arrival::Datagram(_)));
    }
    let came = format!("all of {SENT}; {arrived} arrived");
    Ok(match arrived {
        0 => Tried::broken(came, "please send the report"),
        _ => Tried::holds(came),
    })
}
