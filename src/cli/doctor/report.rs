//! All that the doctor has found, at one host or several.

use super::finding::{Finding, Outcome};
use super::hide::hide;
use super::inventory::Host;
use crate::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What one host has found by itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostReport {
    pub rank: u32,
    pub host: Host,
    /// The port that was tried, or why there is none.
    pub tried: Result<String, String>,
    pub findings: Vec<Finding>,
}

impl Message for HostReport {
    const FORMAT: &'static str = "verbcast doctor host 1";
}

/// Everything.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub ranks: u32,
    pub hosts: Vec<HostReport>,
    /// What the ranks have found together.
    pub together: Vec<Finding>,
    pub seconds: f64,
    /// Why this is not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
}

impl Report {
    /// All that is wrong, with the host that found it, if one did by itself.
    pub fn broken(&self) -> impl Iterator<Item = (Option<&HostReport>, &Finding)> {
        let own = self
            .hosts
            .iter()
            .flat_map(|host| host.findings.iter().map(move |finding| (Some(host), finding)));
        let together = self.together.iter().map(|finding| (None, finding));
        own.chain(together).filter(|(_, finding)| finding.outcome == Outcome::Broken)
    }

    /// Whether nothing is wrong.
    pub fn is_healthy(&self) -> bool {
        let is_whole = self.unfinished.is_none() && self.broken().next().is_none();
        is_whole && self.hosts.iter().all(|host| host.tried.is_ok())
    }

    /// What may be sent: names of hosts, GUIDs and addresses are replaced.
    pub fn to_json(&self, salt: &str) -> Result<Value, serde_json::Error> {
        let mut value = json!({
            "format": "verbcast doctor 1",
            "healthy": self.is_healthy(),
            "report": serde_json::to_value(self)?,
            "please": "send this file",
        });
        hide(&mut value, &self.secrets(), salt);
        Ok(value)
    }

    fn secrets(&self) -> BTreeSet<String> {
        let mut secrets = BTreeSet::new();
        for HostReport { host, .. } in &self.hosts {
            secrets.insert(host.name.clone());
            secrets.extend(host.name.split('.').next().map(str::to_owned));
            for adapter in &host.adapters {
                secrets.insert(adapter.guid.clone());
                for port in &adapter.ports {
                    for gid in &port.gids {
                        secrets.insert(gid.gid.clone());
                        secrets.extend(gid.gid.strip_prefix("::ffff:").map(str::to_owned));
                    }
                    secrets.extend(port.ipoib.iter().flat_map(|one| one.addresses.clone()));
                }
            }
        }
        secrets
    }
}

/// One host with one finding.
#[cfg(test)]
pub fn example(outcome: super::finding::Tried) -> Report {
    use super::inventory::{Adapter, Gid, PortInventory};
    use std::collections::BTreeMap;

    let gid = Gid {
        index: 1,
        gid: "::ffff:10.9.0.1".to_owned(),
        kind: "RoCE v2".to_owned(),
        interface: Some("eth9".to_owned()),
    };
    let port = PortInventory {
        number: 1,
        is_active: true,
        link_layer: "Ethernet".to_owned(),
        mtu: 4096,
        rate: Some(100_000),
        lid: 0,
        sm_lid: 0,
        sm_sl: 0,
        p_keys: vec!["0xffff".to_owned()],
        gids: vec![gid],
        ipoib: Vec::new(),
        problem: None,
    };
    let adapter = Adapter {
        name: "rxe0".to_owned(),
        guid: "0123456789abcdef".to_owned(),
        kind: Some("SoftRoCE".to_owned()),
        vendor: 0xff_ffff,
        part: 0,
        firmware: String::new(),
        limits: BTreeMap::new(),
        ports: vec![port],
        error: None,
    };
    let host = Host {
        name: "login7".to_owned(),
        verbcast: "0".to_owned(),
        kernel: "6.12".to_owned(),
        rdma_core: None,
        locked_memory: Some(65_536),
        fork: "copied".to_owned(),
        adapters: vec![adapter],
    };
    let findings = vec![Finding::new(1, "a join", outcome)];
    let tried = Ok("rxe0 port 1".to_owned());
    let hosts = vec![HostReport { rank: 0, host, tried, findings }];
    Report { ranks: 1, hosts, seconds: 1.5, ..Report::default() }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Tried;
    use super::*;

    #[test]
    fn a_report_says_what_is_wrong_and_not_where_it_comes_from() {
        let report = example(Tried::broken("10.9.0.1 on login7: no", "do something"));
        assert!(!report.is_healthy());
        let text = report.to_json("salt").unwrap().to_string();
        for secret in ["login7", "10.9.0.1", "0123456789abcdef"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("send this file") && text.contains("do something"), "{text}");
        assert!(example(Tried::holds("joined")).is_healthy());
        assert!(example(Tried::not_tried("no")).is_healthy());
    }
}
