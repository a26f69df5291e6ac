//! Multicast forwarding tables (MFT): for each switch and MLID a set of ports.

use super::topology::Topology;
use std::collections::BTreeMap;
use std::fmt;

/// The first multicast LID.
pub const FIRST_MLID: u16 = 0xc000;
/// Multicast LIDs whose entries are written together: one block of a switch's table.
pub const BLOCK: u16 = 32;

/// A set of ports of one switch, 0 to 255.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PortSet([u64; 4]);

impl PortSet {
    /// No port.
    pub const EMPTY: PortSet = PortSet([0; 4]);

    /// Adds a port.
    pub fn insert(&mut self, port: u8) {
        self.0[usize::from(port / 64)] |= 1 << (port % 64);
    }

    /// Takes a port out.
    pub fn remove(&mut self, port: u8) {
        self.0[usize::from(port / 64)] &= !(1 << (port % 64));
    }

    /// Whether a port is in the set.
    pub fn contains(&self, port: u8) -> bool {
        self.0[usize::from(port / 64)] >> (port % 64) & 1 == 1
    }

    /// The set without one port.
    pub fn without(mut self, port: u8) -> PortSet {
        self.remove(port);
        self
    }

    /// All ports of either set.
    pub fn union(self, other: PortSet) -> PortSet {
        PortSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Whether there is no port.
    pub fn is_empty(&self) -> bool {
        *self == PortSet::EMPTY
    }

    /// Number of ports.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The ports, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let words = self.0;
        (0..4_u8).flat_map(move |word| {
            let mut bits = words[usize::from(word)];
            std::iter::from_fn(move || {
                let port = (bits != 0).then(|| word * 64 + bits.trailing_zeros() as u8)?;
                bits &= bits - 1;
                Some(port)
            })
        })
    }
}

impl FromIterator<u8> for PortSet {
    fn from_iter<T: IntoIterator<Item = u8>>(ports: T) -> PortSet {
        let mut set = PortSet::EMPTY;
        ports.into_iter().for_each(|port| set.insert(port));
        set
    }
}

impl fmt::Debug for PortSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What all switches do with packets to one MLID: the ports of each, by its index among the switches.
/// A packet is copied to all of them but the one by which it came.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entries(Vec<PortSet>);

impl Entries {
    /// No ports at any switch.
    pub fn none(topology: &Topology) -> Entries {
        Entries(vec![PortSet::EMPTY; topology.switches() as usize])
    }

    /// The ports of a switch.
    pub fn ports(&self, switch: usize) -> PortSet {
        self.0[switch]
    }

    /// The ports of a switch, to be changed.
    pub fn ports_mut(&mut self, switch: usize) -> &mut PortSet {
        &mut self.0[switch]
    }

    /// Every switch's ports, in the order of switches.
    pub fn iter(&self) -> impl Iterator<Item = PortSet> + '_ {
        self.0.iter().copied()
    }
}

/// The multicast tables of all switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastTables(BTreeMap<u16, Entries>);

impl MulticastTables {
    /// Tables without entries.
    pub fn new() -> MulticastTables {
        MulticastTables::default()
    }

    /// Sets what is done with an MLID.
    pub fn set(&mut self, mlid: u16, entries: Entries) {
        self.0.insert(mlid, entries);
    }

    /// What is done with an MLID.
    pub fn get(&self, mlid: u16) -> Option<&Entries> {
        self.0.get(&mlid)
    }

    /// All MLIDs with entries, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Entries)> {
        self.0.iter().map(|(mlid, entries)| (*mlid, entries))
    }

    /// Blocks of 32 MLIDs that have to be written so that the tables of all switches become `next`,
    /// each counted at each switch where an entry of it differs.
    pub fn blocks_changed(&self, next: &MulticastTables) -> usize {
        let mut changed = std::collections::BTreeSet::new();
        let mlids = self.0.keys().chain(next.0.keys());
        for mlid in mlids {
            let (before, after) = (self.get(*mlid), next.get(*mlid));
            let switches = before.or(after).map_or(0, |entries| entries.0.len());
            let at = |entries: Option<&Entries>, switch| {
                entries.map_or(PortSet::EMPTY, |entries| entries.ports(switch))
            };
            let differs = (0..switches).filter(|switch| at(before, *switch) != at(after, *switch));
            changed.extend(differs.map(|switch| (switch, (mlid - FIRST_MLID) / BLOCK)));
        }
        changed.len()
    }
}
