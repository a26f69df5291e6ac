//! 2: a group of our own is joined by asking the subnet administrator.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Lab, QKEY};
use crate::doctor::site::Site;
use std::time::Duration;
use verbcast_umad::SaError;

pub const CHECK: Check = Check {
    number: 2,
    expected: "the subnet administrator makes a group as it is asked to",
    bound: Duration::from_secs(15),
    attempt,
};

const PATIENCE: Duration = Duration::from_secs(10);

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    Ok(match lab.request(site.draw_group(), PATIENCE) {
        Ok(membership) => {
            let record = membership.record();
            let (mlid, mtu, qkey) = (record.mlid, record.mtu(), record.qkey);
            let came = format!("MLID {mlid:#06x}, MTU {mtu}, Q_Key {qkey:#010x}");
            match (mtu >= site.mtu, qkey) {
                (true, QKEY) => Tried::holds(came),
                _ => Tried::broken(
                    format!("{came}, asked for {} and {QKEY:#010x}", site.mtu),
                    "the subnet manager makes groups by rules of its own: see its partitions' configuration",
                ),
            }
        }
        Err(error @ SaError::Unusable(_)) => Tried::not_tried(format!(
            "needs read and write access to /dev/infiniband/umad* ({error}); IPoIB does without"
        )),
        Err(error @ (SaError::NoManager(_) | SaError::Silent(_))) => Tried::broken(
            error.to_string(),
            "start the subnet manager, or see why it does not reach this port (sminfo, ibdiagnet)",
        ),
        Err(error) => Tried::broken(error.to_string(), "see the subnet manager's log"),
    })
}
