//! The keys of packets' authentication codes, where the ranks use them ([`Settings::mac`](super::Settings::mac)).
//!
//! No key is ever sent. Each process draws a nonce and tells it in its introductions, with a proof that it knows the
//! secret of the [bootstrap](crate::bootstrap::Bootstrap::secret). A key is an HMAC-SHA-256 under that secret: that of a communicator over
//! its number and the nonces of all its ranks, so that no packet of another communicator or of another job passes in it;
//! that of the messages to a process (handshakes, relocations, inquiries) over that process's incarnation and nonce, as whoever has
//! met it may send one.

use crate::bootstrap::Secret;
use std::collections::HashMap;
use verbcast_core::rank::Rank;
use verbcast_core::wire::{HEADER_LEN, Introduction, Key, MacKey, MacOffer, Malformed, Nonce};
use verbcast_core::wire::{Packet, RawHeader};

const PROOF: &[u8] = b"verbcast packets 1: proof of a process";
const PROCESS: &[u8] = b"verbcast packets 1: messages to a process";
const COMMUNICATOR: &[u8] = b"verbcast packets 1: communicator";

/// The keys that the messages of processes have.
#[derive(Debug)]
pub struct ProcessKeys {
    incarnation: u64,
    nonce: Nonce,
    /// Those of messages to this process: one for each secret that it has shared with others.
    own: Vec<MacKey>,
    /// That of messages to another process, by its incarnation.
    others: HashMap<u64, MacKey>,
}

impl ProcessKeys {
    /// Those of a process that has met no other one, and has drawn this nonce.
    pub fn new(incarnation: u64, nonce: Nonce) -> Self {
        ProcessKeys { incarnation, nonce, own: Vec::new(), others: HashMap::new() }
    }

    /// What it tells of itself.
    pub fn offer(&self, secret: &Secret) -> MacOffer {
        MacOffer { nonce: self.nonce, proof: proof(secret, self.incarnation, &self.nonce) }
    }

    /// The key of the communicator of all who have introduced themselves, `own` among them.
    ///
    /// # Errors
    /// If a rank does not share the secret, or this rank's introduction has not come back to it unchanged: a phrase to
    /// put behind this rank's name.
    pub fn meet(
        &mut self,
        secret: &Secret,
        own: Rank,
        key: Key,
        all: &[Introduction],
    ) -> Result<MacKey, String> {
        let mut offers = Vec::with_capacity(all.len());
        for (rank, one) in (0..).map(Rank).zip(all) {
            let incarnation = one.address.incarnation;
            let Some(MacOffer { nonce, proof: proven }) = one.mac else {
                return Err(format!("has authentication codes on, but {rank} has them off"));
            };
            if proven != proof(secret, incarnation, &nonce) {
                return Err(format!(
                    "does not share the secret of {rank}: VERBCAST_TOKEN or VERBCAST_TOKEN_FILE must be the same at every rank"
                ));
            }
            if rank == own && (incarnation, nonce) != (self.incarnation, self.nonce) {
                return Err("was told of itself what it has not said".to_owned());
            }
            offers.push((incarnation, nonce));
        }
        for (incarnation, nonce) in &offers {
            let of_process = [PROCESS, &incarnation.to_be_bytes(), nonce];
            let of_process = MacKey::new(secret.derive(of_process));
            match *incarnation == self.incarnation {
                true if self.own.contains(&of_process) => {}
                true => self.own.push(of_process),
                // A later one would not be known there before that communicator is.
                false => {
                    self.others.entry(*incarnation).or_insert(of_process);
                }
            }
        }
        let number = key.0.to_be_bytes();
        let nonces = offers.iter().map(|(_, nonce)| &nonce[..]);
        Ok(MacKey::new(secret.derive([COMMUNICATOR, &number].into_iter().chain(nonces))))
    }

    /// The key of messages to a process, if it has been met.
    pub fn to(&self, incarnation: u64) -> Option<&MacKey> {
        self.others.get(&incarnation)
    }

    /// A message to this process, if somebody wrote it who has met it.
    ///
    /// # Errors
    /// As [`RawHeader::authenticate`].
    pub fn authenticate<'a>(
        &self,
        header: &RawHeader,
        bytes: &'a [u8],
    ) -> Result<Packet<'a>, Malformed> {
        let (head, rest) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Forged)?;
        let mut outcomes = self.own.iter().map(|key| header.authenticate_parts(head, rest, key));
        outcomes.find(Result::is_ok).unwrap_or(Err(Malformed::Forged))
    }
}

fn proof(secret: &Secret, incarnation: u64, nonce: &Nonce) -> [u8; 32] {
    secret.derive([PROOF, &incarnation.to_be_bytes(), nonce])
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::rank::{Fragment, OpId};
    use verbcast_core::wire::{
        Adapter, DatagramQp, Draw, FreeTags, GroupAddress, GroupOffer, Header, Kind, NodeOffer,
        PortUse, ProcessAddress, Region,
    };

    fn introduction(incarnation: u64, mac: Option<MacOffer>) -> Introduction {
        let region = Region { address: 0, key: 0 };
        let groups = [GroupAddress::Mgid([0xff; 16]); 3];
        let datagrams = DatagramQp { qpn: 1, generation: 0 };
        let (gid, lid, packet_len, reads) = ([0; 16], 0, 4096, 4);
        Introduction {
            memory: None,
            address: ProcessAddress { incarnation, datagrams, gid, lid, packet_len, reads },
            adapter: Adapter::default(),
            port: PortUse { rate: 0, pkey: 0xffff },
            node: NodeOffer::default(),
            ring: region,
            cells: region,
            draw: Draw { key: 9, seed: 0, groups },
            offer: GroupOffer::default(),
            mac,
            tags: FreeTags::default(),
        }
    }

    fn process(number: u8) -> ProcessKeys {
        ProcessKeys::new(number.into(), [number; 32])
    }

    fn introduced(processes: &[ProcessKeys], secret: &Secret) -> Vec<Introduction> {
        let one = |keys: &ProcessKeys| introduction(keys.incarnation, Some(keys.offer(secret)));
        processes.iter().map(one).collect()
    }

    #[test]
    fn all_ranks_find_one_key_and_it_is_the_communicators_alone() {
        let secret = Secret::new(b"a secret");
        let mut ranks = [process(1), process(2), process(3)];
        let all = introduced(&ranks, &secret);
        let mut keys = |key, secret: &Secret, all: &[Introduction]| {
            let own = (0..).map(Rank);
            let keys = ranks.iter_mut().zip(own).map(|(one, own)| one.meet(secret, own, key, all));
            let keys: Vec<_> = keys.collect::<Result<_, _>>().unwrap();
            assert!(keys.iter().all(|other| *other == keys[0]));
            keys[0]
        };
        let key = keys(Key(9), &secret, &all);
        assert_ne!(keys(Key(10), &secret, &all), key, "another communicator");
        let other = Secret::new(b"another secret");
        let mut ranks = [process(1), process(2), process(3)];
        let all = introduced(&ranks, &other);
        assert_ne!(ranks[0].meet(&other, Rank(0), Key(9), &all), Ok(key), "another job");
        let mut ranks = [process(1), process(2), process(4)];
        let all = introduced(&ranks, &secret);
        assert_ne!(ranks[0].meet(&secret, Rank(0), Key(9), &all), Ok(key), "another nonce");
    }

    #[test]
    fn who_does_not_share_the_secret_is_named() {
        let (secret, other) = (Secret::new(b"a secret"), Secret::new(b"another"));
        let mut ranks = [process(1), process(2)];
        let mut all = introduced(&ranks, &secret);
        all[1].mac = Some(ranks[1].offer(&other));
        let error = ranks[0].meet(&secret, Rank(0), Key(9), &all).unwrap_err();
        assert!(error.contains("does not share the secret of rank 1"), "{error}");
        all[1].mac = None;
        let error = ranks[0].meet(&secret, Rank(0), Key(9), &all).unwrap_err();
        assert!(error.contains("rank 1 has them off"), "{error}");
        // A proof of another process is of no use, nor is what another one said in this one's place.
        all[1].mac = all[0].mac;
        ranks[0].meet(&secret, Rank(0), Key(9), &all).unwrap_err();
        let again = ProcessKeys::new(1, [7; 32]);
        all = introduced(&[again, process(2)], &secret);
        let error = ranks[0].meet(&secret, Rank(0), Key(9), &all).unwrap_err();
        assert!(error.contains("what it has not said"), "{error}");
    }

    #[test]
    fn a_message_to_a_process_is_believed_from_whoever_has_met_it() {
        let secret = Secret::new(b"a secret");
        let mut ranks = [process(1), process(2), process(3)];
        let all = introduced(&ranks, &secret);
        for (own, one) in (0..).map(Rank).zip(&mut ranks) {
            one.meet(&secret, own, Key(9), &all).unwrap();
        }
        let message = |key: &MacKey| {
            let (kind, source, op, fragment) = (Kind::Connect, Rank(0), OpId(0), Fragment(0));
            let (to, message_len, report, asks) = (Key(1), 0, 0, false);
            let header = Header { kind, source, key: to, op, fragment, message_len, report, asks };
            [&header.emit_authentic(b"hello", key)[..], b"hello"].concat()
        };
        let is_believed =
            |bytes: &[u8]| ranks[0].authenticate(&RawHeader::parse(bytes).unwrap(), bytes).is_ok();
        assert!(is_believed(&message(ranks[1].to(1).unwrap())));
        assert!(is_believed(&message(ranks[2].to(1).unwrap())));
        assert!(!is_believed(&message(ranks[1].to(3).unwrap())), "to another process");
        assert_eq!(ranks[1].to(8), None);
    }
}
