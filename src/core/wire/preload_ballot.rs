//! What a rank of a program with the preloaded library says before anything is made.

use super::error::WireError;
use super::format::Format;

/// What is done where all ranks share a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OneNode {
    /// Multicast where no rank has an adapter that is more than software, else MPI's own broadcasts.
    Auto = 0,
    /// Multicast.
    Use = 1,
    /// MPI's own broadcasts.
    Pass = 2,
}

/// A rank's settings and means, as far as they decide for all.
///
/// On the wire: number (64 bits), 8 bits for each of the others, and what it says to the making of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreloadBallot {
    /// A number that it has drawn; rank 0's names the communicator.
    pub number: u64,
    /// Whether it prints what was counted.
    pub wants_statistics: bool,
    /// What it would do where all ranks share a node.
    pub one_node: OneNode,
    /// Whether it has an adapter that is more than software.
    pub has_adapter: bool,
    /// Whether it can take part in non-blocking broadcasts.
    pub has_hook: bool,
    /// Its [ballot](super::Ballot) with its [proposal](super::Proposal), should there be multicast.
    pub proposal: Vec<u8>,
}

impl PreloadBallot {
    /// Its tag and version.
    pub const FORMAT: Format =
        Format { name: "a ballot of the preloaded library", tag: *b"vbP", version: 2 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u64(self.number).bool(self.wants_statistics).u8(self.one_node as u8);
        to.bool(self.has_adapter).bool(self.has_hook).bytes(&self.proposal);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<PreloadBallot, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let number = from.u64()?;
        let wants_statistics = from.bool("wish for statistics")?;
        let one_node = match from.u8()? {
            0 => OneNode::Auto,
            1 => OneNode::Use,
            2 => OneNode::Pass,
            _ => return Err(from.invalid("setting for one node")),
        };
        let has_adapter = from.bool("adapter")?;
        let has_hook = from.bool("hook")?;
        let proposal = from.rest().to_vec();
        Ok(PreloadBallot { number, wants_statistics, one_node, has_adapter, has_hook, proposal })
    }
}
