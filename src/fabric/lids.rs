//! Local identifiers: which addresses endpoints and switches have.

use super::fat_tree::FatTree;
use super::topology::{Invalid, Topology};

/// The largest unicast LID.
pub const LAST_UNICAST: u16 = 0xbfff;
/// The largest LID mask control value: a field of three bits.
pub const MAX_LMC: u8 = 7;

/// Who has a LID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// An endpoint, by its index.
    Endpoint(u32),
    /// A switch (its port 0), by its node.
    Switch(u32),
}

/// Where the LIDs of a fat tree's hosts begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// 2^LMC · PID + 1, as the paper has it (section 3.1). Real InfiniBand refuses it: a base LID has
    /// to be a multiple of 2^LMC.
    Paper,
    /// 2^LMC · (PID + 1).
    Aligned,
}

/// The LIDs of a fabric. An endpoint has 2^LMC of them, a switch one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lids {
    endpoints: Vec<u16>,
    switches: Vec<u16>,
    lmc: u8,
    owners: Vec<Option<Owner>>,
}

impl Lids {
    /// From 1, one each: endpoints in their order, then switches. On a mesh of n rows these are
    /// x·n + y + 1 (Zhou, Liu and Chung, section 3.1).
    ///
    /// # Errors
    /// If there are not enough LIDs.
    pub fn consecutive(topology: &Topology) -> Result<Lids, Invalid> {
        let endpoints = (0..topology.endpoints().len() as u32).map(|endpoint| endpoint + 1);
        let after = topology.endpoints().len() as u32 + 1;
        Lids::checked(topology, endpoints.collect(), (after..).take(switches(topology)), 0)
    }

    /// The LID sets of Zhou, Lin and Chung 2007 (section 3.1), switches after the hosts.
    ///
    /// LMC = ⌈log2 q^(n−1)⌉, at most 7: a LID for each of the shortest paths between hosts that are
    /// far apart, up to 128.
    ///
    /// # Errors
    /// If there are not enough LIDs.
    pub fn fat_tree(
        tree: &FatTree,
        topology: &Topology,
        numbering: Numbering,
    ) -> Result<Lids, Invalid> {
        let lmc = (tree.roots().next_power_of_two().ilog2() as u8).min(MAX_LMC);
        let stride = 1_u32 << lmc;
        let base = |pid| match numbering {
            Numbering::Paper => stride * pid + 1,
            Numbering::Aligned => stride * (pid + 1),
        };
        let hosts = (0..tree.hosts()).map(base).collect();
        Lids::checked(topology, hosts, (base(tree.hosts())..).take(switches(topology)), lmc)
    }

    /// LIDs that somebody else gave: the base LIDs of the endpoints and of the switches.
    ///
    /// # Errors
    /// If there are not as many as endpoints and switches, one is not a unicast LID, or two have the same.
    pub fn given(
        topology: &Topology,
        endpoints: &[u16],
        switches: &[u16],
        lmc: u8,
    ) -> Result<Lids, Invalid> {
        let endpoints = endpoints.iter().map(|lid| u32::from(*lid)).collect();
        Lids::checked(topology, endpoints, switches.iter().map(|lid| u32::from(*lid)), lmc)
    }

    fn checked(
        topology: &Topology,
        endpoints: Vec<u32>,
        switches: impl Iterator<Item = u32>,
        lmc: u8,
    ) -> Result<Lids, Invalid> {
        let switches: Vec<u32> = switches.collect();
        let counts = (endpoints.len(), switches.len());
        if counts != (topology.endpoints().len(), topology.switches() as usize) {
            return Err(Invalid(format!(
                "LIDs for {} endpoints and {} switches",
                counts.0, counts.1
            )));
        }
        if lmc > MAX_LMC {
            return Err(Invalid(format!("LMC {lmc} is above {MAX_LMC}")));
        }
        let mut owners = Vec::new();
        let hosts = endpoints.iter().enumerate();
        let hosts = hosts.map(|(at, lid)| (*lid, 1 << lmc, Owner::Endpoint(at as u32)));
        let others = topology.switch_nodes().zip(&switches);
        let others = others.map(|(node, lid)| (*lid, 1, Owner::Switch(node)));
        for (base, count, owner) in hosts.chain(others) {
            let last = base + count - 1;
            if base == 0 || last > u32::from(LAST_UNICAST) {
                let from = format!("{base} to {last}");
                return Err(Invalid(format!("{from} are not unicast LIDs (1 to {LAST_UNICAST})")));
            }
            if owners.len() <= last as usize {
                owners.resize(last as usize + 1, None);
            }
            for lid in base..=last {
                if owners[lid as usize].replace(owner).is_some() {
                    return Err(Invalid(format!("two have the LID {lid}")));
                }
            }
        }
        let narrow = |lids: Vec<u32>| lids.into_iter().map(|lid| lid as u16).collect();
        Ok(Lids { endpoints: narrow(endpoints), switches: narrow(switches), lmc, owners })
    }

    /// An endpoint's first LID.
    pub fn base(&self, endpoint: u32) -> u16 {
        self.endpoints[endpoint as usize]
    }

    /// All LIDs of an endpoint: the LIDset of the paper.
    pub fn set(&self, endpoint: u32) -> std::ops::Range<u16> {
        let base = self.base(endpoint);
        base..base + self.per_endpoint()
    }

    /// 2^LMC.
    pub fn per_endpoint(&self) -> u16 {
        1 << self.lmc
    }

    /// The LID mask control value of the endpoints.
    pub fn lmc(&self) -> u8 {
        self.lmc
    }

    /// The LID of a switch, by its index among the switches.
    pub fn switch(&self, index: usize) -> u16 {
        self.switches[index]
    }

    /// Who has a LID.
    pub fn owner(&self, lid: u16) -> Option<Owner> {
        self.owners.get(usize::from(lid)).copied().flatten()
    }

    /// The largest LID that is in use.
    pub fn last(&self) -> u16 {
        self.owners.len().saturating_sub(1) as u16
    }
}

fn switches(topology: &Topology) -> usize {
    topology.switches() as usize
}
