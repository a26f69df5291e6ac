//! Whole packets, as ranks keep them in the ring that others read.

use super::finding::Tried;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, Packet};

const KEY: Key = Key(0x0d0c_7012_3456_789a);

/// A packet of `len` bytes, all of which follow from its number.
pub fn packet(number: u32, len: usize) -> Vec<u8> {
    let payload = payload(number, len - HEADER_LEN);
    let header = Header {
        kind: Kind::Fragment,
        source: Rank(0),
        key: KEY,
        op: OpId(number),
        fragment: Fragment(0),
        message_len: payload.len() as u64,
        report: 0,
        asks: false,
    };
    let mut packet = header.emit(&payload, false).to_vec();
    packet.extend(payload);
    packet
}

fn payload(number: u32, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number as usize + at / 64) as u8).collect()
}

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    whole: u32,
    replaced: u32,
    wrong: u32,
}

impl Counts {
    /// A packet was read, and then its header again.
    pub fn add(&mut self, bytes: &[u8]) {
        let Some((bytes, again)) = bytes.split_last_chunk::<HEADER_LEN>() else { return };
        let is_right = |packet: &Packet<'_>| {
            let number = packet.header().op.0;
            packet.payload() == payload(number, bytes.len() - HEADER_LEN)
        };
        match Packet::parse(bytes, KEY) {
            Ok(packet) if bytes.starts_with(again) => match is_right(&packet) {
                true => self.whole += 1,
                false => self.wrong += 1,
            },
            _ => self.replaced += 1,
        }
    }

    pub fn judge(&self) -> Tried {
        let Counts { whole, replaced, wrong } = self;
        let came = format!("{whole} whole, {replaced} replaced meanwhile, {wrong} wrong");
        match wrong {
            0 => Tried::holds(came),
            _ => Tried::broken(came, "please send the report: repairs could be wrong here"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Outcome;
    use super::*;

    #[test]
    fn a_packet_that_was_replaced_meanwhile_is_told_from_a_wrong_one() {
        let (old, new) = (packet(1, 512), packet(2, 512));
        let mixture = [&new[..100], &old[100..]].concat();
        let header = |packet: &[u8]| packet[..HEADER_LEN].to_vec();
        let mut counts = Counts::default();
        counts.add(&[old.clone(), header(&old)].concat());
        counts.add(&[mixture.clone(), header(&old)].concat());
        counts.add(&[old.clone(), vec![0; HEADER_LEN]].concat());
        assert_eq!(counts, Counts { whole: 1, replaced: 2, wrong: 0 });
        assert_eq!(counts.judge().outcome, Outcome::Holds);
        counts.add(&[mixture, header(&new)].concat());
        assert_eq!((counts.wrong, counts.judge().outcome), (1, Outcome::Broken));
    }
}
