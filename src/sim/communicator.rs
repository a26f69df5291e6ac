//! Communicators of simulated processes.

use verbcast_core::rank::Rank;
use verbcast_core::wire::Key;

/// Names a communicator, alike at all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Channel(pub u16);

impl Channel {
    /// The only one of a plan whose processes have one each.
    pub const ONLY: Channel = Channel(0);

    /// The key in its packets; simulated ranks meet no strangers.
    pub fn key(self) -> Key {
        Key(7 + u64::from(self.0))
    }

    /// The communicator of a key, if there are so many.
    pub fn of_key(key: Key) -> Option<Channel> {
        key.0.checked_sub(7).and_then(|number| u16::try_from(number).ok()).map(Channel)
    }
}

/// The processes of a communicator. Where a process is named, it is as its rank among all processes.
#[derive(Debug)]
pub(super) struct Group {
    /// By rank.
    members: Vec<Rank>,
    /// By process.
    ranks: Vec<Option<Rank>>,
}

impl Group {
    /// The processes by rank, each of them below `processes` and there once.
    pub fn new(members: Vec<Rank>, processes: u32) -> Group {
        let mut ranks = vec![None; processes as usize];
        for (rank, process) in (0..).map(Rank).zip(&members) {
            ranks[process.index()] = Some(rank);
        }
        Group { members, ranks }
    }

    /// All processes.
    pub fn all(processes: u32) -> Group {
        Group::new((0..processes).map(Rank).collect(), processes)
    }

    /// The processes by rank.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.members.len() as u32
    }

    /// The process of a rank.
    pub fn process(&self, rank: Rank) -> Rank {
        self.members[rank.index()]
    }

    /// The rank of a process, if it has one.
    pub fn rank_of(&self, process: Rank) -> Option<Rank> {
        self.ranks.get(process.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_processes_name_each_other() {
        let group = Group::new(vec![Rank(4), Rank(1)], 5);
        assert_eq!((group.size(), group.process(Rank(0))), (2, Rank(4)));
        assert_eq!((group.rank_of(Rank(1)), group.rank_of(Rank(2))), (Some(Rank(1)), None));
        assert_eq!(Channel::of_key(Channel(3).key()), Some(Channel(3)));
        assert_eq!(Channel::of_key(Key(1 << 40)), None);
    }
}
