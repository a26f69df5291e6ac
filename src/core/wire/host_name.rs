//! What a host is called, as messages to people say it.

use super::error::WireError;
use super::fields::{Reader, Writer};

/// Bytes of a host's name at most, as Linux has it (uname(2)).
const MAX_LEN: usize = 64;

/// The name of a host, which is short and can be printed; empty where there is none such.
///
/// On the wire: its length (8 bits), then the name in ASCII.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostName(String);

impl HostName {
    /// A name of 1 to 64 printable ASCII characters without blanks; empty if this is none.
    pub fn new(name: &str) -> HostName {
        let is_one = name.len() <= MAX_LEN && name.bytes().all(|byte| byte.is_ascii_graphic());
        HostName(if is_one { name.to_owned() } else { String::new() })
    }

    /// The name, if there is one.
    pub fn get(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|name| !name.is_empty())
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u8(self.0.len() as u8).bytes(self.0.as_bytes());
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<HostName, WireError> {
        let len = from.u8()?;
        let told = from.bytes(len.into())?;
        let name = HostName::new(&String::from_utf8_lossy(told));
        if name.0.as_bytes() == told { Ok(name) } else { Err(from.invalid("name of a host")) }
    }
}
