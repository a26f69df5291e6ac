//! On what terms a rank makes a communicator.

use super::error::WireError;
use super::format::Format;

/// What stands for a rank's settings, and how deep a ring it has room for.
///
/// On the wire: the ring's slots (32 bits), then what stands for the settings (64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Slots of the deepest ring that it has room for: a power of two.
    pub ring: u32,
    /// What stands for the settings that must be the same at every rank: the same at two ranks only if these are.
    pub common: u64,
}

impl Terms {
    /// Its tag and version.
    pub const FORMAT: Format = Format { name: "terms", tag: *b"vbT", version: 2 };

    /// Their bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u32(self.ring).u64(self.common);
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
        let terms = Terms { ring, common: from.u64()? };
        from.end().map(|()| terms)
    }
}
