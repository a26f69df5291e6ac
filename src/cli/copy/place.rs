//! Where a rank writes to.

use super::destination::Destination;
use super::manifest::Manifest;
use super::plan::Plan;
use super::staging::{Staging, Tree};
use super::standing::Standing;
use crate::launch::cleanup::Cleanup;
use std::sync::Arc;
use verbcast_core::rank::Rank;

pub enum Place {
    /// Nowhere: it is rank 0.
    None,
    Output,
    Files(Staging),
}

impl Place {
    pub fn new(
        destination: &Destination,
        rank: Rank,
        plan: &Plan,
        cleanup: &Cleanup,
    ) -> Result<Place, String> {
        match destination {
            _ if rank == Rank(0) => Ok(Place::None),
            Destination::Output if plan.is_folder => {
                Err("a folder cannot be written to standard output".to_owned())
            }
            Destination::Output => Ok(Place::Output),
            Destination::Path(template) => {
                Staging::create(template, rank, plan, cleanup).map(Place::Files)
            }
        }
    }

    /// Makes the files and folders, if there are to be some.
    pub fn prepare(
        &self,
        manifest: &Arc<Manifest>,
        plan: &Plan,
    ) -> Result<Option<Arc<Tree>>, String> {
        let Place::Files(staging) = self else { return Ok(None) };
        staging.check(manifest)?;
        let tree = staging.tree(manifest, plan.times)?;
        tree.prepare(staging.is_resumed)?;
        Ok(Some(Arc::new(tree)))
    }

    /// Whether something is there from an earlier copy.
    pub fn is_resumed(&self) -> bool {
        matches!(self, Place::Files(staging) if staging.is_resumed)
    }

    /// Data may come from now on.
    pub fn begin(&self, standing: &mut Standing, destination: &Destination, rank: Rank) {
        if let Place::Files(staging) = self {
            standing.begin(destination.path(rank), staging.kept());
        }
    }

    /// Gives what is whole its names.
    pub fn publish(self, tree: Option<&Tree>, standing: &mut Standing) -> Result<(), String> {
        let published = match (self, tree) {
            (Place::Files(staging), Some(tree)) => staging.publish(tree),
            _ => Ok(()),
        };
        standing.end(&published);
        published.map_err(|unpublished| unpublished.what)
    }
}
