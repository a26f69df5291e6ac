//! 3: the partition.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 3,
    expected: "the P_Key that is used is in the port's table, as a full member's",
    bound: Duration::from_secs(10),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = match Lab::open(site) {
        Ok(lab) => lab,
        Err(what) => {
            let advice = "set VERBCAST_PKEY to a P_Key of the port's table, or have the fabric's \
                          administrator make the port a member of the partition";
            return Ok(Tried::broken(what, advice));
        }
    };
    let partition = site.partition(&lab.context)?;
    let came = format!("{:#06x} at index {}", partition.pkey, partition.index);
    Ok(match partition.pkey & 0x8000 {
        0 => Tried::broken(
            came + ", a limited member",
            "limited members do not reach one another: have the fabric's administrator make the port a \
             full member of a partition",
        ),
        _ => Tried::holds(came),
    })
}
