//! 16: a flush gives back each posted receive once.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Arrival, Lab};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 16,
    expected: "each of 64 posted receives comes back once",
    bound: Duration::from_secs(15),
    attempt,
};

const POSTED: u32 = 64;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let joined = lab.join(site.draw_group())?;
    let (mut mailbox, _attachment) = lab.member(&joined, POSTED)?;
    mailbox.post(POSTED)?;
    mailbox.qp.give_up().map_err(|error| error.to_string())?;
    let mut times = [0; POSTED as usize];
    let mut count = 0;
    while let Some((place, arrival)) = mailbox.take(Duration::from_millis(300))? {
        if matches!(arrival, Arrival::Flushed(_)) {
            times[place as usize] += 1;
            count += 1;
        }
    }
    let came = format!("{count} of {POSTED}");
    Ok(match times.iter().all(|times| *times == 1) {
        true => Tried::holds(came),
        false => {
            Tried::broken(came, "please send the report; VERBCAST_ZERO_COPY=off goes without it")
        }
    })
}
