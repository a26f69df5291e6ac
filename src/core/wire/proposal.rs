//! What a rank says first when a communicator is made.

use super::error::WireError;
use super::fields::{Reader, Writer};
use super::format::Format;
use super::introduction::Introduction;
use super::terms::Terms;
use super::whereabouts::Whereabouts;

/// Everything that a rank can say before it has heard the others: its terms, its whereabouts, and its introduction if its
/// endpoint is open already.
///
/// On the wire: the [terms](Terms) and the [whereabouts](Whereabouts), each behind its length (32 bits), and then the
/// [introduction](Introduction) or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its settings, and the ring that it has room for.
    pub terms: Terms,
    /// Its host, and the fabrics that it can use.
    pub whereabouts: Whereabouts,
    /// Its introduction; none if a device is to be opened first.
    pub introduction: Option<Introduction>,
}

impl Proposal {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a rank's proposal", tag: *b"vbO", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        write(&mut to, &self.terms.emit());
        write(&mut to, &self.whereabouts.emit());
        if let Some(introduction) = &self.introduction {
            to.bytes(&introduction.emit());
        }
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Proposal, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let terms = Terms::parse(read(&mut from)?)?;
        let whereabouts = Whereabouts::parse(read(&mut from)?)?;
        let introduction = match from.rest() {
            [] => None,
            bytes => Some(Introduction::parse(bytes)?),
        };
        Ok(Proposal { terms, whereabouts, introduction })
    }
}

fn write(to: &mut Writer, part: &[u8]) {
    to.count(part.len()).bytes(part);
}

fn read<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], WireError> {
    let len = from.count("length of a part", usize::MAX, 1)?;
    from.bytes(len)
}
