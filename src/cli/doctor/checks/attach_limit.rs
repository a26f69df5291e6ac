//! 10: attach to the limit.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Lab, Mailbox};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 10,
    expected: "as many QPs as max_mcast_qp_attach can be attached to a group, and the next is refused",
    bound: Duration::from_secs(30),
    attempt,
};

/// More are not tried: each is a QP of this host.
const MOST: u32 = 300;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let limits = lab.context.limits().map_err(|error| error.to_string())?;
    let limit = u32::try_from(limits.max_mcast_qp_attach).unwrap_or(0);
    let joined = lab.join(site.draw_group())?;
    let mut members = Vec::new();
    let mut refused = None;
    while members.len() < limit.min(MOST) as usize + 1 && refused.is_none() {
        let mailbox = Mailbox::new(&lab, joined.path.qkey, 1)?;
        match mailbox.attach(&joined) {
            // The attachment goes first.
            Ok(attachment) => members.push((attachment, mailbox)),
            Err(error) => refused = Some(error),
        }
    }
    let count = members.len() as u32;
    Ok(match refused {
        None if limit > MOST => Tried::holds(format!("{count} of {limit}; more were not tried")),
        None => Tried::holds(format!("{count}, although the limit is {limit}")),
        Some(_) if count == limit => Tried::holds(format!("{count}, the next is refused")),
        Some(error) => Tried::broken(
            format!("{count} of {limit}: {error}"),
            format!(
                "the driver promises more than it has: at most {count} ranks on this host can be in a \
                 group"
            ),
        ),
    })
}
