//! Message authentication codes of packets: who does not have the key of a communicator cannot make one.
//!
//! The code is the first 64 bits of BLAKE3's keyed hash of the header in front of its code, the payload, and zeros up to
//! whole chunks where there is more than one, as whole ones are hashed side by side. The header has one length and tells
//! that of the payload, so that no two packets are hashed alike. Nothing is drawn for a packet: one that is sent again has
//! the same code. Whoever guesses needs 2⁶³ packets in the mean, and each one that is wrong is counted.

use std::fmt;

/// Bytes of a key.
pub const MAC_KEY_LEN: usize = 32;
/// Bytes of the header that the code covers: those in front of it.
pub(super) const COVERED: usize = 40;
/// Bytes that BLAKE3 hashes by themselves.
const CHUNK: usize = 1024;
/// A packet of the largest MTU, but for the code.
const LONG: usize = 4 * CHUNK;

/// The key of the codes of a communicator, or of the messages to a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MacKey([u8; MAC_KEY_LEN]);

/// Nobody sees it in a log.
impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(…)")
    }
}

impl MacKey {
    /// The key of these bytes, which nobody else may know.
    pub const fn new(bytes: [u8; MAC_KEY_LEN]) -> Self {
        MacKey(bytes)
    }

    /// The key of the `number`-th further communicator of the same ranks, which nobody finds without this one.
    #[must_use]
    pub fn further(&self, number: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("verbcast packets 1: further communicator");
        hasher.update(&self.0).update(&number.to_be_bytes());
        MacKey(*hasher.finalize().as_bytes())
    }

    /// The code of a packet.
    pub(super) fn code(&self, covered: &[u8; COVERED], payload: &[u8]) -> u64 {
        let len = COVERED + payload.len();
        let hash = if len <= CHUNK {
            blake3::keyed_hash(&self.0, &joined::<CHUNK>(covered, payload)[..len])
        } else if len <= LONG {
            let padded = len.next_multiple_of(CHUNK);
            blake3::keyed_hash(&self.0, &joined::<LONG>(covered, payload)[..padded])
        } else {
            // No adapter has an MTU for it.
            let mut hasher = blake3::Hasher::new_keyed(&self.0);
            hasher.update(covered).update(payload);
            hasher.update(&[0; CHUNK][..len.next_multiple_of(CHUNK) - len]);
            hasher.finalize()
        };
        let (first, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
        u64::from_be_bytes(*first)
    }
}

/// Both, and zeros behind them: what is in one piece is hashed sooner.
fn joined<const LEN: usize>(covered: &[u8; COVERED], payload: &[u8]) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..COVERED].copy_from_slice(covered);
    bytes[COVERED..COVERED + payload.len()].copy_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_communicators_have_keys_of_their_own() {
        let all = [KEY, KEY.further(1), KEY.further(2), KEY.further(1).further(1)];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one), "{at}");
        }
        assert!(KEY.further(1) == KEY.further(1));
    }

    /// That of the official test vectors.
    const KEY: MacKey = MacKey::new(*b"whats the Elvish word for friend");

    fn code(input: &[u8]) -> u64 {
        let (covered, payload) = input.split_first_chunk().unwrap();
        KEY.code(covered, payload)
    }

    #[test]
    fn a_code_is_a_keyed_hash_as_others_make_it() {
        // The official test vector of 1,024 bytes, which count from 0 to 250.
        let input: Vec<u8> = (0..1024_u32).map(|at| (at % 251) as u8).collect();
        assert_eq!(code(&input), 0x75c4_6f6f_3d9e_b4f5);
    }

    #[test]
    fn it_is_of_header_payload_and_zeros_up_to_whole_chunks() {
        for len in [40, 41, 1023, 1024, 1025, 2048, 4088, 4096, 4097, 9000] {
            let input: Vec<u8> = (0..len).map(|at| (at * 7 % 251) as u8).collect();
            let mut hashed = input.clone();
            if len > CHUNK {
                hashed.resize(len.next_multiple_of(CHUNK), 0);
            }
            let hash = blake3::keyed_hash(&KEY.0, &hashed);
            assert_eq!(code(&input).to_be_bytes(), hash.as_bytes()[..8], "{len}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        assert_eq!(format!("{:?}", MacKey::new([0x77; 32])), "MacKey(…)");
    }
}
