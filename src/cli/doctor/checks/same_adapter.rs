//! 8: other QPs of the sending adapter, in this process and another.

use super::{ARRIVAL, FIRST_ARRIVAL, Pair};
use crate::doctor::args::Assist;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::helper::{Heard, Helper};
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 8,
    expected: "a second QP in this process, and one in a second process, get copies",
    bound: Duration::from_secs(40),
    attempt,
};

const SENT: u8 = 8;

fn attempt(site: &Site) -> Result<Tried, String> {
    let mut pair = Pair::open(site, 16)?;
    for number in 0..SENT {
        pair.sender.send(&pair.joined, &[number; 32])?;
    }
    let mut here = 0;
    while here < SENT && pair.receiver.expect(ARRIVAL, |payload| payload.len() == 32)?.is_some() {
        here += 1;
    }
    let there = elsewhere(site)?;
    let came = format!("of {SENT} datagrams, {here} in this process, {there} in a second one");
    Ok(match (here, there) {
        (0, _) | (_, 0) => Tried::broken(
            came,
            "this adapter keeps multicasts from its own host: run one rank on each host, or \
             VERBCAST_MULTICAST=off for several ranks on one",
        ),
        _ => Tried::holds(came),
    })
}

/// How many of the datagrams arrive in another process.
fn elsewhere(site: &Site) -> Result<usize, String> {
    let mut helper = Helper::start(site, Assist::Listen)?;
    let group = site.draw_group();
    helper.say(&group)?;
    let () = helper.hear()?;
    let lab = Lab::open(site)?;
    let joined = lab.join(group)?;
    let (mut sender, _attachment) = lab.member(&joined, 1)?;
    // A new group needs time on InfiniBand: what is sent is spread over that.
    let pause = match site.link_layer {
        verbcast_verbs::LinkLayer::InfiniBand => FIRST_ARRIVAL / 40,
        _ => Duration::from_millis(20),
    };
    for number in 0..SENT {
        sender.send(&joined, &[number; 32])?;
        std::thread::sleep(pause);
    }
    sender.settle()?;
    helper.say(&())?;
    let heard: Heard = helper.hear()?;
    Ok(heard.datagrams)
}
