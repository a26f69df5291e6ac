//! The messages with which two processes connect their reliable QPs.

use super::datagram_qp::DatagramQp;
use super::error::WireError;
use super::fields::{Reader, Writer};
use super::format::Format;
use super::process_address::{MAX_24_BITS, PACKET_LENS};

/// A step of the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// The sender wants a connection.
    Open = 1,
    /// The sender's QPs are connected.
    Accept = 2,
    /// The sender has heard of it.
    Confirm = 3,
}

/// One end of a reliable connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// QP number, 24 bits.
    pub qpn: u32,
    /// First packet sequence number that it sends, 24 bits.
    pub psn: u32,
}

/// A process's ends of a connection: one QP for messages, one for probes of liveness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// For messages.
    pub messages: End,
    /// For probes.
    pub probes: End,
    /// Most bytes of a packet on the way between the two, as far as the sender knows.
    pub mtu: usize,
}

/// A message of the handshake: the payload of a packet whose key is the incarnation of the process that it is meant
/// for.
///
/// On the wire: step (8 bits), incarnation (64), the [UD QP](DatagramQp), QP number and sequence number (32 each) of
/// both ends, and the MTU (32).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The [incarnation](super::ProcessAddress::incarnation) of the process that it is from.
    pub from: u64,
    /// Its UD QP, which may be another one than it introduced itself with: the answer goes there.
    pub datagrams: DatagramQp,
    /// What it says.
    pub step: Step,
    /// The sender's ends.
    pub ends: Ends,
}

impl Message {
    /// Its tag and version.
    pub const FORMAT: Format =
        Format { name: "a message of a handshake", tag: *b"vbC", version: 4 };

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut to = Self::FORMAT.write();
        to.u8(self.step as u8).u64(self.from);
        self.datagrams.write(&mut to);
        self.ends.messages.write(&mut to);
        self.ends.probes.write(&mut to);
        to.count(self.ends.mtu);
        to.finish()
    }

    /// Reads one.
    ///
    /// # Errors
    /// If the bytes are not one of this version.
    pub fn parse(bytes: &[u8]) -> Result<Message, WireError> {
        let mut from = Self::FORMAT.read(bytes)?;
        let step = match from.u8()? {
            1 => Step::Open,
            2 => Step::Accept,
            3 => Step::Confirm,
            _ => return Err(from.invalid("step")),
        };
        let (sender, datagrams) = (from.u64()?, DatagramQp::read(&mut from)?);
        let (messages, probes) = (End::read(&mut from)?, End::read(&mut from)?);
        let ends = Ends { messages, probes, mtu: from.u32()? as usize };
        if !PACKET_LENS.contains(&ends.mtu) {
            return Err(from.invalid("MTU"));
        }
        from.end().map(|()| Message { from: sender, datagrams, step, ends })
    }
}

impl End {
    fn write(&self, to: &mut Writer) {
        to.u32(self.qpn).u32(self.psn);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let end = End { qpn: from.u32()?, psn: from.u32()? };
        match end.qpn.max(end.psn) <= MAX_24_BITS {
            true => Ok(end),
            false => Err(from.invalid("QP number or sequence number")),
        }
    }
}
