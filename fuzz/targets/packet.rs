//! Packets, as they come from anybody who can reach the group, and the notice that one may carry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::wire::{Key, Notice, Packet, RawHeader};

fuzz_target!(|bytes: &[u8]| {
    let raw = RawHeader::parse(bytes);
    let key = raw.map_or(Key(0), |raw| raw.unchecked().key);
    if let Ok(packet) = Packet::parse(bytes, key) {
        let raw = raw.unwrap();
        assert_eq!((raw.unchecked(), raw.payload_len()), (packet.header(), packet.payload().len()));
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
