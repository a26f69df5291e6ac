//! Where this host is in a topology file.

use super::ConfigError;
use std::fs::File;
use std::io::{self, Read};
use verbcast_core::cause::Cause;
use verbcast_core::topology::{SwitchPath, SwitchTree, TopologyError};

/// Why nothing can be learnt from a topology file.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyFileError {
    /// It cannot be opened or read.
    #[error("{0}")]
    File(#[source] Cause),
    /// It has more than [16 MiB](SwitchTree::MAX_LEN).
    #[error("the file has more than {} bytes", SwitchTree::MAX_LEN)]
    TooLong,
    /// It is not a topology.
    #[error(transparent)]
    Tree(#[from] TopologyError),
}

/// The switches above this host in a file; none if the host is not there.
pub(super) fn switches_above(path: &str) -> Result<SwitchPath, ConfigError> {
    let refused = |source| ConfigError::Topology { path: path.to_owned(), source };
    let tree: SwitchTree = read(path).and_then(|text| Ok(text.parse()?)).map_err(refused)?;
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy();
    let above = tree.above(&host);
    if above.is_none() {
        tracing::debug!(%host, path, "this host is not in the topology file");
    }
    Ok(above.unwrap_or_default())
}

fn read(path: &str) -> Result<String, TopologyFileError> {
    let failed = |error: io::Error| TopologyFileError::File(Cause::new(error));
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(SwitchTree::MAX_LEN + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > SwitchTree::MAX_LEN {
        return Err(TopologyFileError::TooLong);
    }
    // A comment may be in any encoding; a name that is not ASCII is refused with its line.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
