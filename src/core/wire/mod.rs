//! What is on the wire: the header that every datagram and every reliable message starts with.

mod header;
mod notice;

pub use header::{HEADER_LEN, Header, Key, Kind, Malformed, Packet, key_of, peek};
pub use notice::{NOTICE_LEN, Notice};
