//! Every format that crosses a wire: packets, and what ranks tell one another while a communicator is made.
//!
//! One file has one format, with a parser that is total: it answers any bytes with a value or an error, and makes no
//! room before it has seen that the bytes for it are there. A [`Format`] begins with a tag and a version. The
//! [header](Header) of a packet has a shorter tag, as it is in every packet; that of a fragment which fills its datagram is
//! [compact](Compact).

mod ballot;
mod challenge;
mod compact;
mod datagram_qp;
mod error;
mod exposure;
mod fields;
mod format;
mod frame;
mod gathered;
mod group_address;
pub mod handshake;
mod header;
mod hello;
mod host_name;
mod inquiry;
mod introduction;
mod join;
mod mac;
mod node;
mod nonce;
mod notice;
mod preload_ballot;
mod process_address;
mod process_message;
mod proof;
#[cfg(test)]
mod properties;
mod proposal;
mod refusal;
mod relocation;
mod response;
mod segment;
mod terms;
mod text;
mod whereabouts;

pub use ballot::Ballot;
pub use challenge::Challenge;
pub use compact::{Compact, FreeTags, Tag};
pub use datagram_qp::DatagramQp;
pub use error::WireError;
pub use exposure::Exposure;
pub use fields::{Reader, Writer};
pub use format::Format;
pub use frame::{FRAME_HEADER_LEN, FrameHeader, FrameKind};
pub use gathered::Gathered;
pub use group_address::GroupAddress;
pub use header::{
    Checks, HEADER_LEN, Header, Key, Kind, Malformed, Packet, RawHeader, checksummed,
};
pub use hello::Hello;
pub use host_name::HostName;
pub use inquiry::Inquiry;
pub use introduction::{
    Adapter, DRAWS, Draw, GroupOffer, Introduction, MAX_OFFERED_GROUPS, MAX_OFFERED_PROOFS,
    MacOffer, PortUse, ProvenGroup, Region,
};
pub use join::Join;
pub use mac::{MAC_KEY_LEN, MacKey};
pub use node::{NodeMemory, NodeOffer};
pub use nonce::Nonce;
pub use notice::{FailureKind, NOTICE_LEN, Notice};
pub use preload_ballot::{OneNode, PreloadBallot};
pub use process_address::ProcessAddress;
pub use process_message::ProcessMessage;
pub use proof::ProofBallot;
pub use proposal::Proposal;
pub use refusal::Refusal;
pub use relocation::Relocation;
pub use response::{PROOF_LEN, Response};
pub use segment::{Offer, Written};
pub use terms::Terms;
pub use whereabouts::{Fabric, MAX_FABRICS, Network, Whereabouts};
