//! The packet itself.

use super::attributes::Attribute;
use std::fmt;

/// Bytes of a management datagram (section 13.4.2).
pub const LEN: usize = 256;
/// The most links of a directed route: a field of 64 ports, of which the first is reserved (section
/// 14.2.1.2).
pub const MAX_HOPS: usize = 63;
/// The contents of an attribute.
pub type Data = [u8; 64];

const LID_ROUTED: u8 = 0x01;
const DIRECTED: u8 = 0x81;
const METHOD: usize = 3;
const STATUS: usize = 4;
const HOP_COUNT: usize = 7;
const TRANSACTION: usize = 8;
const ATTRIBUTE: usize = 16;
const MODIFIER: usize = 20;
const M_KEY: usize = 24;
const DIRECTED_LIDS: usize = 32;
const DATA: usize = 64;
const INITIAL_PATH: usize = 128;

/// Says of no part of a directed route that it goes by LID.
const PERMISSIVE: [u8; 4] = [0xff; 4];

/// Reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// SubnGet.
    Get = 1,
    /// SubnSet.
    Set = 2,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Get => "Get",
            Method::Set => "Set",
        })
    }
}

/// The ports by which a packet leaves node after node, that of the sender first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<u8>);

impl Path {
    /// The path to the sender itself.
    pub fn here() -> Path {
        Path::default()
    }

    /// The path to what is behind a port of where this one ends; none if that is too far, which is beyond
    /// [`MAX_HOPS`].
    pub fn then(&self, port: u8) -> Option<Path> {
        let mut ports = self.0.clone();
        ports.push(port);
        (ports.len() <= MAX_HOPS).then_some(Path(ports))
    }

    /// The ports.
    pub fn ports(&self) -> &[u8] {
        &self.0
    }
}

/// How a packet finds its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// Along a path, whatever the forwarding tables are.
    Directed(Path),
    /// To the node with this LID, by the forwarding tables.
    Lid(u16),
}

/// By what kind of route a node is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addressing {
    /// Along the path by which it was found, whatever the forwarding tables are.
    #[default]
    Directed,
    /// By its LID, if it has one.
    Lid,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Route::Lid(lid) => write!(f, "at LID {lid}"),
            Route::Directed(path) if path.0.is_empty() => f.write_str("here"),
            Route::Directed(path) => {
                let ports: Vec<String> = path.0.iter().map(u8::to_string).collect();
                write!(f, "by way of ports {}", ports.join(","))
            }
        }
    }
}

/// A subnet management packet (sections 14.2.1.1 and 14.2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smp([u8; LEN]);

impl Smp {
    /// A request. `data` is what a Set writes.
    pub fn new(method: Method, route: &Route, attribute: Attribute, key: u64, data: &Data) -> Smp {
        let mut smp = Smp([0; LEN]);
        let class = match route {
            Route::Directed(_) => DIRECTED,
            Route::Lid(_) => LID_ROUTED,
        };
        // Version, class, version of the class, method.
        smp.put(0, &[1, class, 1, method as u8]);
        smp.put(ATTRIBUTE, &attribute.id().to_be_bytes());
        smp.put(MODIFIER, &attribute.modifier().to_be_bytes());
        smp.put(M_KEY, &key.to_be_bytes());
        smp.put(DATA, data);
        if let Route::Directed(path) = route {
            smp.0[HOP_COUNT] = path.0.len() as u8;
            smp.put(DIRECTED_LIDS, &PERMISSIVE);
            smp.put(INITIAL_PATH + 1, &path.0);
        }
        smp
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A packet that came.
    pub fn from_bytes(bytes: [u8; LEN]) -> Smp {
        Smp(bytes)
    }

    /// What goes over the wire.
    pub fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }

    /// Whether it goes along a path, and not to a LID.
    pub fn is_directed(&self) -> bool {
        self.0[1] == DIRECTED
    }

    /// Whether it is a request to write.
    pub fn writes(&self) -> bool {
        self.0[METHOD] == Method::Set as u8
    }

    /// The same packet with other contents: how a simulated node answers.
    pub fn with_data(&self, data: &Data) -> Smp {
        let mut smp = *self;
        smp.put(DATA, data);
        smp
    }

    /// The contents of the attribute.
    pub fn data(&self) -> &Data {
        self.0[DATA..DATA + 64].try_into().expect("64 bytes are 64 bytes")
    }

    /// The lower half of the transaction ID, by which an answer is known; the upper belongs to the
    /// sender's system.
    pub fn transaction(&self) -> u32 {
        let at = TRANSACTION + 4;
        u32::from_be_bytes(self.0[at..at + 4].try_into().expect("4 bytes are 4 bytes"))
    }

    /// Sets what the answer will be known by.
    pub fn set_transaction(&mut self, number: u32) {
        self.put(TRANSACTION + 4, &number.to_be_bytes());
    }

    /// Whether the node asks for the request to be sent again later.
    pub fn is_busy(&self) -> bool {
        self.status() & 1 == 1
    }

    /// The status, without the bit that is the direction of a directed packet.
    fn status(&self) -> u16 {
        let directed = if self.is_directed() { 0x7fff } else { 0xffff };
        u16::from_be_bytes([self.0[STATUS], self.0[STATUS + 1]]) & directed
    }

    /// Why the node refused the request, if it did (section 13.4.7).
    pub fn refusal(&self) -> Option<String> {
        let status = self.status();
        let why = match status >> 2 & 7 {
            _ if status == 0 => return None,
            _ if status & 1 == 1 => "busy",
            1 => "bad version or class",
            2 => "unknown method",
            3 => "unknown method for this attribute",
            7 => "invalid value",
            _ => "refused",
        };
        Some(format!("{why} (status 0x{status:04x})"))
    }
}
