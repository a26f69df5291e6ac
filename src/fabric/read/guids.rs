//! GUIDs, of which ibsim gives the next of its own to a node whose record has none.

use crate::topology::Kind;

/// The GUIDs that the next host and the next switch get.
pub(super) struct Guids {
    host: u64,
    switch: u64,
}

impl Guids {
    /// Where ibsim begins.
    pub fn new() -> Guids {
        Guids { host: 0x10_0000, switch: 0x20_0000 }
    }

    /// The GUID of a node of so many ports: the given one, or the next. ibsim leaves those of a host's ports out.
    pub fn take(&mut self, kind: Kind, ports: u8, given: Option<u64>) -> u64 {
        let (next, step) = match kind {
            Kind::Host => (&mut self.host, u64::from(ports) + 1),
            Kind::Switch => (&mut self.switch, 1),
        };
        let guid = given.unwrap_or(*next);
        *next = guid.wrapping_add(step);
        guid
    }
}
