//! What the ranks of a job know and nobody else, and how each side of a connection proves that it does.
//!
//! Both sides draw a nonce. Each proves the secret by an HMAC-SHA-256 (RFC 2104, FIPS 180-4) over who it is and both
//! nonces: so the secret never crosses the wire, no proof is good for another connection, and none can be sent back to
//! who made it. A secret that can be guessed can be found from a proof by trying, so it has to be random.

use super::environment::{EnvironmentError, environment_token};
use super::slurm;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::io;
use verbcast_core::wire::{Nonce, PROOF_LEN};

/// Which side of a connection proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Rank 0.
    Hub,
    /// Any other rank.
    Leaf,
}

/// The nonces of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonces {
    pub(super) leaf: Nonce,
    pub(super) hub: Nonce,
}

/// What the ranks of a job know and nobody else, such as its token; or nothing, where [`Bootstrap`](super::Bootstrap) itself
/// keeps what it gathers from strangers.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// Nobody sees it in a log.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// The secret of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Secret(bytes.to_vec())
    }

    /// No secret: whoever reads what the bootstrap gathers knows all that ranks do.
    pub fn none() -> Self {
        Secret(Vec::new())
    }

    /// The secret that the environment gives to all ranks of a job, if it gives one that cannot be guessed: as
    /// [`Environment`](super::Environment) reads its token.
    ///
    /// # Errors
    /// If a variable is bad.
    pub fn from_env() -> Result<Option<Secret>, EnvironmentError> {
        let token = environment_token()?;
        Ok(Secret::of_token(&token))
    }

    /// The secret that a token is; none of one that is known or can be guessed.
    pub(super) fn of_token(token: &str) -> Option<Secret> {
        let is_secret = !token.is_empty() && !slurm::is_token(token);
        is_secret.then(|| Secret::new(token.as_bytes()))
    }

    /// A key that follows from the secret and `parts`, the first of which says what it is for; without the secret nobody
    /// finds it, nor from it the secret. The others have one length each, or are the last.
    pub fn derive<'a>(&self, parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is one");
        parts.into_iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    fn mac(&self, side: Side, nonces: &Nonces) -> Hmac<Sha256> {
        let label: &[u8] = match side {
            Side::Hub => b"verbcast rendezvous 1: rank 0",
            Side::Leaf => b"verbcast rendezvous 1: a rank",
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length is one");
        [label, &nonces.leaf, &nonces.hub].into_iter().for_each(|part| mac.update(part));
        mac
    }

    /// The proof of one side.
    pub(super) fn prove(&self, side: Side, nonces: &Nonces) -> [u8; PROOF_LEN] {
        self.mac(side, nonces).finalize().into_bytes().into()
    }

    /// Whether a proof is that of one side; the time it takes says nothing.
    pub(super) fn accepts(&self, side: Side, nonces: &Nonces, proof: &[u8; PROOF_LEN]) -> bool {
        self.mac(side, nonces).verify_slice(proof).is_ok()
    }
}

/// A number that nobody can know beforehand.
pub(super) fn nonce() -> io::Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCES: Nonces = Nonces { leaf: [1; 32], hub: [2; 32] };

    #[test]
    fn only_the_same_secret_side_and_nonces_are_accepted() {
        let secret = Secret::new(b"a secret");
        let proof = secret.prove(Side::Leaf, &NONCES);
        assert!(secret.accepts(Side::Leaf, &NONCES, &proof));
        assert!(!secret.accepts(Side::Hub, &NONCES, &proof), "sent back to who made it");
        assert!(!Secret::new(b"a secret ").accepts(Side::Leaf, &NONCES, &proof));
        assert!(!Secret::new(b"").accepts(Side::Leaf, &NONCES, &proof));
        for other in [
            Nonces { leaf: [3; 32], ..NONCES },
            Nonces { hub: [3; 32], ..NONCES },
            Nonces { leaf: NONCES.hub, hub: NONCES.leaf },
        ] {
            assert!(!secret.accepts(Side::Leaf, &other, &proof), "on another connection");
        }
        for bit in 0..8 * PROOF_LEN {
            let mut forged = proof;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(!secret.accepts(Side::Leaf, &NONCES, &forged));
        }
    }

    #[test]
    fn a_proof_is_an_hmac_as_others_make_it() {
        // RFC 4231, test case 2, with which the code's library is the one that is meant.
        let mut mac = Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let code = mac.finalize().into_bytes();
        assert_eq!(code[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(code[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn what_is_derived_takes_the_secret_and_all_parts() {
        let secret = Secret::new(b"a secret");
        let derive = |secret: &Secret, parts: &[&[u8]]| secret.derive(parts.iter().copied());
        let key = derive(&secret, &[b"a key: ", b"1"]);
        assert_eq!(derive(&secret, &[b"a key: ", b"1"]), key);
        assert_ne!(derive(&secret, &[b"a key: ", b"2"]), key);
        assert_ne!(derive(&Secret::none(), &[b"a key: ", b"1"]), key);
    }

    #[test]
    fn a_token_that_can_be_guessed_is_no_secret() {
        for token in ["", "slurm 7.", "slurm 7.0"] {
            assert!(Secret::of_token(token).is_none(), "{token}");
        }
        assert!(Secret::of_token("slurm is what I use").is_some());
        assert!(Secret::of_token("kept to myself").is_some());
    }

    #[test]
    fn nonces_differ_and_a_secret_is_not_shown() {
        assert_ne!(nonce().unwrap(), nonce().unwrap());
        assert!(!format!("{:?}", Secret::new(b"hunter2")).contains("hunter2"));
    }
}
