//! What was done, or would be.

use super::groups::Group;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use verbcast_fabric::ShapedTopology;
use verbcast_fabric::program::Task;
use verbcast_fabric::smp::MftBlock;

#[derive(Serialize)]
pub struct Report {
    fabric: String,
    /// The port by which packets were sent.
    port: String,
    simulated: bool,
    scheme: &'static str,
    groups: Vec<GroupReport>,
    blocks: Vec<Block>,
    /// Whether the blocks were written, and read back the same.
    pub written: bool,
    /// The file with what was there before.
    pub saved: Option<String>,
    /// Packets that were sent in all, without those that were sent again.
    pub packets: u64,
}

#[derive(Serialize)]
struct GroupReport {
    members: Vec<String>,
    tables: Vec<TableReport>,
}

#[derive(Serialize)]
struct TableReport {
    mlid: u16,
    sources: Vec<String>,
}

/// What one packet writes.
#[derive(Serialize)]
pub struct Block {
    switch: String,
    guid: String,
    block: u16,
    position: u8,
    /// Ports by MLID.
    ports: BTreeMap<u16, Vec<u8>>,
}

impl Block {
    /// A block of a switch, as it is after a change or, if `is_before`, before.
    pub fn new(task: &Task, is_before: bool) -> Block {
        let change = &task.change;
        let block: MftBlock = if is_before { change.before() } else { change.after() };
        Block {
            switch: change.switch.clone(),
            guid: format!("0x{:016x}", change.guid),
            block: change.block,
            position: change.position,
            ports: change.entries(&block),
        }
    }

    pub fn text(&self, text: &mut String) {
        let Block { switch, guid, block, position, ports } = self;
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {switch:<12} GUID {guid}  block {block} position {position}");
        for (mlid, ports) in ports {
            let ports: Vec<String> = ports.iter().map(u8::to_string).collect();
            let _ = writeln!(text, "    0x{mlid:x}  {}", ports.join(" "));
        }
        if ports.is_empty() {
            let _ = writeln!(text, "    empty");
        }
    }
}

/// Where it was done: what comes first in all that is printed.
pub struct Scene<'a> {
    pub fabric: String,
    pub port: &'a str,
    pub simulated: bool,
}

impl Scene<'_> {
    pub fn text(&self) -> String {
        let Scene { fabric, port, simulated } = self;
        let kind = if *simulated { "simulated" } else { "a real fabric" };
        format!("{:<12}{fabric}\n{:<12}{port}, {kind}\n", "fabric", "by")
    }
}

impl Report {
    pub fn new(
        scene: &Scene<'_>,
        loaded: &ShapedTopology,
        scheme: &'static str,
        groups: &[Group],
        mlids: &[u16],
        tasks: &[Task],
    ) -> Report {
        let names = |of: &[u32]| of.iter().map(|at| loaded.host_name(*at).to_owned()).collect();
        let mut mlids = mlids.iter();
        let groups = groups.iter().map(|group| GroupReport {
            members: names(&group.members),
            tables: (group.tables.iter())
                .zip(&mut mlids)
                .map(|(table, mlid)| TableReport { mlid: *mlid, sources: names(&table.sources) })
                .collect(),
        });
        Report {
            fabric: scene.fabric.clone(),
            port: scene.port.to_owned(),
            simulated: scene.simulated,
            scheme,
            groups: groups.collect(),
            blocks: tasks.iter().map(|task| Block::new(task, false)).collect(),
            written: false,
            saved: None,
            packets: 0,
        }
    }

    pub fn text(&self, scene: &Scene<'_>) -> String {
        let mut text = scene.text();
        // Writing to a String does not fail.
        let _ = writeln!(text, "{:<12}{}", "scheme", self.scheme);
        for group in &self.groups {
            let _ = writeln!(text, "{:<12}{}", "group", group.members.join(" "));
            for TableReport { mlid, sources } in &group.tables {
                let _ = writeln!(text, "{:<12}0x{mlid:x} from {}", "", sources.join(" "));
            }
        }
        let count = self.blocks.len();
        let _ = match (&self.saved, self.written) {
            (Some(saved), true) => writeln!(
                text,
                "{:<12}{count} blocks, all read back equal; {saved} has what was there\n",
                "written"
            ),
            _ => writeln!(text, "{:<12}nothing; --write would write {count} blocks:\n", "written"),
        };
        self.blocks.iter().for_each(|block| block.text(&mut text));
        text
    }
}
