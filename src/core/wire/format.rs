//! What every format but the packet's header begins with: four bytes that say which it is.

use super::error::WireError;
use super::fields::{Reader, Writer};

/// A format, and the version of it that is spoken here.
///
/// On the wire: the tag, then the version. Nothing else is read before both fit, so that a process of another version
/// is told what is wrong, and no format is taken for another of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// What errors call it, with an article.
    pub name: &'static str,
    /// Three letters that no other format has.
    pub tag: [u8; 3],
    /// Changes with anything in the layout or the meaning.
    pub version: u8,
}

impl Format {
    /// Length of the tag and the version, in bytes.
    pub const LEN: usize = 4;

    /// Whether bytes begin with the tag, whatever their version.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(&self.tag)
    }

    /// The fields behind the tag and the version.
    ///
    /// # Errors
    /// [`WireError::Foreign`] and [`WireError::Version`].
    pub fn read<'a>(&self, bytes: &'a [u8]) -> Result<Reader<'a>, WireError> {
        let rest = bytes.strip_prefix(&self.tag).ok_or(WireError::Foreign { format: *self })?;
        match rest.split_first() {
            None => Err(WireError::Truncated { format: *self }),
            Some((version, fields)) if *version == self.version => Ok(Reader::new(*self, fields)),
            Some((theirs, _)) => Err(WireError::Version { format: *self, theirs: *theirs }),
        }
    }

    /// Bytes that begin with the tag and the version, to be gone on with.
    pub fn write(&self) -> Writer {
        let mut writer = Writer::default();
        writer.bytes(&self.tag).u8(self.version);
        writer
    }
}
