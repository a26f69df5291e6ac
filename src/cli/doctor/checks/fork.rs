//! 28: registered memory when the program forks.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::inventory;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 28,
    expected: "registered memory stays the parent's, or verbcast keeps its own from children",
    bound: Duration::from_secs(5),
    attempt,
};

/// Nothing is forked: what holds is the kernel's, or verbcast's own doing.
fn attempt(_: &Site) -> Result<Tried, String> {
    Ok(Tried::holds(inventory::fork()))
}
