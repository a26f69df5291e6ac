//! 4: the Q_Key of a group.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 4,
    expected: "a Q_Key without the high bit",
    bound: Duration::from_secs(15),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let qkey = Lab::open(site)?.join(site.draw_group())?.path.qkey;
    let came = format!("{qkey:#010x}");
    Ok(match qkey >> 31 {
        0 => Tried::holds(came),
        _ => {
            Tried::broken(came, "such groups are for privileged programs; which rdma-core is this?")
        }
    })
}
