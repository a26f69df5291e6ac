//! On what terms a rank makes a communicator.

use super::error::WireError;
use super::format::Format;

/// A rank's settings, and how deep a ring it has room for.
///
/// On the wire: the ring's slots (32 bits), then the settings in UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Slots of the deepest ring that it has room for: a power of two.
    pub ring: u32,
    /// The settings that must be the same at every rank, each in a line.
    pub common: String,
}

impl Terms {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "terms", tag: *b"vbT", version: 1 };

    /// Their bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.ring).bytes(self.common.as_bytes());
        to.finish()
    }

    /// Reads them.
    ///
    /// # Errors
    /// If the bytes are not some of this version.
    pub fn parse(bytes: &[u8]) -> Result<Terms, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let ring = from.u32()?;
        if !ring.is_power_of_two() {
            return Err(from.invalid("ring"));
        }
        let is_no_text = from.invalid("settings");
        let common = std::str::from_utf8(from.rest()).map_err(|_| is_no_text)?;
        Ok(Terms { ring, common: common.to_owned() })
    }
}
