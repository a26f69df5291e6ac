//! 15: a datagram that is longer than the receive it meets.

use super::{ARRIVAL, PAUSE, Pair};
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Arrival, GRH, Joined, Mailbox};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 15,
    expected: "it is dropped or fails a receive, and the QP receives again, after a restart at most",
    bound: Duration::from_secs(30),
    attempt,
};

const SHORT: usize = 64;

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    restart(&mut pair, SHORT)?;
    let Pair { joined, sender, receiver, .. } = &mut pair;
    sender.send(joined, &[7; 4 * SHORT])?;
    sender.settle()?;
    let what = match receiver.take(Duration::from_millis(500))? {
        None => "it is dropped".to_owned(),
        Some((_, Arrival::Failed(what))) => format!("it fails a receive: {what}"),
        Some((_, Arrival::Flushed(_))) => "receives are flushed".to_owned(),
        Some((_, Arrival::Datagram(bytes))) => format!("it arrives, {} bytes of it", bytes.len()),
    };
    if hears(joined, sender, receiver)? {
        return Ok(Tried::holds(format!("{what}; the QP goes on")));
    }
    let len = receiver.place;
    restart(&mut pair, len)?;
    let Pair { joined, sender, receiver, .. } = &mut pair;
    Ok(match hears(joined, sender, receiver)? {
        true => Tried::holds(format!("{what}; the QP receives again after a restart")),
        false => Tried::broken(
            format!("{what}; the QP receives nothing, even after a restart"),
            "please send the report",
        ),
    })
}

/// Makes the QP as new, with receives for payloads of `len` bytes.
fn restart(pair: &mut Pair, len: usize) -> Result<(), String> {
    pair.revive()?;
    let receiver = &mut pair.receiver;
    let len = (GRH + len).min(receiver.place);
    (0..16).try_for_each(|place| receiver.post_place(place, len))?;
    receiver.qp.submit_receives().map_err(|error| error.to_string())
}

fn hears(joined: &Joined, sender: &mut Mailbox, receiver: &mut Mailbox) -> Result<bool, String> {
    for _ in 0..ARRIVAL.as_millis() / PAUSE.as_millis() / 4 {
        sender.send(joined, &[9; SHORT])?;
        while let Some((_, arrival)) = receiver.take(PAUSE)? {
            if matches!(&arrival, Arrival::Datagram(bytes) if bytes.len() == GRH + SHORT) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
