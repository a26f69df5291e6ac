//! Two NICs towards which the wire loses nothing by itself: for tests of one certain loss, which a second one would change.

use crate::drops::{tc, tc_at_end};
use std::process::Command;

/// The wire towards the first two NICs loses nothing by itself, as long as this is there.
pub struct Calm(Vec<(&'static str, String)>);

impl Calm {
    /// Takes the `netem` away that these ports have, if they do.
    pub fn begin() -> Calm {
        let ports = ["p1", "p2"].into_iter();
        let calm = Calm(ports.filter_map(|port| Some((port, netem_of(port)?))).collect());
        for (port, _) in &calm.0 {
            tc(&format!("qdisc del dev {port} root"));
        }
        calm
    }
}

impl Drop for Calm {
    fn drop(&mut self) {
        for (port, options) in &self.0 {
            tc_at_end(&format!("qdisc add dev {port} root netem {options}"));
        }
    }
}

/// The options of a port's `netem`, if it has one: of `qdisc netem 8001: root refcnt 2 limit 20000 loss 5%` the end from
/// `limit` on.
fn netem_of(port: &str) -> Option<String> {
    let output = Command::new("tc").args(["qdisc", "show", "dev", port, "root"]).output().unwrap();
    assert!(output.status.success(), "tc qdisc show dev {port} root");
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = shown.lines().find(|line| line.starts_with("qdisc netem "))?;
    let options = &line[line.find("limit ").unwrap()..];
    Some(options.trim().replace("  ", " "))
}
