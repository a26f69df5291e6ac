//! The header, read through [`Packet`] (a checked view of received bytes) and written from
//! [`Header`] (its plain representation).
//!
//! All numbers are big-endian.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+---------------+---------------+
//! |      tag      |     kind      |    version    |     flags     |  0
//! +---------------+---------------+---------------+---------------+
//! |                          source rank                          |  4
//! +---------------------------------------------------------------+
//! |                       communicator key                        |  8
//! |                           (64 bits)                           |
//! +---------------------------------------------------------------+
//! |                       operation id (BID)                      | 16
//! +---------------------------------------------------------------+
//! |                   fragment (sequence number)                  | 20
//! +---------------------------------------------------------------+
//! |               length of the message (bytes)                   | 24
//! |                               +-------------------------------+
//! |           (48 bits)           | length of the payload (bytes) | 28
//! +---------------------------------------------------------------+
//! |                       report of the sender                    | 32
//! |                           (64 bits)                           |
//! +---------------------------------------------------------------+
//! |                     CRC-32 of the payload                     | 40
//! +---------------------------------------------------------------+
//! |                     CRC-32 of the header                      | 44
//! +---------------------------------------------------------------+
//! |                            payload …                          | 48
//! ```
//!
//! Hoefler 2007, section 3.2 has the sequence number, the BID and the CRC. The communicator key
//! tells packets of jobs that drew the same group apart, and the message's length lets a rank that
//! called with another size be named. The report is what the sender's protocol piggybacks on any
//! packet that goes the right way: acknowledgements and credits (Liu 2004, sections 4.4 and 5.4);
//! zero says nothing. Flag bit 0 says that the payload has a CRC, whose field is zero otherwise; whether it is looked at is
//! the receiver's affair ([`Checks`]). Flag bit 1 asks for such a report: the sender has to know who has everything up to
//! this fragment. Flag bit 2 says that the last 64 bits are no CRCs, but the packet's [authentication code](super::MacKey),
//! as all ranks of a communicator agreed. Tag and version keep off what other programs send; ranks of different versions have told each other of
//! it before, in their [introductions](super::Introduction).

use super::mac::{COVERED, MacKey};
use crate::rank::{Fragment, OpId, Rank};
use std::cell::Cell;
use std::fmt;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 48;

const TAG: u8 = b'v';
const VERSION: u8 = 5;
const FLAG_PAYLOAD_CRC: u8 = 1;
const FLAG_ASKS: u8 = 2;
const FLAG_MAC: u8 = 4;
const PAYLOAD_CRC_AT: usize = 40;
const CRC_AT: usize = 44;
/// Bits of the length of a message.
const MESSAGE_BITS: u32 = 48;

/// The random number that all ranks of a communicator share and put into every header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(pub u64);

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A fragment of a message.
    Fragment = 1,
    /// The rank that the root waits for has joined the operation.
    Ready = 2,
    /// A rank gave up; the payload is a [`Notice`](super::Notice).
    Abort = 3,
    /// The sender leaves in good order and needs nothing more.
    Bye = 4,
    /// Proof that the group carries datagrams.
    Probe = 5,
    /// One side of a reliable connection introduces itself.
    Connect = 6,
    /// The report alone, where nothing else goes that way; to the group it asks for the others' reports.
    Acknowledge = 7,
    /// Where the sender takes a long message; the payload is an [`Offer`](super::Offer).
    Offer = 8,
    /// A part of a long message is in the receiver's memory, from this fragment on; the payload is a
    /// [`Written`](super::Written).
    Written = 9,
}

impl Kind {
    /// The kind of a number on the wire, if it is one.
    pub fn from_wire(byte: u8) -> Option<Kind> {
        use Kind::*;
        [Fragment, Ready, Abort, Bye, Probe, Connect, Acknowledge, Offer, Written]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Why received bytes are not a packet of this communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Not verbcast's, or of another communicator or version.
    Foreign,
    /// The communicator's own, but damaged.
    Damaged,
    /// It has the communicator's key, but not the code that only its ranks can make.
    Forged,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Foreign => "packet of another communicator",
            Malformed::Damaged => "damaged packet",
            Malformed::Forged => "packet with a wrong authentication code",
        })
    }
}

/// What of a packet its receiver checks against the CRCs in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// The header. What an adapter received, its link has checked already: InfiniBand and RoCE by the invariant CRC of
    /// each packet (InfiniBand Architecture, volume 1, section 7.8.1), Omni-Path on each link.
    Header,
    /// The payload too, where it has a CRC.
    Whole,
}

/// The header's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The packet's purpose.
    pub kind: Kind,
    /// The rank that sent the packet.
    pub source: Rank,
    /// The communicator's key.
    pub key: Key,
    /// The operation that the packet belongs to.
    pub op: OpId,
    /// The fragment that the payload is.
    pub fragment: Fragment,
    /// Length of the whole message in bytes, less than 2⁴⁸ - 1; or [untold](Self::UNTOLD).
    pub message_len: u64,
    /// What the sender's protocol reports of itself; zero says nothing.
    pub report: u64,
    /// Whether it asks its receivers for a report of their own, as soon as they have this fragment and all
    /// before it.
    pub asks: bool,
}

impl Header {
    /// The length of a message of which a [compact](super::Compact) header says nothing.
    pub const UNTOLD: u64 = (1 << MESSAGE_BITS) - 1;

    /// The header's bytes in front of `payload`, which has a CRC of its own with `payload_crc`.
    ///
    /// # Panics
    /// If the payload has more than 65,535 bytes, which no transport carries, or the message 2⁴⁸ or more.
    pub fn emit(&self, payload: &[u8], payload_crc: bool) -> [u8; HEADER_LEN] {
        let of_payload = if payload_crc { crc_of_payload(payload) } else { 0 };
        let mut bytes = self.fields(payload, if payload_crc { FLAG_PAYLOAD_CRC } else { 0 });
        bytes[PAYLOAD_CRC_AT..CRC_AT].copy_from_slice(&of_payload.to_be_bytes());
        let of_header = crc32fast::hash(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&of_header.to_be_bytes());
        bytes
    }

    /// The header's bytes in front of `payload`, with a code of both that takes the key to make.
    ///
    /// # Panics
    /// As [`emit`](Self::emit).
    pub fn emit_authentic(&self, payload: &[u8], key: &MacKey) -> [u8; HEADER_LEN] {
        let mut bytes = self.fields(payload, FLAG_MAC);
        let (covered, code) = bytes.split_first_chunk_mut().expect("a header is longer");
        code.copy_from_slice(&key.code(covered, payload).to_be_bytes());
        bytes
    }

    /// One or the other: with a code where there is a key, else with CRCs.
    ///
    /// # Panics
    /// As [`emit`](Self::emit).
    pub fn emit_as(
        &self,
        payload: &[u8],
        payload_crc: bool,
        mac: Option<&MacKey>,
    ) -> [u8; HEADER_LEN] {
        match mac {
            None => self.emit(payload, payload_crc),
            Some(key) => self.emit_authentic(payload, key),
        }
    }

    /// All but what protects it.
    #[inline(always)]
    fn fields(&self, payload: &[u8], flags: u8) -> [u8; HEADER_LEN] {
        let payload_len = u16::try_from(payload.len()).expect("a payload fits a packet");
        assert!(self.message_len >> MESSAGE_BITS == 0, "a message of {} bytes", self.message_len);
        let lengths = self.message_len << 16 | u64::from(payload_len);
        let mut bytes = [0; HEADER_LEN];
        bytes[0] = TAG;
        bytes[1] = self.kind as u8;
        bytes[2] = VERSION;
        bytes[3] = flags | if self.asks { FLAG_ASKS } else { 0 };
        bytes[4..8].copy_from_slice(&self.source.0.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.key.0.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.op.0.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.fragment.0.to_be_bytes());
        bytes[24..32].copy_from_slice(&lengths.to_be_bytes());
        bytes[32..40].copy_from_slice(&self.report.to_be_bytes());
        bytes
    }
}

/// What a received header says before its CRC is checked: enough to find out whose packet it is and where its
/// payload belongs, and nothing to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawHeader {
    header: Header,
    payload_len: u16,
    payload_crc: Option<u32>,
    crc: u32,
}

impl RawHeader {
    /// Reads the header that `bytes` start with; `None` where that is none of this version.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().filter(|head| is_header(head)).and_then(Self::read)
    }

    fn read(head: &[u8; HEADER_LEN]) -> Option<Self> {
        let lengths = u64_at(head, 24);
        let header = Header {
            kind: Kind::from_wire(head[1])?,
            source: Rank(u32_at(head, 4)),
            key: Key(u64_at(head, 8)),
            op: OpId(u32_at(head, 16)),
            fragment: Fragment(u32_at(head, 20)),
            message_len: lengths >> 16,
            report: u64_at(head, 32),
            asks: head[3] & FLAG_ASKS != 0,
        };
        Some(RawHeader {
            header,
            payload_len: lengths as u16,
            payload_crc: (head[3] & FLAG_PAYLOAD_CRC != 0).then(|| u32_at(head, PAYLOAD_CRC_AT)),
            crc: u32_at(head, CRC_AT),
        })
    }

    /// That of a payload of so many bytes whose header came otherwise than as bytes in front of it. It is intact if the link
    /// has carried it; there is nothing to [check](Self::check).
    pub fn expanded(header: Header, payload_len: usize) -> Option<Self> {
        let payload_len = u16::try_from(payload_len).ok()?;
        Some(RawHeader { header, payload_len, payload_crc: None, crc: 0 })
    }

    /// The fields, whatever they are worth.
    pub fn unchecked(&self) -> &Header {
        &self.header
    }

    /// Bytes that the payload should have.
    pub fn payload_len(&self) -> usize {
        self.payload_len.into()
    }

    /// The packet, if `bytes`, which start with this header, are whole.
    ///
    /// # Errors
    /// [`Malformed::Damaged`] where the length or the CRC is wrong.
    pub fn check<'a>(&self, bytes: &'a [u8], checks: Checks) -> Result<Packet<'a>, Malformed> {
        let (head, rest) = bytes.split_first_chunk().ok_or(Malformed::Damaged)?;
        self.check_parts(head, rest, checks)
    }

    /// As [`check`](Self::check), of a packet whose payload is elsewhere: `rest` starts with it.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_parts<'a>(
        &self,
        head: &[u8; HEADER_LEN],
        rest: &'a [u8],
        checks: Checks,
    ) -> Result<Packet<'a>, Malformed> {
        let payload = rest.get(..self.payload_len()).ok_or(Malformed::Damaged)?;
        let of_payload = self.payload_crc.filter(|_| checks == Checks::Whole);
        let is_right = self.crc == crc32fast::hash(&head[..CRC_AT])
            && of_payload.is_none_or(|crc| crc == crc_of_payload(payload));
        is_right.then_some(Packet { header: self.header, payload }).ok_or(Malformed::Damaged)
    }

    /// The packet, if `bytes`, which start with this header, have the code that `key` gives them.
    ///
    /// # Errors
    /// [`Malformed::Forged`] where they have another one or none, or another length.
    pub fn authenticate<'a>(&self, bytes: &'a [u8], key: &MacKey) -> Result<Packet<'a>, Malformed> {
        let (head, rest) = bytes.split_first_chunk().ok_or(Malformed::Forged)?;
        self.authenticate_parts(head, rest, key)
    }

    /// As [`authenticate`](Self::authenticate), of a packet whose payload is elsewhere: `rest` starts with it.
    ///
    /// # Errors
    /// As [`authenticate`](Self::authenticate).
    pub fn authenticate_parts<'a>(
        &self,
        head: &[u8; HEADER_LEN],
        rest: &'a [u8],
        key: &MacKey,
    ) -> Result<Packet<'a>, Malformed> {
        let payload = rest.get(..self.payload_len()).ok_or(Malformed::Forged)?;
        let covered: &[u8; COVERED] = head.first_chunk().ok_or(Malformed::Forged)?;
        let is_right = u64_at(head, COVERED) == key.code(covered, payload);
        is_right.then_some(Packet { header: self.header, payload }).ok_or(Malformed::Forged)
    }

    /// The packet, which was found whole by a [check](Self::check_parts) before; `rest` starts with its payload.
    ///
    /// # Errors
    /// [`Malformed::Damaged`] where the length is wrong.
    pub fn known_intact<'a>(&self, rest: &'a [u8]) -> Result<Packet<'a>, Malformed> {
        let payload = rest.get(..self.payload_len()).ok_or(Malformed::Damaged)?;
        Ok(Packet { header: self.header, payload })
    }
}

/// Received bytes that were found to be a whole packet of this communicator.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Checks `bytes`, which start with the header, against the communicator's key and the CRCs.
    ///
    /// # Errors
    /// [`Malformed::Foreign`] where the bytes are not of this communicator, [`Malformed::Damaged`]
    /// where they are but their length or CRC is wrong.
    pub fn parse(bytes: &'a [u8], key: Key) -> Result<Self, Malformed> {
        let (head, rest) = bytes.split_first_chunk().ok_or(Malformed::Foreign)?;
        if !is_of(head, key) {
            return Err(Malformed::Foreign);
        }
        Self::parse_own(head, rest)
    }

    /// Apart from [`parse`](Self::parse), so that the packets of others cost no more than the look at their key.
    #[inline(never)]
    fn parse_own(head: &[u8; HEADER_LEN], rest: &'a [u8]) -> Result<Self, Malformed> {
        let header = RawHeader::read(head).ok_or(Malformed::Foreign)?;
        header.check_parts(head, rest, Checks::Whole)
    }

    /// A packet that was checked before, and copied since.
    pub(crate) fn checked(header: Header, payload: &'a [u8]) -> Self {
        Packet { header, payload }
    }

    /// The header's fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes behind the header.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

fn is_of(head: &[u8; HEADER_LEN], key: Key) -> bool {
    is_header(head) && head[8..16] == key.0.to_be_bytes()
}

fn is_header(head: &[u8; HEADER_LEN]) -> bool {
    head[0] == TAG && head[2] == VERSION
}

fn u32_at(head: &[u8; HEADER_LEN], at: usize) -> u32 {
    u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
}

fn u64_at(head: &[u8; HEADER_LEN], at: usize) -> u64 {
    u64::from(u32_at(head, at)) << 32 | u64::from(u32_at(head, at + 4))
}

thread_local! {
    static CHECKSUMMED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of payloads that this thread has computed CRCs of, to send them or to check them.
pub fn checksummed() -> u64 {
    CHECKSUMMED.get()
}

pub(super) fn crc_of_payload(payload: &[u8]) -> u32 {
    CHECKSUMMED.set(CHECKSUMMED.get() + payload.len() as u64);
    crc32fast::hash(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MAC_KEY_LEN;

    const HEADER: Header = Header {
        kind: Kind::Fragment,
        source: Rank(3),
        key: Key(0x0123_4567_89ab_cdef),
        op: OpId(0xffff_fffe),
        fragment: Fragment(9),
        message_len: 0x1_0000_0002,
        report: 0x3_0000_0004,
        asks: true,
    };

    fn packet(payload: &[u8], payload_crc: bool) -> Vec<u8> {
        [&HEADER.emit(payload, payload_crc), payload].concat()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = packet(b"payload", true);
        let packet = Packet::parse(&bytes, HEADER.key).unwrap();
        assert_eq!(packet.header(), &HEADER);
        assert_eq!(packet.payload(), b"payload");
        let quiet = Header { asks: false, ..HEADER };
        let bytes = quiet.emit(b"", false);
        assert_eq!(Packet::parse(&bytes, HEADER.key).unwrap().header(), &quiet);
    }

    #[test]
    fn fields_are_where_the_drawing_has_them() {
        let bytes = packet(b"payload", true);
        let drawn: [&[u8]; 9] = [
            &[TAG, 1, VERSION, 3],
            &[0, 0, 0, 3],
            &[0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef],
            &[0xff, 0xff, 0xff, 0xfe],
            &[0, 0, 0, 9],
            &[0, 1, 0, 0, 0, 2, 0, 7],
            &[0, 0, 0, 3, 0, 0, 0, 4],
            &crc32fast::hash(b"payload").to_be_bytes(),
            &crc32fast::hash(&bytes[..CRC_AT]).to_be_bytes(),
        ];
        assert_eq!(bytes, [&drawn.concat()[..], b"payload"].concat());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let bytes = packet(b"payload", true);
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Packet::parse(&bad, HEADER.key).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn payload_coverage_is_an_option() {
        let mut bytes = packet(b"payload", false);
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(Packet::parse(&bytes, HEADER.key).unwrap().payload(), b"payloae");
        bytes[20] ^= 1;
        assert_eq!(Packet::parse(&bytes, HEADER.key).unwrap_err(), Malformed::Damaged);
    }

    #[test]
    fn what_is_in_the_place_of_a_crc_that_is_not_there_does_not_count() {
        let mut bytes = packet(b"payload", false);
        bytes[PAYLOAD_CRC_AT..CRC_AT].fill(0xff);
        assert_eq!(Packet::parse(&bytes, HEADER.key).unwrap_err(), Malformed::Damaged);
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        bytes[CRC_AT..HEADER_LEN].copy_from_slice(&crc.to_be_bytes());
        let read = Packet::parse(&bytes, HEADER.key).unwrap();
        assert_eq!((read.header(), read.payload()), (&HEADER, &b"payload"[..]));
    }

    #[test]
    fn bytes_under_a_crc_are_counted() {
        let before = checksummed();
        let whole = packet(b"payload", true);
        Packet::parse(&whole, HEADER.key).unwrap();
        assert_eq!(checksummed() - before, 14);
        Packet::parse(&packet(b"payload", false), HEADER.key).unwrap();
        assert_eq!(checksummed() - before, 14);
    }

    #[test]
    fn a_payload_is_checked_where_it_is_asked_for() {
        let mut bytes = packet(b"payload", true);
        *bytes.last_mut().unwrap() ^= 1;
        let raw = RawHeader::parse(&bytes).unwrap();
        assert_eq!(raw.check(&bytes, Checks::Header).unwrap().payload(), b"payloae");
        assert_eq!(raw.check(&bytes, Checks::Whole).unwrap_err(), Malformed::Damaged);
        bytes[CRC_AT - 1] ^= 1;
        let raw = RawHeader::parse(&bytes).unwrap();
        assert_eq!(raw.check(&bytes, Checks::Header).unwrap_err(), Malformed::Damaged);
    }

    const MAC_KEY: MacKey = MacKey::new([7; MAC_KEY_LEN]);

    fn authentic(payload: &[u8]) -> Vec<u8> {
        [&HEADER.emit_authentic(payload, &MAC_KEY), payload].concat()
    }

    fn authenticated(bytes: &[u8], key: &MacKey) -> Result<Header, Malformed> {
        let raw = RawHeader::parse(bytes).ok_or(Malformed::Foreign)?;
        raw.authenticate(bytes, key).map(|packet| *packet.header())
    }

    #[test]
    fn a_code_takes_the_place_of_the_crcs() {
        for len in [0, 1, 976, 4048] {
            let bytes = authentic(&vec![0x5a; len]);
            assert_eq!((bytes.len(), bytes[3]), (HEADER_LEN + len, FLAG_MAC | FLAG_ASKS));
            assert_eq!(authenticated(&bytes, &MAC_KEY), Ok(HEADER));
            let longer = [&bytes[..], b"more"].concat();
            assert_eq!(authenticated(&longer, &MAC_KEY), Ok(HEADER), "of {len} bytes");
            assert_eq!(Packet::parse(&bytes, HEADER.key).unwrap_err(), Malformed::Damaged);
        }
    }

    #[test]
    fn who_has_another_key_forges_nothing() {
        let bytes = authentic(b"payload");
        assert_eq!(authenticated(&bytes, &MacKey::new([8; MAC_KEY_LEN])), Err(Malformed::Forged));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(authenticated(&bad, &MAC_KEY).is_err(), "bit {bit}");
        }
        assert_eq!(authenticated(&bytes[..bytes.len() - 1], &MAC_KEY), Err(Malformed::Forged));
    }

    #[test]
    fn what_has_crcs_is_no_answer_to_who_wants_a_code() {
        for payload_crc in [true, false] {
            let bytes = packet(b"payload", payload_crc);
            assert_eq!(authenticated(&bytes, &MAC_KEY), Err(Malformed::Forged));
        }
        // Nor is the code under another flag.
        let mut bytes = authentic(b"payload");
        bytes[3] &= !FLAG_MAC;
        assert_eq!(authenticated(&bytes, &MAC_KEY), Err(Malformed::Forged));
    }

    #[test]
    fn strangers_are_told_from_damage() {
        let bytes = packet(b"payload", true);
        assert_eq!(Packet::parse(&bytes, Key(1)).unwrap_err(), Malformed::Foreign);
        assert_eq!(Packet::parse(&bytes[..47], HEADER.key).unwrap_err(), Malformed::Foreign);
        assert_eq!(Packet::parse(&bytes[..50], HEADER.key).unwrap_err(), Malformed::Damaged);
    }
}
