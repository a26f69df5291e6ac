//! 11: attachments and reset.

use super::{ARRIVAL, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 11,
    expected: "a QP that was reset gets its group's datagrams without being attached again",
    bound: Duration::from_secs(25),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    let receiver = &mut pair.receiver;
    let refused = |error: verbcast_verbs::Error| error.to_string();
    receiver.qp.give_up().map_err(refused)?;
    while receiver.take(Duration::from_millis(100))?.is_some() {}
    receiver.qp.reset().map_err(refused)?;
    receiver.ready()?;
    receiver.post(16)?;
    for number in 0..3 {
        pair.sender.send(&pair.joined, &[number; 48])?;
    }
    let came = receiver.expect(ARRIVAL, |payload| payload.len() == 48)?;
    Ok(match came {
        Some(_) => Tried::holds("it gets them"),
        None => Tried::broken(
            "nothing arrives after a reset",
            "after a failed receive this rank gets repairs only; please send the report",
        ),
    })
}
