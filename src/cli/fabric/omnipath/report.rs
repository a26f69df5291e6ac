//! What the manager did.

use super::args::OmnipathArgs;
use serde::Serialize;
use std::fmt::Write;
use verbcast_fabric::omnipath::{Change, JoinError, Manager, MemberKind, Mgid};
use verbcast_fabric::{Checker, ShapedTopology, Topology};

#[derive(Serialize)]
pub struct Report {
    fabric: String,
    manager: String,
    root: Root,
    pub events: Vec<Happened>,
    groups: Vec<Group>,
    mlids_in_use: usize,
    mlid_table_cap: u16,
}

/// The root of the tree, and what the tree carries over all switches; nothing if they are not connected.
#[derive(Serialize)]
struct Root {
    switch: Option<String>,
    cost: Option<u64>,
    mtu: Option<u16>,
    rate_mbps: Option<u32>,
}

/// An event, and what came of it.
#[derive(Serialize)]
pub struct Happened {
    event: String,
    mlid: Option<u16>,
    /// Blocks of 32 MLIDs that were written, each counted at each switch.
    blocks: Option<usize>,
    /// The root afterwards, of a changed fabric.
    root: Option<String>,
    refused: Option<String>,
}

#[derive(Serialize)]
struct Group {
    mgid: String,
    mlid: u16,
    pkey: u16,
    mtu: u16,
    rate_mbps: u32,
    members: usize,
    /// What is wrong with the copies of a member's packet, if anything is.
    violation: Option<String>,
}

impl Root {
    fn new(topology: &Topology, manager: &Manager) -> Root {
        let root = manager.root();
        Root {
            switch: root.map(|root| topology.node(root.switch).name.clone()),
            cost: root.map(|root| root.cost),
            mtu: manager.tree().map(|tree| tree.mtu),
            rate_mbps: manager.tree().map(|tree| tree.rate_mbps),
        }
    }
}

impl Happened {
    fn changed(event: String, change: Result<Change, String>) -> Happened {
        let (mlid, blocks) = match &change {
            Ok(Change { mlid, blocks }) => (Some(*mlid), Some(*blocks)),
            Err(_) => (None, None),
        };
        Happened { event, mlid, blocks, root: None, refused: change.err() }
    }

    pub fn join(
        host: &str,
        mgid: Mgid,
        kind: MemberKind,
        change: Result<Change, JoinError>,
    ) -> Happened {
        let kind = match kind {
            MemberKind::Full => "",
            MemberKind::NonMember => ", non-member",
            MemberKind::SendOnly => ", send-only",
        };
        let event = format!("join {host} to {}{kind}", written(mgid));
        Happened::changed(event, change.map_err(|error| error.to_string()))
    }

    pub fn leave(host: &str, mgid: Mgid, change: Option<Change>) -> Happened {
        let event = format!("leave {host} from {}", written(mgid));
        Happened::changed(event, change.ok_or_else(|| "it was not a member".to_owned()))
    }

    pub fn sweep(topology: &Topology, manager: &Manager, blocks: usize) -> Happened {
        let root = manager.root().map(|root| topology.node(root.switch).name.clone());
        let event = "the fabric has changed".to_owned();
        Happened { event, mlid: None, blocks: Some(blocks), root, refused: None }
    }

    fn outcome(&self) -> String {
        if let Some(refused) = &self.refused {
            return format!("refused: {refused}");
        }
        let mlid = self.mlid.map(|mlid| format!("MLID 0x{mlid:x}, "));
        let root = self.root.as_ref().map(|root| format!("root {root}, "));
        let blocks = self.blocks.unwrap_or(0);
        let plural = if blocks == 1 { "" } else { "s" };
        format!("{}{blocks} block{plural} written", mlid.or(root).unwrap_or_default())
    }
}

impl Report {
    pub fn new(
        args: &OmnipathArgs,
        loaded: &ShapedTopology,
        host: u32,
        manager: &Manager,
    ) -> Report {
        Report {
            fabric: args.fabric.fabric.to_string(),
            manager: loaded.host_name(host).to_owned(),
            root: Root::new(loaded.topology(), manager),
            events: Vec::new(),
            groups: Vec::new(),
            mlids_in_use: 0,
            mlid_table_cap: manager.mlids(),
        }
    }

    /// Adds what there is in the end, and checks that every member's packets reach all others.
    pub fn finish(&mut self, topology: &Topology, manager: &Manager) {
        let mut checker = Checker::new(topology);
        self.mlids_in_use = manager.mlids_in_use();
        for group in manager.groups() {
            let entries = manager.entries(group.mlid);
            let receivers = manager.receivers(group);
            let mut outcomes =
                group.members.keys().map(|source| checker.check(&entries, &receivers, *source));
            let violation = outcomes.find_map(Result::err);
            self.groups.push(Group {
                mgid: written(group.mgid),
                mlid: group.mlid,
                pkey: group.terms.pkey,
                mtu: group.terms.mtu,
                rate_mbps: group.terms.rate_mbps,
                members: group.members.len(),
                violation: violation.map(|violation| violation.describe(topology)),
            });
        }
    }

    /// What was refused, and groups whose packets do not come to whom they should.
    pub fn failures(&self) -> Vec<String> {
        let refused = self.events.iter().filter_map(|event| {
            event.refused.as_ref().map(|refused| format!("{}: {refused}", event.event))
        });
        let broken = self.groups.iter().filter_map(|group| {
            group.violation.as_ref().map(|violation| format!("{}: {violation}", group.mgid))
        });
        refused.chain(broken).collect()
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<12}{value}");
        };
        line("fabric", self.fabric.clone());
        line("manager", self.manager.clone());
        let Root { switch, cost, mtu, rate_mbps } = &self.root;
        line(
            "root",
            match (switch, cost) {
                (Some(switch), Some(cost)) => format!("{switch}, cost {cost}"),
                _ => "none: there are no switches".to_owned(),
            },
        );
        line(
            "tree",
            match (mtu, rate_mbps) {
                (Some(0), _) => "one switch".to_owned(),
                (Some(mtu), Some(rate)) => {
                    format!("all switches, MTU {mtu}, {} Gbit/s", f64::from(*rate) / 1000.0)
                }
                _ => "none: the switches are not connected with one another".to_owned(),
            },
        );
        for event in &self.events {
            line("", format!("{}: {}", event.event, event.outcome()));
        }
        line("MLIDs", format!("{} of {} in use", self.mlids_in_use, self.mlid_table_cap));
        for group in &self.groups {
            let Group { mgid, mlid, pkey, mtu, rate_mbps, members, violation } = group;
            let rate = f64::from(*rate_mbps) / 1000.0;
            let terms = format!("P_Key 0x{pkey:x}, MTU {mtu}, {rate} Gbit/s");
            let state = match (violation, members) {
                (Some(violation), _) => format!("{members} members: {violation}"),
                (None, 0) => "created beforehand".to_owned(),
                (None, 1) => "1 member".to_owned(),
                (None, _) => format!("{members} members, each gets one copy"),
            };
            line("", format!("0x{mlid:x}  {mgid}  {terms}, {state}"));
        }
        text
    }
}

fn written(mgid: Mgid) -> String {
    std::net::Ipv6Addr::from(mgid).to_string()
}
