//! The transaction, on switches that are made up and do wrong on purpose.

use super::transaction::read;
use super::*;
use crate::smp::{Addressing, Agent, Data, Discovered, MftBlock, Path, Route, Smp, Switch};
use crate::{Entries, FatTree, MulticastTables, Quality};
use std::collections::BTreeMap;

/// Blocks of switches by route, attribute and modifier, and what goes wrong.
#[derive(Default)]
struct Switches {
    blocks: BTreeMap<(Route, [u8; 8]), Data>,
    packets: usize,
    /// From this packet on, the switch at this LID is silent.
    vanishes: Option<(usize, u16)>,
    /// The switch at this LID keeps nothing.
    forgets: Option<u16>,
    /// With this packet, somebody else writes the switch at this LID.
    rival: Option<(usize, u16)>,
    sets: Vec<u16>,
}

impl Agent for Switches {
    fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String> {
        let Route::Lid(lid) = *route else { panic!("all routes are by LID here") };
        self.packets += 1;
        if self.vanishes.is_some_and(|(from, gone)| self.packets >= from && gone == lid) {
            return Err("no answer".to_owned());
        }
        let header = request.bytes();
        let key = |route: &Route| (route.clone(), header[16..24].try_into().unwrap());
        if let Some((at, lid)) = self.rival
            && self.packets == at
        {
            self.blocks.insert(key(&Route::Lid(lid)), [9; 64]);
        }
        if request.writes() {
            self.sets.push(lid);
            if self.forgets != Some(lid) {
                self.blocks.insert(key(route), *request.data());
            }
        }
        let data = self.blocks.get(&key(route)).copied().unwrap_or([0; 64]);
        Ok(request.with_data(&data))
    }
}

/// A block of each of the switches with the LIDs 1 to 3.
fn tasks() -> Vec<Task> {
    let task = |lid: u16| {
        let after = std::array::from_fn(|entry| if entry == 3 { lid << 1 } else { 0 });
        let (switch, guid) = (format!("SW{lid}"), u64::from(lid));
        let change = Change { switch, guid, block: 31, position: 0, before: [0; 32], after };
        Task { change, route: Route::Lid(lid) }
    };
    [1, 2, 3].map(task).to_vec()
}

#[test]
fn what_is_written_is_there_and_can_be_taken_back() {
    let (mut switches, tasks) = (Switches::default(), tasks());
    assert_eq!(write(&mut switches, &tasks), Ok(()));
    assert_eq!(switches.sets, [1, 2, 3]);
    for task in &tasks {
        assert_eq!(read(&mut switches, task), Ok(task.change.after()));
    }
    // A second time, the blocks are not what they should be.
    let Stopped { touched, error } = write(&mut switches, &tasks).unwrap_err();
    assert_eq!(touched, 0);
    assert!(
        error
            .to_string()
            .ends_with("block 31 position 0 has been changed by somebody else meanwhile")
    );
    let all = PutBack { written: 3, ..PutBack::default() };
    assert_eq!(put_back(&mut switches, &tasks, true), all);
    assert_eq!(switches.sets.len(), 3, "nothing was written");
    assert_eq!(put_back(&mut switches, &tasks, false), all);
    assert_eq!(switches.sets[3..], [3, 2, 1]);
    let none = PutBack { unchanged: 3, ..PutBack::default() };
    assert_eq!(put_back(&mut switches, &tasks, false), none);
}

/// The packets are a look, a write and a look at each switch, then a look at each.
#[test]
fn a_switch_that_vanishes_is_named_and_the_others_are_as_before() {
    for (from, gone, touched) in [(1, 1, 0), (4, 2, 1), (5, 2, 2), (6, 2, 2), (12, 3, 3)] {
        let mut switches = Switches { vanishes: Some((from, gone)), ..Switches::default() };
        let tasks = tasks();
        let stopped = write(&mut switches, &tasks).unwrap_err();
        let named = format!("SW{gone} (GUID 0x{gone:016x}) block 31 position 0: ");
        assert!(stopped.error.to_string().starts_with(&named), "{stopped:?}");
        assert!(
            stopped.error.to_string().ends_with(&format!("at LID {gone}: no answer")),
            "{stopped:?}"
        );
        assert_eq!(stopped.touched, touched, "{stopped:?}");
        let taken = put_back(&mut switches, &tasks[..touched], false);
        let is_lost = touched >= usize::from(gone);
        assert_eq!(taken.failed.len(), usize::from(is_lost), "{taken:?}");
        switches.vanishes = None;
        for task in tasks.iter().filter(|task| task.route != Route::Lid(gone)) {
            assert_eq!(read(&mut switches, task), Ok(MftBlock::default()));
        }
    }
}

#[test]
fn a_switch_that_keeps_nothing_is_found() {
    let mut switches = Switches { forgets: Some(2), ..Switches::default() };
    let Stopped { touched, error } = write(&mut switches, &tasks()).unwrap_err();
    assert_eq!(touched, 2);
    let why = error.to_string();
    assert!(why.contains("SW2") && why.ends_with("differently from what was written"), "{why}");
}

#[test]
fn what_somebody_else_wrote_is_left_alone() {
    // Between the look and the next, and after all was written.
    for (at, lid, touched) in [(4, 2, 1), (10, 1, 3)] {
        let mut switches = Switches { rival: Some((at, lid)), ..Switches::default() };
        let stopped = write(&mut switches, &tasks()).unwrap_err();
        assert_eq!(stopped.touched, touched);
        assert!(
            stopped.error.to_string().ends_with("changed by somebody else meanwhile"),
            "{stopped:?}"
        );
        let taken = put_back(&mut switches, &tasks()[..touched], false);
        assert_eq!(taken.failed.len(), usize::from(touched == 3), "{taken:?}");
        assert_eq!(
            switches.sets.iter().filter(|set| **set == lid).count(),
            usize::from(touched == 3)
        );
    }
}

#[test]
fn a_switch_that_fails_is_not_asked_again() {
    let mut tasks = tasks();
    tasks[1].change.position = 1;
    tasks[1].change.guid = 3;
    tasks[1].route = Route::Lid(3);
    let mut switches = Switches::default();
    assert_eq!(write(&mut switches, &tasks), Ok(()));
    let packets = switches.packets;
    switches.vanishes = Some((0, 3));
    let taken = put_back(&mut switches, &tasks, false);
    assert_eq!((taken.written, taken.failed.len()), (1, 2));
    assert!(matches!(taken.failed[1], TaskError::NotTried { .. }));
    // One packet that got no answer, and three for the other switch.
    assert_eq!(switches.packets, packets + 4);
}

/// A fat tree as it would be found, each switch with a LID and this many entries.
fn found(multicast_entries: u16) -> Discovered {
    let topology = FatTree::new(4, 2).unwrap().topology(Quality::default());
    let switch = |lid| Switch { lid, multicast_entries, multicast_top: None };
    let switches = (1..=topology.switches() as u16).map(switch).collect();
    let paths = vec![Path::here(); topology.nodes().len()];
    Discovered { topology, paths, switches }
}

#[test]
fn the_last_blocks_that_nobody_uses_are_reserved_and_written() {
    let (mut switches, there) = (Switches::default(), found(1024));
    let by_lid = Addressing::Lid;
    let first = reserve(&mut switches, &there, by_lid, None, 1).unwrap();
    assert_eq!(first.mlids, [0xc3e0]);
    let mut entries = Entries::none(&there.topology);
    entries.ports_mut(2).insert(3);
    let mut tables = MulticastTables::new();
    tables.set(first.mlids[0], entries);
    let tasks = first.tasks(&there, by_lid, &tables);
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].change.entries(&tasks[0].change.after())[&0xc3e0], [3]);
    commit(&mut switches, &tasks, |_| panic!("nothing fails")).unwrap();
    assert_eq!(switches.sets, [3]);
    let next = reserve(&mut switches, &there, by_lid, None, 33).unwrap();
    assert_eq!((next.mlids[0], next.mlids[32]), (0xc3a0, 0xc3c0), "two blocks before");
    let refused = |switches: &mut Switches, first, count| {
        reserve(switches, &there, by_lid, Some(first), count).unwrap_err()
    };
    let name = there.topology.node(there.topology.hosts() + 2).name.clone();
    let in_use = ReserveError::InUse { first: 0xc3f0, switch: name, mlid: 0xc3e0 };
    assert_eq!(refused(&mut switches, 0xc3f0, 1), in_use);
    assert_eq!(refused(&mut switches, 0xc000, 1), ReserveError::ManagersBlock { first: 0xc000 });
    let beyond = refused(&mut switches, 0xc3ff, 2);
    assert!(matches!(beyond, ReserveError::BeyondTables { last: 0xc3ff, .. }), "{beyond}");
    let few = reserve(&mut switches, &found(64), by_lid, None, 33).unwrap_err();
    assert!(matches!(few, ReserveError::TooFew { wanted: 2, free: 1, .. }), "{few}");
}

#[test]
fn what_cannot_be_committed_is_undone() {
    // The look at the third switch fails, after two were written.
    let mut switches = Switches { vanishes: Some((7, 3)), ..Switches::default() };
    let mut insisted = false;
    let undone = commit(&mut switches, &tasks(), |_| insisted = true).unwrap_err();
    assert_eq!((undone.stopped.touched, undone.as_before(), insisted), (2, 2, true));
    assert_eq!(switches.sets, [1, 2, 2, 1]);
    let changes = tasks().into_iter().map(|task| task.change).collect();
    let (there, gone) = find(changes, &found(64), Addressing::Lid);
    assert_eq!((there.len(), gone.len()), (0, 3), "the GUIDs are others");
}
