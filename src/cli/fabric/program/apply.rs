//! Writes changes, and takes them back.

use super::change::Change;
use std::collections::BTreeSet;
use verbcast_fabric::smp::{Agent, MftBlock, Route};

/// A change, and how its switch is reached.
#[derive(Clone)]
pub struct Task {
    pub change: Change,
    pub route: Route,
}

/// Where writing came to an end too early.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// Tasks, from the first, whose switch may have been changed.
    pub touched: usize,
    pub why: String,
}

fn read(agent: &mut impl Agent, task: &Task) -> Result<MftBlock, String> {
    let data = agent.get(&task.route, task.change.attribute());
    data.map(|data| MftBlock::from(&data)).map_err(|error| format!("{}: {error}", task.change))
}

/// Writes a block and reads it back.
fn put(agent: &mut impl Agent, task: &Task, block: &MftBlock) -> Result<(), String> {
    let answer = agent.set(&task.route, task.change.attribute(), &block.to_data());
    answer.map_err(|error| format!("{}: {error}", task.change))?;
    expect(agent, task, block, "reads back differently from what was written")
}

fn expect(
    agent: &mut impl Agent,
    task: &Task,
    block: &MftBlock,
    complaint: &str,
) -> Result<(), String> {
    match read(agent, task)? == *block {
        true => Ok(()),
        false => Err(format!("{} {complaint}", task.change)),
    }
}

/// Writes all blocks, each after a look whether it is still as it was, reads each back, and at the end all
/// of them.
pub fn write(agent: &mut impl Agent, tasks: &[Task]) -> Result<(), Broken> {
    for (at, task) in tasks.iter().enumerate() {
        let meanwhile = "has been changed by somebody else meanwhile";
        expect(agent, task, &task.change.before(), meanwhile)
            .map_err(|why| Broken { touched: at, why })?;
        put(agent, task, &task.change.after()).map_err(|why| Broken { touched: at + 1, why })?;
    }
    for task in tasks {
        expect(agent, task, &task.change.after(), "has been changed by somebody else meanwhile")
            .map_err(|why| Broken { touched: tasks.len(), why })?;
    }
    Ok(())
}

/// What became of blocks that were to be as before.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// Number of blocks that had to be written.
    pub written: usize,
    /// Number of blocks that were as before.
    pub unchanged: usize,
    /// What could not be done, and why.
    pub failed: Vec<String>,
}

/// Puts back what was there, the last first; what is neither that nor what was written there is somebody
/// else's and left alone. With `is_dry`, only looks. Goes on after a failure, but not at the same switch.
pub fn take_back(agent: &mut impl Agent, tasks: &[Task], is_dry: bool) -> TakenBack {
    let mut taken = TakenBack::default();
    let mut lost = BTreeSet::new();
    for task in tasks.iter().rev() {
        let change = &task.change;
        if lost.contains(&change.guid) {
            taken.failed.push(format!("{change}: not tried, as its switch has failed before"));
            continue;
        }
        let mut put_back = || match read(agent, task)? {
            now if now == change.before() => Ok(false),
            now if now != change.after() => {
                Err(format!("{change} is not as it was written: left to whom has changed it"))
            }
            _ if is_dry => Ok(true),
            _ => put(agent, task, &change.before()).map(|()| true),
        };
        match put_back() {
            Ok(true) => taken.written += 1,
            Ok(false) => taken.unchanged += 1,
            Err(why) => {
                taken.failed.push(why);
                lost.insert(change.guid);
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use verbcast_fabric::smp::Smp;

    /// Blocks of switches by route, attribute and modifier, and what goes wrong.
    #[derive(Default)]
    struct Switches {
        blocks: BTreeMap<(Route, [u8; 8]), [u8; 64]>,
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
            let mut answer = *request.bytes();
            let key = |route: &Route| (route.clone(), answer[16..24].try_into().unwrap());
            if let Some((at, lid)) = self.rival
                && self.packets == at
            {
                self.blocks.insert(key(&Route::Lid(lid)), [9; 64]);
            }
            if answer[3] == 2 {
                self.sets.push(lid);
                if self.forgets != Some(lid) {
                    self.blocks.insert(key(route), *request.data());
                }
            }
            let data = self.blocks.get(&key(route)).copied().unwrap_or([0; 64]);
            answer[64..128].copy_from_slice(&data);
            Ok(Smp::from_bytes(answer))
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
        let Broken { touched, why } = write(&mut switches, &tasks).unwrap_err();
        assert_eq!(touched, 0);
        assert!(why.ends_with("block 31 position 0 has been changed by somebody else meanwhile"));
        let all = TakenBack { written: 3, ..TakenBack::default() };
        assert_eq!(take_back(&mut switches, &tasks, true), all);
        assert_eq!(switches.sets.len(), 3, "nothing was written");
        assert_eq!(take_back(&mut switches, &tasks, false), all);
        assert_eq!(switches.sets[3..], [3, 2, 1]);
        let none = TakenBack { unchanged: 3, ..TakenBack::default() };
        assert_eq!(take_back(&mut switches, &tasks, false), none);
    }

    /// The packets are a look, a write and a look at each switch, then a look at each.
    #[test]
    fn a_switch_that_vanishes_is_named_and_the_others_are_as_before() {
        for (from, gone, touched) in [(1, 1, 0), (4, 2, 1), (5, 2, 2), (6, 2, 2), (12, 3, 3)] {
            let mut switches = Switches { vanishes: Some((from, gone)), ..Switches::default() };
            let tasks = tasks();
            let broken = write(&mut switches, &tasks).unwrap_err();
            let named = format!("SW{gone} (GUID 0x{gone:016x}) block 31 position 0: ");
            assert!(broken.why.starts_with(&named), "{broken:?}");
            assert!(broken.why.ends_with(&format!("at LID {gone}: no answer")), "{broken:?}");
            assert_eq!(broken.touched, touched, "{broken:?}");
            let taken = take_back(&mut switches, &tasks[..touched], false);
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
        let Broken { touched, why } = write(&mut switches, &tasks()).unwrap_err();
        assert_eq!(touched, 2);
        assert!(why.contains("SW2") && why.ends_with("differently from what was written"), "{why}");
    }

    #[test]
    fn what_somebody_else_wrote_is_left_alone() {
        // Between the look and the next, and after all was written.
        for (at, lid, touched) in [(4, 2, 1), (10, 1, 3)] {
            let mut switches = Switches { rival: Some((at, lid)), ..Switches::default() };
            let broken = write(&mut switches, &tasks()).unwrap_err();
            assert_eq!(broken.touched, touched);
            assert!(broken.why.ends_with("changed by somebody else meanwhile"), "{broken:?}");
            let taken = take_back(&mut switches, &tasks()[..touched], false);
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
        let taken = take_back(&mut switches, &tasks, false);
        assert_eq!((taken.written, taken.failed.len()), (1, 2));
        assert!(taken.failed[1].ends_with("not tried, as its switch has failed before"));
        // One packet that got no answer, and three for the other switch.
        assert_eq!(switches.packets, packets + 4);
    }
}
