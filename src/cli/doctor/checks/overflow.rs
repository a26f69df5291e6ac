//! 25: datagrams without a posted receive.

use super::{ARRIVAL, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 25,
    expected: "datagrams without a posted receive are dropped, and the QP goes on",
    bound: Duration::from_secs(25),
    attempt,
};

const DEPTH: u32 = 16;
const SENT: usize = 200;

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, DEPTH)?;
    let Pair { joined, sender, receiver, .. } = &mut pair;
    for _ in 0..SENT {
        sender.send(joined, &[1; 64])?;
    }
    sender.settle()?;
    let mut places = Vec::new();
    while let Some((place, _)) = receiver.take(Duration::from_millis(200))? {
        places.push(place);
    }
    let kept = places.len();
    for place in places {
        receiver.post_place(place, receiver.place)?;
    }
    receiver.qp.submit_receives().map_err(|error| error.to_string())?;
    for _ in 0..3 {
        sender.send(joined, &[2; 64])?;
    }
    let goes_on = receiver.expect(ARRIVAL, |payload| payload[0] == 2)?.is_some();
    let came = format!("{kept} of {SENT} with {DEPTH} receives");
    Ok(match goes_on {
        true => Tried::holds(came),
        false => Tried::broken(came + "; nothing arrives after that", "please send the report"),
    })
}
