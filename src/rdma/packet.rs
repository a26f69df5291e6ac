//! Packets: the headers of the transport's own, and writing any into a slot.

use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, MacKey};
use verbcast_verbs::{Pool, Slot};

/// A header of the transport's own packets.
pub(super) fn own_header(
    kind: Kind,
    key: Key,
    source: Rank,
    payload: &[u8],
    mac: Option<&MacKey>,
) -> [u8; HEADER_LEN] {
    let (op, fragment) = (OpId(0), Fragment(0));
    Header { kind, source, key, op, fragment, message_len: 0, report: 0, asks: false }
        .emit_as(payload, true, mac)
}

/// Writes a packet into a slot; its length.
pub(super) fn fill(
    pool: &mut Pool,
    mut slot: Slot,
    header: &[u8; HEADER_LEN],
    payload: &[u8],
) -> (Slot, usize) {
    let len = HEADER_LEN + payload.len();
    let bytes = pool.bytes_mut(&mut slot);
    bytes[..HEADER_LEN].copy_from_slice(header);
    bytes[HEADER_LEN..len].copy_from_slice(payload);
    (slot, len)
}
