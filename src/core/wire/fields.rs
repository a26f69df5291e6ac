//! Reading and writing fields one after the other. All numbers are big-endian.

use super::error::WireError;
use super::format::Format;

/// The fields of received bytes. It never reads behind their end, and gives out slices of them instead of copies.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    format: Format,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(format: Format, rest: &'a [u8]) -> Self {
        Reader { format, rest }
    }

    /// The next bytes, as many as the array has.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(self.truncated())?;
        self.rest = rest;
        Ok(*array)
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(self.truncated())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// A number of 8 bits.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_be_bytes)
    }

    /// A number of 16 bits.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    /// A number of 64 bits.
    ///
    /// # Errors
    /// [`WireError::Truncated`].
    pub fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_be_bytes)
    }

    /// A byte that is 0 or 1.
    ///
    /// # Errors
    /// [`WireError::Truncated`], or [`WireError::Invalid`] for any other byte.
    pub fn bool(&mut self, field: &'static str) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.invalid(field)),
        }
    }

    /// A number of 32 bits that says how many things of at least `each` bytes follow: no more than `most`, and no
    /// more than there are bytes for, so that room can be made for as many.
    ///
    /// # Errors
    /// [`WireError::Truncated`], or [`WireError::Invalid`] for more than `most`.
    pub fn count(
        &mut self,
        field: &'static str,
        most: usize,
        each: usize,
    ) -> Result<usize, WireError> {
        let count = self.u32()? as usize;
        if count > most {
            return Err(self.invalid(field));
        }
        match count.checked_mul(each) {
            Some(len) if len <= self.rest.len() => Ok(count),
            _ => Err(self.truncated()),
        }
    }

    /// Makes sure that nothing is left.
    ///
    /// # Errors
    /// [`WireError::Trailing`].
    pub fn end(self) -> Result<(), WireError> {
        match self.rest {
            [] => Ok(()),
            _ => Err(WireError::Trailing { format: self.format }),
        }
    }

    /// The error that a field has a value which it may not have.
    pub fn invalid(&self, field: &'static str) -> WireError {
        WireError::Invalid { format: self.format, field }
    }

    fn truncated(&self) -> WireError {
        WireError::Truncated { format: self.format }
    }
}

/// Bytes to be sent, to which fields are added.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Adds bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a number of 8 bits.
    pub fn u8(&mut self, number: u8) -> &mut Self {
        self.bytes(&[number])
    }

    /// Adds a number of 16 bits.
    pub fn u16(&mut self, number: u16) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    /// Adds a number of 32 bits.
    pub fn u32(&mut self, number: u32) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    /// Adds a number of 64 bits.
    pub fn u64(&mut self, number: u64) -> &mut Self {
        self.bytes(&number.to_be_bytes())
    }

    /// Adds a byte that is 0 or 1.
    pub fn bool(&mut self, is_so: bool) -> &mut Self {
        self.u8(is_so.into())
    }

    /// Adds a length or a count, of 32 bits.
    ///
    /// # Panics
    /// If it does not fit, which no caller's bounds allow.
    pub fn count(&mut self, count: usize) -> &mut Self {
        self.u32(u32::try_from(count).expect("what is written is bounded"))
    }

    /// All that was written.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
