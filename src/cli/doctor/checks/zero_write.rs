//! 18: a write of nothing is acknowledged without the peer's CPU.

use crate::doctor::args::Assist;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::helper::Helper;
use crate::doctor::lab::{Lab, Line, LineEnd};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 18,
    expected: "the adapter of a process that sleeps acknowledges a write of nothing",
    bound: Duration::from_secs(40),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let (mut line, _helper) = connected(site, &lab)?;
    let id = line.number();
    line.qp.write_nothing(id).map_err(|error| error.to_string())?;
    Ok(match line.settle(4 * site.settings.ack_timeout) {
        Ok(took) => Tried::holds(format!("after {took:.1?}")),
        Err(what) => Tried::broken(
            what,
            "do reliable connections work here? Try ib_write_bw or ibv_rc_pingpong between two processes",
        ),
    })
}

/// A connection to a second process that does nothing.
pub fn connected(site: &Site, lab: &Lab) -> Result<(Line, Helper), String> {
    let mut line = Line::new(lab)?;
    let mut helper = Helper::start(site, Assist::Answer)?;
    let other: LineEnd = helper.hear()?;
    helper.say(&line.end())?;
    line.connect(&other, 1)?;
    let () = helper.hear()?;
    Ok((line, helper))
}
