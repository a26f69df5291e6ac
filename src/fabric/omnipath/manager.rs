//! Groups over time: who joins and leaves, and what has to be written into switches for it.

use super::discovery;
use super::mlids::{Exhausted, Mgid, Mlids, Pool};
use super::precreated::{Precreated, Terms};
use super::reach::Parts;
use super::root::{Root, Selection, select};
use super::tree::Tree;
use crate::multicast::{Entries, MulticastTables};
use crate::topology::{Quality, Topology};
use std::collections::BTreeMap;

/// Settings of the fabric manager, with the defaults of its documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `RootSelectionAlgorithm`.
    pub selection: Selection,
    /// `MinCostImprovement`, in percent.
    pub min_improvement: u32,
    /// Without `DisableStrictCheck`, groups are refused that some link between switches cannot carry;
    /// with it, only those for which no path has both the MTU and the rate.
    pub disable_strict_check: bool,
    /// `EnablePruning`.
    pub pruning: bool,
    /// `MLIDTableCap`.
    pub mlid_table_cap: u16,
    /// `MLIDShare`.
    pub pools: Vec<Pool>,
    /// Groups that are there before anyone joins, and stay.
    pub precreated: Vec<Precreated>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            selection: Selection::LeastTotalCost,
            min_improvement: 50,
            disable_strict_check: false,
            pruning: false,
            mlid_table_cap: 1024,
            pools: vec![Pool::SOLICITED_NODE],
            precreated: Vec::new(),
        }
    }
}

/// How a port is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberKind {
    /// Sends and receives, and keeps the group in being.
    Full,
    /// Sends and receives.
    NonMember,
    /// Sends only: gets no copies.
    SendOnly,
}

/// A request to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// Who joins.
    pub endpoint: u32,
    /// Which group.
    pub mgid: Mgid,
    /// As what.
    pub kind: MemberKind,
    /// The terms of the group if it has to be created. Of a group that is there, only the P_Key has to
    /// be the same.
    pub terms: Terms,
}

/// Why a join is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// Only a full member creates a group.
    #[error("only a full member creates a group")]
    NoGroup,
    /// Links between switches do not carry the group's MTU and rate.
    #[error("links between switches do not carry the group's MTU and rate")]
    Unrealizable,
    /// No path from the port to the group's members carries them; of a group without members, none to any other
    /// switch.
    #[error("no path from the port's switch has both the group's MTU and its rate")]
    NoPath,
    /// The port's own link does not carry them.
    #[error("the port does not carry the group's MTU and rate")]
    Port,
    /// The group is created beforehand twice, with different terms.
    #[error("{} is created twice, with different terms", std::net::Ipv6Addr::from(*.0))]
    Terms(Mgid),
    /// It is the group's only full member, and would no longer be one: it has to leave.
    #[error("the group's last full member can only leave it")]
    LastFullMember,
    /// The group is in another partition.
    #[error("the group has another P_Key")]
    Pkey,
    /// There is no MLID for it.
    #[error(transparent)]
    Mlid(#[from] Exhausted),
}

/// What a change of membership takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The group's MLID.
    pub mlid: u16,
    /// Blocks of 32 MLIDs to be written, each counted at each switch.
    pub blocks: usize,
}

/// A group that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its address.
    pub mgid: Mgid,
    /// What it was created with.
    pub terms: Terms,
    /// Its multicast LID, which it may share.
    pub mlid: u16,
    /// Whether the fabric manager created it.
    pub is_precreated: bool,
    /// Endpoints, and as what they have joined.
    pub members: BTreeMap<u32, MemberKind>,
}

impl Group {
    /// Whether it would be no more if this member were not a full one.
    fn needs(&self, endpoint: u32) -> bool {
        let mut full = self.members.iter().filter(|(_, kind)| **kind == MemberKind::Full);
        !self.is_precreated
            && full.next().is_some_and(|(member, _)| *member == endpoint)
            && full.next().is_none()
    }

    /// The members that only send, or all others.
    fn with(&self, sends_only: bool) -> impl Iterator<Item = u32> + '_ {
        let is = move |kind: MemberKind| (kind == MemberKind::SendOnly) == sends_only;
        self.members.iter().filter(move |(_, kind)| is(**kind)).map(|(member, _)| *member)
    }
}

/// The multicast part of a fabric manager.
#[derive(Clone, Debug)]
pub struct Manager {
    topology: Topology,
    settings: Settings,
    endpoint: u32,
    /// In the order of discovery.
    switches: Vec<u32>,
    root: Option<Root>,
    tree: Option<Tree>,
    mlids: Mlids,
    groups: BTreeMap<Mgid, Group>,
}

impl Manager {
    /// A manager at an endpoint of a fabric. `root` is the GUID of the root before, if this one takes
    /// over from another; it stays the root under the rule of `MinCostImprovement`.
    ///
    /// # Errors
    /// If a group of the settings cannot be created.
    pub fn new(
        topology: Topology,
        settings: Settings,
        endpoint: u32,
        root: Option<u64>,
    ) -> Result<Manager, JoinError> {
        let mlids = Mlids::new(settings.mlid_table_cap, settings.pools.clone());
        let precreated = settings.precreated.clone();
        let mut manager = Manager {
            topology,
            settings,
            endpoint,
            switches: Vec::new(),
            root: None,
            tree: None,
            mlids,
            groups: BTreeMap::new(),
        };
        manager.span(root);
        for Precreated { mgid, terms } in precreated {
            match manager.groups.get(&mgid) {
                None => manager.create(mgid, terms, true)?,
                Some(group) if group.terms.is_like(terms) => {}
                Some(_) => return Err(JoinError::Terms(mgid)),
            }
        }
        Ok(manager)
    }

    /// Chooses the root and grows the common tree.
    fn span(&mut self, current: Option<u64>) {
        self.switches = discovery(&self.topology, self.endpoint);
        let Settings { selection, min_improvement, .. } = self.settings;
        self.root = select(&self.topology, &self.switches, selection, current, min_improvement);
        let root = self.root.map(|root| root.switch);
        self.tree = root.and_then(|root| Tree::largest_complete(&self.topology, root));
    }

    /// The root of the tree; none without switches.
    pub fn root(&self) -> Option<Root> {
        self.root
    }

    /// What a manager that takes over has to know: the root's GUID.
    pub fn root_guid(&self) -> Option<u64> {
        self.root.map(|root| self.topology.node(root.switch).guid)
    }

    /// The common tree; none if the switches are not connected with one another.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }

    /// All groups, ascending by their MGIDs.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.values()
    }

    /// Who gets packets to a group: its members and those of the groups that share its MLID and tree, but for those that
    /// only send; ascending.
    pub fn receivers(&self, group: &Group) -> Vec<u32> {
        let root = self.root_of(group);
        let is_shared = |other: &&Group| other.mlid == group.mlid && self.root_of(other) == root;
        let mut receivers: Vec<u32> =
            self.groups.values().filter(is_shared).flat_map(|group| group.with(false)).collect();
        receivers.sort_unstable();
        receivers.dedup();
        receivers
    }

    /// Number of MLIDs that there are.
    pub fn mlids(&self) -> u16 {
        self.mlids.cap()
    }

    /// Number of MLIDs that are taken.
    pub fn mlids_in_use(&self) -> usize {
        self.mlids.in_use()
    }

    /// Qualities of the links between switches.
    fn inner_links(&self) -> impl Iterator<Item = Quality> + '_ {
        let inner = |end: &crate::Port| self.topology.is_switch(end.node);
        let links = self.topology.links().iter();
        links.filter(move |link| link.ends.iter().all(inner)).map(|link| link.quality)
    }

    /// Whether links between switches carry a group: all of them, or, without the strict check, at least one.
    fn is_realizable(&self, terms: &Terms) -> bool {
        let carries =
            |quality: Quality| quality.mtu >= terms.mtu && quality.rate_mbps() >= terms.rate_mbps;
        match self.settings.disable_strict_check {
            false => self.inner_links().all(carries),
            true => self.inner_links().next().is_none() || self.inner_links().any(carries),
        }
    }

    /// The parts of the fabric within which a group has paths; the common root's is the first.
    fn parts(&self, terms: &Terms) -> Parts {
        let root = self.root.map(|root| root.switch);
        let switches = root.into_iter().chain(self.switches.iter().copied());
        Parts::new(&self.topology, switches, terms.mtu, terms.rate_mbps)
    }

    /// Whether a path leads from a port to the others in a group, or, if there are none, to another switch where
    /// there is one.
    fn has_path(&self, endpoint: u32, terms: &Terms, group: Option<&Group>) -> bool {
        let parts = self.parts(terms);
        let Some(own) = parts.of(&self.topology, endpoint) else { return false };
        let members = group.into_iter().flat_map(|group| group.members.keys());
        let mut others = members.filter(|member| **member != endpoint).peekable();
        match others.peek() {
            None => self.inner_links().next().is_none() || parts.switches(own) > 1,
            Some(_) => others.any(|other| parts.of(&self.topology, *other) == Some(own)),
        }
    }

    fn create(&mut self, mgid: Mgid, terms: Terms, is_precreated: bool) -> Result<(), JoinError> {
        if !self.is_realizable(&terms) {
            return Err(JoinError::Unrealizable);
        }
        let mlid = self.mlids.assign(mgid, terms.pkey, terms.mtu, terms.rate_mbps);
        let mlid = mlid.map_err(JoinError::Mlid)?;
        let members = BTreeMap::new();
        self.groups.insert(mgid, Group { mgid, terms, mlid, is_precreated, members });
        Ok(())
    }

    /// Lets a port join a group. A port that is a member already becomes one of the new kind.
    ///
    /// # Errors
    /// If it may not; nothing has changed then.
    pub fn join(&mut self, join: Join) -> Result<Change, JoinError> {
        let group = self.groups.get(&join.mgid);
        let terms = group.map_or(join.terms, |group| group.terms);
        if group.is_none() && join.kind != MemberKind::Full {
            return Err(JoinError::NoGroup);
        }
        if terms.pkey & 0x7fff != join.terms.pkey & 0x7fff {
            return Err(JoinError::Pkey);
        }
        if !self.is_realizable(&terms) {
            return Err(JoinError::Unrealizable);
        }
        let port = self.topology.endpoints()[join.endpoint as usize].port;
        let own = self.topology.link(port).map(|link| link.quality).unwrap_or_default();
        if own.mtu < terms.mtu || own.rate_mbps() < terms.rate_mbps {
            return Err(JoinError::Port);
        }
        if !self.has_path(join.endpoint, &terms, group) {
            return Err(JoinError::NoPath);
        }
        if group.is_some_and(|group| group.needs(join.endpoint)) && join.kind != MemberKind::Full {
            return Err(JoinError::LastFullMember);
        }
        let is_new = group.is_none();
        // A new group's tree is written with its first member.
        let before = group.map(|group| self.entries(group.mlid));
        if is_new {
            self.create(join.mgid, join.terms, false)?;
        }
        let group = self.groups.get_mut(&join.mgid).expect("it is there or was made");
        group.members.insert(join.endpoint, join.kind);
        let mlid = group.mlid;
        let before = before.unwrap_or_else(|| self.entries_without(mlid, Some(join.mgid)));
        Ok(self.change(mlid, &before))
    }

    /// Lets a port leave a group. A group without full members is no more, unless it was pre-created.
    /// None if the port was not a member.
    pub fn leave(&mut self, endpoint: u32, mgid: Mgid) -> Option<Change> {
        let mlid = self.groups.get(&mgid)?.mlid;
        let before = self.entries(mlid);
        let group = self.groups.get_mut(&mgid)?;
        group.members.remove(&endpoint)?;
        let is_kept =
            group.is_precreated || group.members.values().any(|kind| *kind == MemberKind::Full);
        if !is_kept {
            self.groups.remove(&mgid);
            self.mlids.release(mlid);
        }
        Some(self.change(mlid, &before))
    }

    /// Takes a changed fabric: chooses the root anew under the rule of `MinCostImprovement`, and grows
    /// the tree. Returns the blocks to be written. `topology` must have the same switches and endpoints, in
    /// the same order.
    pub fn sweep(&mut self, topology: Topology) -> usize {
        let before = self.tables();
        let current = self.root_guid();
        self.topology = topology;
        self.span(current);
        before.blocks_changed(&self.tables())
    }

    fn change(&self, mlid: u16, before: &Entries) -> Change {
        let after = self.entries(mlid);
        let blocks = before.iter().zip(after.iter()).filter(|(before, after)| before != after);
        Change { mlid, blocks: blocks.count() }
    }

    /// The MLID of a group.
    pub fn mlid(&self, mgid: Mgid) -> Option<u16> {
        self.groups.get(&mgid).map(|group| group.mlid)
    }

    /// What all switches have for an MLID: groups that share it share its receivers and its routes (section 4.5.2.2).
    pub fn entries(&self, mlid: u16) -> Entries {
        self.entries_without(mlid, None)
    }

    fn entries_without(&self, mlid: u16, without: Option<Mgid>) -> Entries {
        let mut of_root: BTreeMap<u32, Vec<&Group>> = BTreeMap::new();
        for group in self.groups.values() {
            let is_asked = group.mlid == mlid && Some(group.mgid) != without;
            if is_asked && let Some(root) = self.root_of(group) {
                of_root.entry(root).or_default().push(group);
            }
        }
        let mut entries = Entries::none(&self.topology);
        for (root, groups) in of_root {
            let own = self.of_groups(root, &groups);
            for switch in 0..self.topology.switches() as usize {
                let ports = entries.ports_mut(switch);
                *ports = ports.union(own.ports(switch));
            }
        }
        entries
    }

    /// What the switches have for groups whose tree has this root, and which have the same terms.
    fn of_groups(&self, root: u32, groups: &[&Group]) -> Entries {
        let Some(Terms { mtu, rate_mbps, .. }) = groups.first().map(|group| group.terms) else {
            return Entries::none(&self.topology);
        };
        let own;
        let tree = match self.common_tree(mtu, rate_mbps) {
            Some(tree) => tree,
            None => {
                own = Tree::grow(&self.topology, root, mtu, rate_mbps);
                &own
            }
        };
        let of = |sends_only| -> Vec<u32> {
            groups.iter().flat_map(|group| group.with(sends_only)).collect()
        };
        match self.settings.pruning {
            true => tree.pruned(&self.topology, &of(false), &of(true)),
            false => tree.complete(&self.topology, &of(false)),
        }
    }

    /// The common tree, if it carries groups of these terms.
    fn common_tree(&self, mtu: u16, rate_mbps: u32) -> Option<&Tree> {
        self.tree.as_ref().filter(|tree| tree.mtu >= mtu && tree.rate_mbps >= rate_mbps)
    }

    /// The root of a group's tree: the common one, or of a group that the common tree does not carry, a switch of the
    /// part of the fabric that has most of its members: the common root if that is in it, else the part's first switch.
    /// None if no member has a switch.
    fn root_of(&self, group: &Group) -> Option<u32> {
        let Terms { mtu, rate_mbps, .. } = group.terms;
        if let Some(tree) = self.common_tree(mtu, rate_mbps) {
            return Some(tree.root());
        }
        let parts = self.parts(&group.terms);
        let mut members: BTreeMap<u32, usize> = BTreeMap::new();
        for part in group.members.keys().filter_map(|member| parts.of(&self.topology, *member)) {
            *members.entry(part).or_default() += 1;
        }
        let most = members.values().max()?;
        let root = self.root.map(|root| root.switch);
        let mut order = root.iter().chain(&self.switches);
        order.find(|switch| members.get(switch) == Some(most)).copied()
    }

    /// The tables of all MLIDs.
    pub fn tables(&self) -> MulticastTables {
        let mut tables = MulticastTables::new();
        for group in self.groups.values() {
            if tables.get(group.mlid).is_none() {
                tables.set(group.mlid, self.entries(group.mlid));
            }
        }
        tables
    }
}
