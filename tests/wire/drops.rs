//! Packets that do not come to the second NIC, which is behind the port `p2` of the wire; what it sends gets through.

use std::process::{Command, Stdio};
use std::thread;

/// The wire carries less, as long as this is there.
pub struct Drops;

impl Drops {
    /// Drops what the filters of `tc` match.
    pub fn begin(filters: &[&str]) -> Drops {
        // What a test that was killed has left would be in the way.
        let _ = command("qdisc del dev p2 clsact").stderr(Stdio::null()).status();
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
        tc_at_end("qdisc del dev p2 clsact");
    }
}

/// Runs `tc`.
pub fn tc(arguments: &str) {
    let status = command(arguments).status().unwrap();
    assert!(status.success(), "tc {arguments}: {status}");
}

/// The same at the end of a test: of one that fails already, a further panic would end all tests.
pub fn tc_at_end(arguments: &str) {
    let status = command(arguments).status().unwrap();
    assert!(status.success() || thread::panicking(), "tc {arguments}: {status}");
}

fn command(arguments: &str) -> Command {
    let mut command = Command::new("tc");
    command.args(arguments.split(' '));
    command
}
