//! Packets that do not come to the second NIC, which is behind the port `p2` of the wire; what it sends gets through.

use std::process::Command;

/// The wire carries less, as long as this is there.
pub struct Drops;

impl Drops {
    /// Drops what the filters of `tc` match.
    pub fn begin(filters: &[&str]) -> Drops {
        tc("qdisc add dev p2 clsact");
        let drops = Drops;
        for filter in filters {
            tc(&format!("filter add dev p2 egress {filter}"));
        }
        drops
    }
}

impl Drop for Drops {
    fn drop(&mut self) {
        tc("qdisc del dev p2 clsact");
    }
}

/// Runs `tc`.
pub fn tc(arguments: &str) {
    let status = Command::new("tc").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "tc {arguments}");
}
