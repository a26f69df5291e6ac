//! 9: the place of the payload.

use super::{ARRIVAL, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Arrival, GRH};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 9,
    expected: "a payload begins 40 bytes into its receive",
    bound: Duration::from_secs(20),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    let payload: Vec<u8> = (0..200).collect();
    pair.sender.send(&pair.joined, &payload)?;
    let arrival = pair.receiver.receive(ARRIVAL)?;
    let Some(Arrival::Datagram(bytes)) = arrival else {
        return Ok(Tried::broken("nothing arrived", "see the first delivery (12)"));
    };
    let at = bytes.windows(payload.len()).position(|window| window == payload);
    let length = bytes.len();
    let came = match at {
        Some(at) => format!("payload at {at}, {length} bytes told for {} sent", payload.len()),
        None => format!("{length} bytes told for {} sent, and not the payload", payload.len()),
    };
    Ok(match at == Some(GRH) && length == GRH + payload.len() {
        true => Tried::holds(came),
        false => Tried::broken(came, "this adapter's driver does not follow the verbs: update it"),
    })
}
