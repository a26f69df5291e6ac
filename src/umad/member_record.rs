//! The record of a port's membership in a multicast group (`MCMemberRecord`, IBA 1.4, section 15.2.5.17).

/// Bytes of the record.
pub(super) const RECORD_LEN: usize = 52;

/// Which components of a record count in a request (section 15.2.5.17, in the order of the components).
pub(super) mod component {
    pub const MGID: u64 = 1 << 0;
    pub const PORT_GID: u64 = 1 << 1;
    pub const Q_KEY: u64 = 1 << 2;
    pub const MTU_SELECTOR: u64 = 1 << 4;
    pub const MTU: u64 = 1 << 5;
    pub const TRAFFIC_CLASS: u64 = 1 << 6;
    pub const P_KEY: u64 = 1 << 7;
    pub const RATE_SELECTOR: u64 = 1 << 8;
    pub const RATE: u64 = 1 << 9;
    pub const SL: u64 = 1 << 12;
    pub const FLOW_LABEL: u64 = 1 << 13;
    pub const JOIN_STATE: u64 = 1 << 16;
}

/// A membership as a full member, which sends and receives.
const FULL_MEMBER: u8 = 1;

/// Selects exactly the MTU or rate beside it, where a request says so; by default it is one that is larger.
const EXACTLY: u8 = 2 << 6;
/// `enum ibv_rate`: the codes of rates in Mb/s.
const RATES: [(u32, u8); 21] = [
    (2_500, 2),
    (5_000, 5),
    (10_000, 3),
    (14_000, 11),
    (20_000, 6),
    (25_000, 15),
    (28_000, 19),
    (30_000, 4),
    (40_000, 7),
    (50_000, 20),
    (56_000, 12),
    (60_000, 8),
    (80_000, 9),
    (100_000, 16),
    (112_000, 13),
    (120_000, 10),
    (168_000, 14),
    (200_000, 17),
    (300_000, 18),
    (400_000, 21),
    (600_000, 22),
];

/// The code of the highest rate that a port of so many Mb/s has; none below the lowest.
pub(super) fn rate_code(rate: u32) -> Option<u8> {
    let fitting = RATES.iter().rev().find(|(known, _)| *known <= rate);
    fitting.map(|(_, code)| *code)
}

/// The code of an MTU in bytes, of those that InfiniBand has the largest that is no longer.
pub(super) fn mtu_code(mtu: usize) -> u8 {
    (mtu / 128).clamp(2, 32).ilog2() as u8
}

/// What the subnet administrator knows of a group, or is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemberRecord {
    /// The group.
    pub mgid: [u8; 16],
    /// The port.
    pub port_gid: [u8; 16],
    /// The Q_Key of the group's datagrams.
    pub qkey: u32,
    /// Where switches know the group.
    pub mlid: u16,
    /// The code of the group's MTU: 1 is 256 bytes, and each further one twice as many.
    pub mtu_code: u8,
    /// The traffic class.
    pub traffic_class: u8,
    /// The partition.
    pub pkey: u16,
    /// The code of the group's rate (`enum ibv_rate`).
    pub rate_code: u8,
    /// The service level.
    pub sl: u8,
    /// The flow label, 20 bits.
    pub flow_label: u32,
    /// The hop limit.
    pub hop_limit: u8,
}

impl MemberRecord {
    /// The group's MTU in bytes.
    pub fn mtu(&self) -> usize {
        128 << self.mtu_code.min(5)
    }

    /// Its bytes, as a full member. Its MTU and rate are wanted exactly, if they are.
    pub(super) fn bytes(&self) -> [u8; RECORD_LEN] {
        let mut bytes = [0; RECORD_LEN];
        let path = u32::from(self.sl) << 28 | (self.flow_label & 0xf_ffff) << 8;
        bytes[..16].copy_from_slice(&self.mgid);
        bytes[16..32].copy_from_slice(&self.port_gid);
        bytes[32..36].copy_from_slice(&self.qkey.to_be_bytes());
        bytes[36..38].copy_from_slice(&self.mlid.to_be_bytes());
        bytes[38] = EXACTLY | self.mtu_code;
        bytes[39] = self.traffic_class;
        bytes[40..42].copy_from_slice(&self.pkey.to_be_bytes());
        bytes[42] = EXACTLY | self.rate_code;
        bytes[44..48].copy_from_slice(&(path | u32::from(self.hop_limit)).to_be_bytes());
        bytes[48] = FULL_MEMBER;
        bytes
    }

    /// Reads one.
    pub(super) fn read(bytes: &[u8; RECORD_LEN]) -> MemberRecord {
        let two = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let four = |at: usize| u32::from(two(at)) << 16 | u32::from(two(at + 2));
        let gid = |at: usize| std::array::from_fn(|byte| bytes[at + byte]);
        let path = four(44);
        MemberRecord {
            mgid: gid(0),
            port_gid: gid(16),
            qkey: four(32),
            mlid: two(36),
            // The upper two bits are selectors of a request.
            mtu_code: bytes[38] & 0x3f,
            traffic_class: bytes[39],
            pkey: two(40),
            rate_code: bytes[42] & 0x3f,
            sl: (path >> 28) as u8,
            flow_label: path >> 8 & 0xf_ffff,
            hop_limit: path as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = MemberRecord {
            mgid: [0xff; 16],
            port_gid: [0xfe; 16],
            qkey: 0x0123_4567,
            mlid: 0xc009,
            mtu_code: 4,
            traffic_class: 0x68,
            pkey: 0x8001,
            rate_code: 10,
            sl: 11,
            flow_label: 0xa_bcde,
            hop_limit: 7,
        };
        let mut bytes = record.bytes();
        assert_eq!(MemberRecord::read(&bytes), record);
        // Where the specification draws them.
        assert_eq!(bytes[36..38], [0xc0, 0x09]);
        assert_eq!(bytes[44..49], [0xba, 0xbc, 0xde, 7, FULL_MEMBER]);
        assert_eq!([bytes[38], bytes[42]], [0x84, 0x8a], "exactly");
        bytes[38] ^= 0xc0;
        bytes[42] ^= 0x80;
        let read = MemberRecord::read(&bytes);
        assert_eq!((read.mtu(), read.rate_code), (2048, 10), "selectors do not count");
    }

    #[test]
    fn rates_and_mtus_have_codes() {
        assert_eq!(
            [100_000, 56_000, 99_999, 1].map(rate_code),
            [Some(16), Some(12), Some(9), None]
        );
        assert_eq!([256, 1024, 4096, 4500, 1].map(mtu_code), [1, 3, 5, 5, 1]);
        assert!(RATES.is_sorted());
    }
}
