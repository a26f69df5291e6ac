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
    let mut packet = header.emit(&payload, true).to_vec();
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
    damaged: u32,
    wrong: u32,
}

impl Counts {
    pub fn add(&mut self, bytes: &[u8]) {
        let is_right = |packet: &Packet<'_>| {
            let number = packet.header().op.0;
            packet.payload() == payload(number, bytes.len() - HEADER_LEN)
        };
        match Packet::parse(bytes, KEY) {
            Err(_) => self.damaged += 1,
            Ok(packet) if is_right(&packet) => self.whole += 1,
            Ok(_) => self.wrong += 1,
        }
    }

    pub fn judge(&self) -> Tried {
        let Counts { whole, damaged, wrong } = self;
        let came = format!("{whole} whole, {damaged} damaged and caught, {wrong} wrong");
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
    fn a_mixture_of_two_packets_is_caught() {
        let (old, new) = (packet(1, 512), packet(2, 512));
        let mut counts = Counts::default();
        counts.add(&old);
        counts.add(&[&new[..100], &old[100..]].concat());
        assert_eq!(counts, Counts { whole: 1, damaged: 1, wrong: 0 });
        assert_eq!(counts.judge().outcome, Outcome::Holds);
    }
}
