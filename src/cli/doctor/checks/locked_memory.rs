//! 29: locked memory.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use crate::units;
use std::time::Duration;
use verbcast_verbs::{Access, Shared};

pub const CHECK: Check = Check {
    number: 29,
    expected: "the memory of a process can be registered",
    bound: Duration::from_secs(10),
    attempt,
};

/// Ranks that a process is asked to have room for.
const RANKS: u32 = 64;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let needed = site.settings.registered_memory(site.mtu, RANKS);
    let limit = crate::doctor::inventory::locked_memory();
    let limit = limit.map_or("unlimited".to_owned(), units::bytes);
    let said = format!("{} needed, limit {limit}", units::bytes(needed as u64));
    match Shared::new(&lab.domain, needed, Access::None) {
        Ok(_) => Ok(Tried::holds(said)),
        Err(error) => Ok(Tried::broken(
            format!("{said}: {error}"),
            "raise the limit on locked memory (memlock): `ulimit -l unlimited`, \
             /etc/security/limits.d, LimitMEMLOCK=infinity of the service that starts jobs (slurmd)",
        )),
    }
}
