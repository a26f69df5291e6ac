//! 21: bytes that are sent inline.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Lab, Line, Mailbox};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 21,
    expected: "QPs say how many bytes they take inline",
    bound: Duration::from_secs(10),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let datagrams = Mailbox::new(&lab, 0, 1)?.qp.max_inline();
    let connections = Line::new(&lab)?.qp.max_inline();
    Ok(Tried::holds(format!("{datagrams} in datagrams, {connections} on connections")))
}
