//! Where a process is: a part of its [introduction](super::Introduction).

use super::datagram_qp::DatagramQp;
use super::error::WireError;
use super::fields::{Reader, Writer};
use std::ops::RangeInclusive;

/// Bytes that a packet may have at most at a port: InfiniBand's smallest MTU (IBA 1.4, section 14.2.5.6), and far more
/// than its largest.
pub(super) const PACKET_LENS: RangeInclusive<usize> = 256..=64 << 10;
/// QP numbers and packet sequence numbers have 24 bits.
pub(super) const MAX_24_BITS: u32 = 0xff_ffff;

/// Where a process is, and what its adapter can do.
///
/// On the wire: incarnation (64 bits), [UD QP](DatagramQp), GID (128), LID (16), packet length (32), reads (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessAddress {
    /// A random number that tells its endpoint from all others, also from one of another time whose QP
    /// had the same number.
    pub incarnation: u64,
    /// Its UD QP.
    pub datagrams: DatagramQp,
    /// The GID of its port.
    pub gid: [u8; 16],
    /// The LID of its port; 0 on RoCE.
    pub lid: u16,
    /// Most bytes of a packet at its port.
    pub packet_len: usize,
    /// RDMA reads that its adapter issues and serves at a time.
    pub reads: u8,
}

impl ProcessAddress {
    pub(super) fn write(&self, to: &mut Writer) {
        let ProcessAddress { incarnation, datagrams, gid, lid, packet_len, reads } = self;
        to.u64(*incarnation);
        datagrams.write(to);
        to.bytes(gid).u16(*lid).count(*packet_len).u8(*reads);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let address = ProcessAddress {
            incarnation: from.u64()?,
            datagrams: DatagramQp::read(from)?,
            gid: from.array()?,
            lid: from.u16()?,
            packet_len: from.u32()? as usize,
            reads: from.u8()?,
        };
        if !PACKET_LENS.contains(&address.packet_len) {
            return Err(from.invalid("packet length"));
        }
        Ok(address)
    }
}
