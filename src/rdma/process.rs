//! The processes that this one exchanges packets with.

/// Where a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Station {
    /// A random number that tells its endpoint from all others, also from one of another time whose QP
    /// had the same number.
    pub life: u64,
    /// The number of its UD QP.
    pub qpn: u32,
    pub gid: [u8; 16],
    pub lid: u16,
    /// Most bytes of a packet at its port.
    pub packet_len: usize,
    /// RDMA reads that its adapter issues and serves at a time.
    pub reads: u8,
}

impl Station {
    /// Length on the wire.
    pub const WIRE_LEN: usize = 8 + 4 + 16 + 2 + 4 + 1;

    pub fn emit(&self) -> Vec<u8> {
        let Station { life, qpn, gid, lid, packet_len, reads } = self;
        let mut bytes = Vec::with_capacity(Self::WIRE_LEN);
        bytes.extend(life.to_be_bytes());
        bytes.extend(qpn.to_be_bytes());
        bytes.extend(gid);
        bytes.extend(lid.to_be_bytes());
        bytes.extend((*packet_len as u32).to_be_bytes());
        bytes.push(*reads);
        bytes
    }

    pub fn parse(bytes: &[u8; Self::WIRE_LEN]) -> Option<Self> {
        let (life, rest) = bytes.split_first_chunk()?;
        let (qpn, rest) = rest.split_first_chunk()?;
        let (gid, rest) = rest.split_first_chunk()?;
        let (lid, rest) = rest.split_first_chunk()?;
        let (packet_len, rest) = rest.split_first_chunk()?;
        Some(Station {
            life: u64::from_be_bytes(*life),
            qpn: u32::from_be_bytes(*qpn),
            gid: *gid,
            lid: u16::from_be_bytes(*lid),
            packet_len: u32::from_be_bytes(*packet_len) as usize,
            reads: *rest.first()?,
        })
    }
}
