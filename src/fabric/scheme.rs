//! How multicast tables are made: one name for each scheme, and what it puts into the switches.

use super::checker::{Checker, Delivery, Violation};
use super::multicast::Entries;
use super::plan::Plan;
use super::shape::{Shape, ShapedTopology};
use super::topology::{Invalid, Port};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

/// How multicast tables are made.
///
/// ```
/// use verbcast_fabric::{FatTree, Quality, Scheme, ShapedTopology};
///
/// let fabric = ShapedTopology::fat_tree(FatTree::new(4, 2)?, Quality::default());
/// let (group, sources) = ([0, 3, 5], [0, 3]);
/// // Each table is for some of the sources, and takes a multicast LID of its own. All were checked.
/// let tables = Scheme::of(fabric.shape()).tables(&fabric, &group, &sources)?;
/// assert_eq!(tables.iter().map(|table| table.sources.len()).sum::<usize>(), sources.len());
/// // One tree serves all sources, whatever the shape.
/// assert_eq!("omnipath".parse::<Scheme>()?.tables(&fabric, &group, &sources)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// The cyclic scheme of Zhou, Lin and Chung 2007, corrected; for fat trees.
    Cyclic,
    /// The XY union of Zhou, Liu and Chung, corrected; for meshes.
    Xy,
    /// The union as both papers print it, which can loop; for fat trees and meshes.
    Literal,
    /// One spanning tree for each group, as OpenSM makes it.
    OpenSm,
    /// The complete tree of the Omni-Path fabric manager.
    OmniPath,
    /// The pruned tree of the Omni-Path fabric manager.
    OmniPathPruned,
}

/// What one multicast LID of a group needs in the switches.
#[derive(Clone, Debug)]
pub struct Table {
    /// The endpoints whose packets it is for.
    pub sources: Vec<u32>,
    /// The ports of each switch.
    pub entries: Entries,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Scheme; 6] = [
        Scheme::Cyclic,
        Scheme::Xy,
        Scheme::Literal,
        Scheme::OpenSm,
        Scheme::OmniPath,
        Scheme::OmniPathPruned,
    ];

    /// The scheme for a shape: that of its paper, or OpenSM's.
    pub fn of(shape: Shape) -> Scheme {
        match shape {
            Shape::FatTree(_) => Scheme::Cyclic,
            Shape::Mesh(_) => Scheme::Xy,
            Shape::Other => Scheme::OpenSm,
        }
    }

    /// The schemes whose packets reach everybody on a shape: without the one that can loop.
    pub fn all_for(shape: Shape) -> Vec<Scheme> {
        let everywhere = [Scheme::OpenSm, Scheme::OmniPath, Scheme::OmniPathPruned];
        let own = Some(Scheme::of(shape)).filter(|own| !everywhere.contains(own));
        own.into_iter().chain(everywhere).collect()
    }

    /// Whether only those can send whom the tables are made for: the members, and sources that were named. The
    /// others' tables take packets from everybody.
    pub fn is_for_members(self) -> bool {
        matches!(self, Scheme::OpenSm | Scheme::OmniPathPruned)
    }

    /// Its name in the command and in results.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Cyclic => "cyclic",
            Scheme::Xy => "xy",
            Scheme::Literal => "literal",
            Scheme::OpenSm => "opensm",
            Scheme::OmniPath => "omnipath",
            Scheme::OmniPathPruned => "omnipath-pruned",
        }
    }

    /// Which of a group's tables carries a source's packets; 0 where there is one for all.
    pub fn way(self, shape: Shape, source: u32) -> u32 {
        match (self, shape) {
            (Scheme::Cyclic, Shape::FatTree(tree)) => tree.way(source),
            (Scheme::Xy, Shape::Mesh(mesh)) => mesh.way(source),
            (Scheme::Literal, Shape::FatTree(_)) => source,
            _ => 0,
        }
    }

    /// The members that the scheme sees, ascending. OpenSM takes whoever sends for one.
    pub fn members(self, group: &[u32], sources: &[u32]) -> Vec<u32> {
        let mut members = group.to_vec();
        if self == Scheme::OpenSm {
            members.extend(sources);
            members.sort_unstable();
            members.dedup();
        }
        members
    }

    /// What the scheme puts into the switches for packets of a source to these members, unchecked.
    ///
    /// # Errors
    /// If the scheme is not for the fabric's shape, there are not enough LIDs for it, or the switches have no common
    /// tree.
    pub fn entries(
        self,
        fabric: &ShapedTopology,
        members: &[u32],
        source: u32,
    ) -> Result<Entries, SchemeError> {
        Ok(Plan::new(self, fabric, members, &[source])?.entries(source))
    }

    /// The tables that a group needs for packets from `sources`, one for each multicast LID. All are checked.
    ///
    /// # Errors
    /// As [`entries`](Self::entries), or if packets of a source do not reach exactly whom they should.
    pub fn tables(
        self,
        fabric: &ShapedTopology,
        group: &[u32],
        sources: &[u32],
    ) -> Result<Vec<Table>, SchemeError> {
        self.surveyed_tables(fabric, group, sources, |_, _| {})
    }

    /// As [`tables`](Self::tables); `each` is told of every source's packet what it takes, and the ports by which its
    /// copies leave switches.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    pub fn surveyed_tables(
        self,
        fabric: &ShapedTopology,
        group: &[u32],
        sources: &[u32],
        each: impl FnMut(Delivery, &[Port]),
    ) -> Result<Vec<Table>, SchemeError> {
        let members = self.members(group, sources);
        let plan = Plan::new(self, fabric, &members, sources)?;
        let mut of_way: BTreeMap<u32, Rc<Entries>> = BTreeMap::new();
        let own = |source| {
            let way = of_way.entry(self.way(fabric.shape(), source));
            Rc::clone(way.or_insert_with(|| Rc::new(plan.entries(source))))
        };
        let numbers = Checker::new(fabric.topology()).mlids(&members, sources, own, each);
        let numbers =
            numbers.map_err(|(source, violation)| self.undelivered(fabric, source, violation))?;
        let mut tables: Vec<Table> = Vec::new();
        for (source, number) in sources.iter().zip(numbers) {
            match tables.get_mut(number as usize) {
                Some(table) => table.sources.push(*source),
                None => {
                    let entries = of_way[&self.way(fabric.shape(), *source)].as_ref().clone();
                    tables.push(Table { sources: vec![*source], entries });
                }
            }
        }
        Ok(tables)
    }

    fn undelivered(
        self,
        fabric: &ShapedTopology,
        source: u32,
        violation: Violation,
    ) -> SchemeError {
        let host = fabric.host_name(source).to_owned();
        let what = violation.describe(fabric.topology());
        SchemeError::Undelivered { scheme: self, host, violation, what }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Scheme, UnknownScheme> {
        let found = Scheme::ALL.into_iter().find(|scheme| scheme.name() == text);
        found.ok_or_else(|| UnknownScheme(text.to_owned()))
    }
}

/// A name that no scheme has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is none of the schemes {names}", names = Scheme::ALL.map(Scheme::name).join(", "))]
pub struct UnknownScheme(String);

/// Why a scheme makes no tables for a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemeError {
    /// The fabric does not have the shape that the scheme is for.
    #[error("{0}: this fabric does not have the shape for it")]
    Shape(Scheme),
    /// There are not enough LIDs for the scheme.
    #[error("{0}")]
    Lids(#[from] Invalid),
    /// A common tree has no root: there are no hosts, or so many switches that looking for the best would take too long.
    #[error("there are no hosts, or too many switches")]
    NoRoot,
    /// A common tree cannot reach all switches.
    #[error("the switches are not connected with one another")]
    Unconnected,
    /// Packets of a source do not reach exactly whom they should.
    #[error("{scheme} from {host}: {what}")]
    Undelivered {
        /// The scheme.
        scheme: Scheme,
        /// The source's host.
        host: String,
        /// The first rule that does not hold.
        violation: Violation,
        /// The same in words.
        what: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FatTree, Mesh, Quality};

    fn fabrics() -> [ShapedTopology; 3] {
        let tree = ShapedTopology::fat_tree(FatTree::new(4, 2).unwrap(), Quality::default());
        let mesh = ShapedTopology::mesh(Mesh::new(3, 2).unwrap(), Quality::default());
        [ShapedTopology::from(tree.topology().clone()), tree, mesh]
    }

    #[test]
    fn every_scheme_for_a_shape_reaches_all_members_from_every_source() {
        for fabric in fabrics() {
            let all: Vec<u32> = (0..fabric.topology().endpoints().len() as u32).collect();
            for scheme in Scheme::all_for(fabric.shape()) {
                let tables = scheme.tables(&fabric, &all, &all).unwrap();
                let mut sources: Vec<u32> =
                    tables.iter().flat_map(|table| table.sources.clone()).collect();
                sources.sort_unstable();
                assert_eq!(sources, all, "{scheme}");
                let mut checker = Checker::new(fabric.topology());
                for table in &tables {
                    for source in &table.sources {
                        let delivery = checker.check(&table.entries, &all, *source).unwrap();
                        assert_eq!(delivery.copies as usize, all.len() - 1, "{scheme}");
                    }
                }
            }
        }
    }

    /// Those that only send have their switches in a pruned tree, and share it.
    #[test]
    fn senders_outside_of_a_group_reach_it() {
        for fabric in fabrics() {
            let last = fabric.topology().endpoints().len() as u32 - 1;
            let (group, sources) = ([0, 1], [last, last / 2]);
            for scheme in [Scheme::OmniPath, Scheme::OmniPathPruned, Scheme::OpenSm] {
                let tables = scheme.tables(&fabric, &group, &sources).unwrap();
                assert_eq!(tables.len(), 1, "{scheme}");
                assert_eq!(tables[0].sources, sources, "{scheme}");
            }
        }
    }

    #[test]
    fn a_scheme_for_another_shape_is_refused() {
        let [other, tree, mesh] = fabrics();
        for (fabric, scheme) in [
            (&other, Scheme::Cyclic),
            (&other, Scheme::Literal),
            (&tree, Scheme::Xy),
            (&mesh, Scheme::Cyclic),
        ] {
            let error = scheme.tables(fabric, &[0, 1], &[0]).unwrap_err();
            assert_eq!(error, SchemeError::Shape(scheme));
        }
    }

    #[test]
    fn the_union_as_printed_is_found_out() {
        let [_, tree, _] = fabrics();
        let all: Vec<u32> = (0..tree.topology().endpoints().len() as u32).collect();
        let error = Scheme::Literal.tables(&tree, &all, &all).unwrap_err();
        assert!(matches!(error, SchemeError::Undelivered { scheme: Scheme::Literal, .. }));
        assert!(error.to_string().starts_with("literal from P"), "{error}");
    }

    #[test]
    fn names_are_read_back() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.name().parse(), Ok(scheme));
        }
        let error = "star".parse::<Scheme>().unwrap_err().to_string();
        assert!(error.contains("star") && error.contains("omnipath-pruned"), "{error}");
    }
}
