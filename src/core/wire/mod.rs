//! Every format that crosses a wire: packets, and what ranks tell one another while a communicator is made.
//!
//! One file has one format, with a parser that is total: it answers any bytes with a value or an error, and makes no
//! room before it has seen that the bytes for it are there. A [`Format`] begins with a tag and a version. The
//! [header](Header) of a packet has a shorter tag, as it is in every packet.

mod error;
mod fields;
mod format;
mod group_address;
pub mod handshake;
mod header;
mod inquiry;
mod introduction;
mod notice;
mod process_address;
mod process_message;
mod proof;
#[cfg(test)]
mod properties;

pub use error::WireError;
pub use fields::{Reader, Writer};
pub use format::Format;
pub use group_address::GroupAddress;
pub use header::{HEADER_LEN, Header, Key, Kind, Malformed, Packet, key_of, peek};
pub use inquiry::Inquiry;
pub use introduction::{DRAWS, Draw, GroupOffer, Introduction, MAX_OFFERED_GROUPS, Region};
pub use notice::{NOTICE_LEN, Notice};
pub use process_address::ProcessAddress;
pub use process_message::ProcessMessage;
pub use proof::ProofBallot;
