//! How packets find their way on a fabric.

use std::sync::Arc;
use verbcast_fabric::{Entries, Scheme, SchemeError, ShapedTopology, Topology, UnicastTables};

/// A fabric with the unicast tables of its switches, and the scheme that makes their multicast tables.
#[derive(Clone, Debug)]
pub struct Routes {
    fabric: ShapedTopology,
    tables: Arc<UnicastTables>,
    scheme: Scheme,
}

impl Routes {
    /// What packets go by.
    ///
    /// # Errors
    /// If the scheme makes no tables for the fabric.
    pub fn new(
        fabric: ShapedTopology,
        tables: UnicastTables,
        scheme: Scheme,
    ) -> Result<Routes, SchemeError> {
        // Whether it does depends on the fabric alone.
        scheme.entries(&fabric, &[], 0)?;
        Ok(Routes { fabric, tables: Arc::new(tables), scheme })
    }

    /// The fabric.
    pub fn fabric(&self) -> &ShapedTopology {
        &self.fabric
    }

    /// The fabric's nodes and links.
    pub fn topology(&self) -> &Topology {
        self.fabric.topology()
    }

    /// The unicast tables.
    pub fn tables(&self) -> &Arc<UnicastTables> {
        &self.tables
    }

    /// The LID by which one endpoint sends to another.
    pub(super) fn lid(&self, from: u32, to: u32) -> u16 {
        self.fabric.lid(self.tables.lids(), from, to)
    }

    /// Which of a group's multicast LIDs carries an endpoint's packets.
    pub(super) fn way(&self, source: u32) -> u32 {
        self.scheme.way(self.fabric.shape(), source)
    }

    /// The entries of a group, for an endpoint's packets.
    pub(super) fn tree(&self, members: &[u32], source: u32) -> Entries {
        let entries = self.scheme.entries(&self.fabric, members, source);
        entries.expect("the scheme makes tables for the fabric")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_fabric::{FatTree, Mesh, Numbering, Quality, Routing};

    #[test]
    fn a_scheme_for_another_shape_is_refused() {
        let tree = ShapedTopology::fat_tree(FatTree::new(4, 2).unwrap(), Quality::default());
        let mesh = ShapedTopology::mesh(Mesh::new(2, 2).unwrap(), Quality::default());
        for (fabric, other) in [(tree, Scheme::Xy), (mesh, Scheme::Cyclic)] {
            let tables = Routing::of(fabric.shape()).tables(&fabric, Numbering::Aligned).unwrap();
            for scheme in Scheme::all_for(fabric.shape()) {
                Routes::new(fabric.clone(), tables.clone(), scheme).unwrap();
            }
            assert_eq!(Routes::new(fabric, tables, other).unwrap_err(), SchemeError::Shape(other));
        }
    }
}
