//! Packets, as they come from anybody who can reach the group, and the notice that one may carry.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::wire::{
    Compact, HEADER_LEN, Key, MacKey, Malformed, Notice, Offer, Packet, RawHeader, Written,
};

/// The key of the communicator.
const MAC: MacKey = MacKey::new([0x5a; 32]);

fuzz_target!(|bytes: &[u8]| {
    let raw = RawHeader::parse(bytes);
    let key = raw.map_or(Key(0), |raw| raw.unchecked().key);
    if let Ok(packet) = Packet::parse(bytes, key) {
        let raw = raw.unwrap();
        assert_eq!((raw.unchecked(), raw.payload_len()), (packet.header(), packet.payload().len()));
        let is_covered = bytes[3] & 1 != 0;
        // Flags that nobody knows are not written again, nor what is in the place of a CRC where there is none.
        if bytes[3] <= 3 && (is_covered || bytes[40..44] == [0; 4]) {
            let again = packet.header().emit(packet.payload(), is_covered);
            assert!(bytes.starts_with(&again));
        }
    }
    if let Some(raw) = raw {
        // The fuzzer sees what is compared, so it finds the code that the bytes should have.
        match raw.authenticate(bytes, &MAC) {
            Ok(packet) => assert_eq!(raw.payload_len(), packet.payload().len()),
            Err(error) => assert_eq!(error, Malformed::Forged),
        }
        // The same with that code is believed, and with one more bit it is not.
        let payload = &bytes[HEADER_LEN..bytes.len().min(HEADER_LEN + raw.payload_len())];
        let mut authentic = raw.unchecked().emit_authentic(payload, &MAC).to_vec();
        authentic.extend_from_slice(payload);
        let raw = RawHeader::parse(&authentic).unwrap();
        assert_eq!(raw.authenticate(&authentic, &MAC).unwrap().payload(), payload);
        let sum = bytes.iter().fold(0, |sum, byte| sum + usize::from(*byte));
        let at = sum % authentic.len();
        authentic[at] ^= 0x10;
        let other = RawHeader::parse(&authentic);
        assert!(other.is_none_or(|other| other.authenticate(&authentic, &MAC).is_err()));
    }
    if let Some((head, _)) = bytes.split_first_chunk::<12>() {
        expand(head);
    }
    if let Ok(offer) = Offer::parse(bytes) {
        assert_eq!(offer.emit(), bytes);
    }
    if let Ok(written) = Written::parse(bytes) {
        assert_eq!(written.emit(), bytes);
    }
    if let Ok(notice) = Notice::parse(bytes) {
        assert!(Notice::parse(&notice.emit()).is_ok());
    }
});

/// Any immediate data stands for a header, for which it would be written again.
fn expand(head: &[u8; 12]) {
    let [immediate, near, lens] =
        [0, 4, 8].map(|at| u32::from_be_bytes(std::array::from_fn(|byte| head[at + byte])));
    let (payload_len, fragment_len) = ((lens >> 16) as usize, (lens & 0xffff) as usize);
    let compact = Compact::of(immediate);
    let header = compact.expand((Rank(1), Key(2)), OpId(near), payload_len, fragment_len);
    assert!(header.op.0.wrapping_sub(near).wrapping_add(1 << 14) < 1 << 15, "{header:?}");
    assert_eq!(Compact::new(compact.tag(), &header, payload_len, fragment_len), compact);
}
