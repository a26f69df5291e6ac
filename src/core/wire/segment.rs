//! What neighbours on the route of a long message tell each other: where it is to be written, and that a part of it was.

use super::error::WireError;
use super::format::Format;
use super::header::crc_of_payload;
use super::introduction::Region;

/// The payload of a [`Kind::Offer`](super::Kind::Offer): the memory of its sender that the message is to be written to.
///
/// On the wire: whether there is any (8 bits), and if so its address (64) and key (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The memory of the whole message; none where it is to be sent in packets.
    pub memory: Option<Region>,
}

impl Offer {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "an offer of memory", tag: *b"vbM", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.bool(self.memory.is_some());
        if let Some(Region { address, key }) = self.memory {
            to.u64(address).u32(key);
        }
        to.finish()
    }

    /// Reads an offer.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Offer, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let memory = match from.bool("memory")? {
            true => Some(Region { address: from.u64()?, key: from.u32()? }),
            false => None,
        };
        from.end().map(|()| Offer { memory })
    }
}

/// The payload of a [`Kind::Written`](super::Kind::Written): what its sender has written into the receiver's memory before.
///
/// On the wire: bytes (32 bits), whether they have a CRC (8), and if so that (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes of the message, from the fragment on that the header names.
    pub len: u32,
    /// Their CRC, where payloads have CRCs.
    pub crc: Option<u32>,
}

impl Written {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "a note of a write", tag: *b"vbZ", version: 1 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.len).bool(self.crc.is_some());
        if let Some(crc) = self.crc {
            to.u32(crc);
        }
        to.finish()
    }

    /// Reads a note of a write.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Written, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let len = from.u32()?;
        let crc = match from.bool("crc")? {
            true => Some(from.u32()?),
            false => None,
        };
        from.end().map(|()| Written { len, crc })
    }

    /// Of these bytes.
    ///
    /// # Panics
    /// If they are 2³² or more.
    pub fn new(bytes: &[u8], has_crc: bool) -> Written {
        let len = u32::try_from(bytes.len()).expect("a segment is shorter");
        Written { len, crc: has_crc.then(|| crc_of_payload(bytes)) }
    }

    /// Whether these are the bytes that were written, as far as can be told.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.crc.is_none_or(|crc| crc == crc_of_payload(bytes))
    }
}
