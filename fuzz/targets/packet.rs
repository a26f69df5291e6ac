//! Packets, as they come from anybody who can reach the group, and the notice that one may carry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::wire::{Key, Notice, Packet, key_of, peek};

fuzz_target!(|bytes: &[u8]| {
    let head = bytes.first_chunk();
    let key = head.and_then(key_of);
    if let Ok(packet) = Packet::parse(bytes, key.unwrap_or(Key(0))) {
        let (header, len) = peek(head.unwrap(), packet.header().key).unwrap();
        assert_eq!((&header, len), (packet.header(), packet.payload().len()));
        let is_covered = bytes[3] & 1 != 0;
        // Flags that nobody knows are not written again.
        if bytes[3] <= 1 {
            let again = packet.header().emit(packet.payload(), is_covered);
            assert!(bytes.starts_with(&again));
        }
    }
    if let Ok(notice) = Notice::parse(bytes) {
        assert!(Notice::parse(&notice.emit()).is_ok());
    }
});
