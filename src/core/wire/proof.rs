//! What a rank says in the rounds in which a group is proven.

use super::error::WireError;
use super::format::Format;

/// What a rank has heard on the group.
///
/// On the wire: whether it has heard all (8 bits), and strangers (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofBallot {
    /// Whether it has heard every rank.
    pub has_heard_all: bool,
    /// Whether it has heard strangers, and wants another group for that.
    pub has_heard_strangers: bool,
}

impl ProofBallot {
    /// Its tag and version.
    pub const FORMAT: Format =
        Format { name: "what a rank has heard on the group", tag: *b"vbG", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.bool(self.has_heard_all).bool(self.has_heard_strangers);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<ProofBallot, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let has_heard_all = from.bool("answer")?;
        let has_heard_strangers = from.bool("answer")?;
        from.end().map(|()| ProofBallot { has_heard_all, has_heard_strangers })
    }
}
