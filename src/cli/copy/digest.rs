//! How ranks find out that they have the same bytes.

use crate::units::hex;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes of a hash.
pub const LEN: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// SHA-256, as `sha256sum` prints it
    Sha256,
    /// BLAKE3, as `b3sum` prints it: quicker where the processor has no instructions for SHA
    Blake3,
    /// Nothing is hashed
    None,
}

impl Hash {
    /// As it is called in a text.
    pub fn name(self) -> &'static str {
        match self {
            Hash::Sha256 => "SHA-256",
            Hash::Blake3 => "BLAKE3",
            Hash::None => "no hash",
        }
    }

    pub fn of(self, bytes: &[u8]) -> [u8; LEN] {
        let mut hasher = Hasher::new(self);
        hasher.update(bytes);
        hasher.finish()
    }
}

/// What goes through it becomes a hash; zeros if nothing is hashed.
pub enum Hasher {
    Sha256(Sha256),
    Blake3(Box<blake3::Hasher>),
    None,
}

impl Hasher {
    pub fn new(hash: Hash) -> Hasher {
        match hash {
            Hash::Sha256 => Hasher::Sha256(Sha256::new()),
            Hash::Blake3 => Hasher::Blake3(Box::default()),
            Hash::None => Hasher::None,
        }
    }

    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Blake3(hasher) => {
                hasher.update(bytes);
            }
            Hasher::None => {}
        }
    }

    pub fn finish(self) -> [u8; LEN] {
        match self {
            Hasher::Sha256(hasher) => hasher.finalize().into(),
            Hasher::Blake3(hasher) => hasher.finalize().into(),
            Hasher::None => [0; LEN],
        }
    }
}

/// A hash in words, where there is one.
pub fn text(hash: Hash, digest: [u8; LEN]) -> Option<String> {
    (hash != Hash::None).then(|| hex(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_well_known_programs() {
        let sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&Hash::Sha256.of(b"abc")), sha);
        let blake3 = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!(hex(&Hash::Blake3.of(b"abc")), blake3);
        assert_eq!(text(Hash::None, Hash::None.of(b"abc")), None);
    }
}
