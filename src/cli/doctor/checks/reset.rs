//! 11: attachments and reset.

use super::{ARRIVAL, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 11,
    expected: "a QP that was reset gets its group's datagrams without being attached again, or a new one in its place",
    bound: Duration::from_secs(25),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    let refused = pair.revive()?;
    pair.receiver.post(16)?;
    for number in 0..3 {
        pair.sender.send(&pair.joined, &[number; 48])?;
    }
    let came = pair.receiver.expect(ARRIVAL, |payload| payload.len() == 48)?;
    Ok(match (came, refused) {
        (Some(_), None) => Tried::holds("it gets them"),
        (Some(_), Some(refused)) => {
            Tried::holds(format!("it is not restarted ({refused}), and a new one gets them"))
        }
        (None, _) => Tried::broken(
            "nothing arrives after a reset",
            "after a failed receive this rank gets repairs only; please send the report",
        ),
    })
}
