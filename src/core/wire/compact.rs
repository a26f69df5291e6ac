//! The header of a fragment that fills its datagram: the 32 bits of immediate data of a UD send (InfiniBand Architecture,
//! volume 1, section 9.2.7), so that the payload is as long as the MTU.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-----+-----------------------------+-----------------------+
//! |L|A| tag |     operation id (BID)      |       fragment        |
//! +-+-+-----+-----------------------------+-----------------------+
//! ```
//!
//! L says that it is the last fragment of its message, A that it [asks](Header::asks). The tag stands for the communicator at
//! all its ranks; which of them has sent it is known by the source GID and QP. Of the operation's id the low 15 bits are
//! told, which stand for the one nearest to where the receiver is. The message's length follows from the last fragment; those
//! before it leave it [untold](Header::UNTOLD). There is no report, and no CRC but the link's.

use super::header::{HEADER_LEN, Header, Key, Kind};
use crate::rank::{Fragment, OpId, Rank};

const LAST: u32 = 1 << 31;
const ASKS: u32 = 1 << 30;
const TAG_BITS: u32 = 3;
const OP_BITS: u32 = 15;
const FRAGMENT_BITS: u32 = 12;
const OP_MASK: u32 = (1 << OP_BITS) - 1;
const FRAGMENT_MASK: u32 = (1 << FRAGMENT_BITS) - 1;

const _: () = assert!(2 + TAG_BITS + OP_BITS + FRAGMENT_BITS == u32::BITS);

/// What stands for a communicator in compact headers, at all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag(u8);

impl Tag {
    /// How many there are.
    pub const COUNT: usize = 1 << TAG_BITS;

    /// Its number, less than [`COUNT`](Self::COUNT).
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// Tags that a process has no communicator for.
///
/// On the wire: a bit for each (8 bits), the lowest for the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeTags(pub u8);

impl FreeTags {
    /// All of them.
    pub const ALL: FreeTags = FreeTags(u8::MAX);

    /// The tag of a communicator of this key, if one is free at all its processes: the first from the one that the key
    /// names on, so that one that has become free is seldom the next in use.
    pub fn choose(all: impl IntoIterator<Item = FreeTags>, key: Key) -> Option<Tag> {
        let free = all.into_iter().fold(u8::MAX, |free, one| free & one.0);
        let from = (key.0 % Tag::COUNT as u64) as u32;
        let behind = free.rotate_right(from).trailing_zeros();
        (free != 0).then(|| Tag(((from + behind) % Tag::COUNT as u32) as u8))
    }

    /// Bytes of a slot of the ring of a process that tells of these, whose port takes packets of `packet_len`: where it may have
    /// to keep a fragment that fills one, with a header besides.
    pub fn slot_len(self, packet_len: usize) -> usize {
        packet_len + if self.0 == 0 { 0 } else { HEADER_LEN }
    }
}

const _: () = assert!(Tag::COUNT == u8::BITS as usize);

/// The immediate data of a fragment that fills its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact(u32);

impl Compact {
    /// Fragments at most of a message whose fragments have such headers.
    pub const MAX_FRAGMENTS: u32 = 1 << FRAGMENT_BITS;
    /// Operations by which a sender is ahead of a receiver at most that tells which operation is meant.
    pub const MAX_AHEAD: u32 = (1 << (OP_BITS - 1)) - 1;

    /// What is told of a fragment of `payload_len` bytes, where those before it have `fragment_len`.
    ///
    /// # Panics
    /// If the message has more fragments than [may have such headers](Self::MAX_FRAGMENTS).
    pub fn new(tag: Tag, header: &Header, payload_len: usize, fragment_len: usize) -> Self {
        let Header { op, fragment, message_len, asks, .. } = *header;
        let is_last = end(fragment, payload_len, fragment_len) == message_len;
        let flags = if is_last { LAST } else { 0 } | if asks { ASKS } else { 0 };
        Compact(flags | Self::plain(tag, op, fragment).0)
    }

    /// What is told of a fragment that is not the last and does not ask.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    #[inline]
    pub fn plain(tag: Tag, op: OpId, fragment: Fragment) -> Self {
        assert!(fragment.0 < Self::MAX_FRAGMENTS, "fragment {} has no compact header", fragment.0);
        let tag = u32::from(tag.0) << (OP_BITS + FRAGMENT_BITS);
        Compact(tag | (op.0 & OP_MASK) << FRAGMENT_BITS | fragment.0)
    }

    /// That of the fragment so many behind, where neither is the last nor asks, and the message has no more
    /// [than may have such headers](Self::MAX_FRAGMENTS).
    #[inline]
    pub fn behind(self, fragments: u32) -> Self {
        Compact(self.0 + fragments)
    }

    /// What came along with a datagram.
    pub fn of(immediate: u32) -> Self {
        Compact(immediate)
    }

    /// What goes along with it.
    #[inline]
    pub fn immediate(self) -> u32 {
        self.0
    }

    /// The communicator's tag.
    pub fn tag(self) -> Tag {
        Tag(((self.0 >> (OP_BITS + FRAGMENT_BITS)) % Tag::COUNT as u32) as u8)
    }

    /// The header that it stands for, of a fragment of `payload_len` bytes that a rank has sent, at a receiver whose
    /// operations are `near` this one.
    pub fn expand(
        self,
        (source, key): (Rank, Key),
        near: OpId,
        payload_len: usize,
        fragment_len: usize,
    ) -> Header {
        let fragment = Fragment(self.0 & FRAGMENT_MASK);
        let message_len = match self.0 & LAST {
            0 => Header::UNTOLD,
            _ => end(fragment, payload_len, fragment_len),
        };
        let op = nearest(self.0 >> FRAGMENT_BITS & OP_MASK, near);
        let (kind, report, asks) = (Kind::Fragment, 0, self.0 & ASKS != 0);
        Header { kind, source, key, op, fragment, message_len, report, asks }
    }
}

/// Where a fragment ends in its message.
fn end(fragment: Fragment, payload_len: usize, fragment_len: usize) -> u64 {
    (fragment.index() * fragment_len + payload_len) as u64
}

/// The operation with these low bits that is nearest to one.
fn nearest(low: u32, near: OpId) -> OpId {
    let ahead = low.wrapping_sub(near.0) << (u32::BITS - OP_BITS);
    OpId(near.0.wrapping_add((ahead as i32 >> (u32::BITS - OP_BITS)) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 4096;
    const KEY: Key = Key(0x0123_4567_89ab_cdef);

    fn header(op: u32, fragment: u32, message_len: u64) -> Header {
        Header {
            kind: Kind::Fragment,
            source: Rank(3),
            key: KEY,
            op: OpId(op),
            fragment: Fragment(fragment),
            message_len,
            report: 0,
            asks: fragment % 2 == 1,
        }
    }

    #[test]
    fn what_is_told_is_what_is_understood() {
        let most = Compact::MAX_FRAGMENTS;
        for (op, near) in [(0, 0), (5, u32::MAX - 3), (u32::MAX, 7), (40_000, 39_990)] {
            for (fragment, len) in [(0, LEN), (1, LEN - 40), (most - 1, LEN)] {
                let end = u64::from(fragment) * LEN as u64 + len as u64;
                let last = header(op, fragment, end);
                let compact = Compact::of(Compact::new(Tag(6), &last, len, LEN).immediate());
                assert_eq!(compact.tag(), Tag(6));
                assert_eq!(compact.expand((Rank(3), KEY), OpId(near), len, LEN), last);
            }
            let early = header(op, 9, 1 << 20);
            let told = Compact::new(Tag(0), &early, LEN, LEN);
            let untold = Header { message_len: Header::UNTOLD, ..early };
            assert_eq!(told.expand((Rank(3), KEY), OpId(near), LEN, LEN), untold);
        }
    }

    #[test]
    fn an_operation_is_known_as_long_as_half_of_the_numbers_are_between() {
        let reach = Compact::MAX_AHEAD + 1;
        for near in [0, 1, reach, u32::MAX - 5] {
            for ahead in [1 - reach as i32, -1, 0, 1, reach as i32 - 1] {
                let op = near.wrapping_add(ahead as u32);
                assert_eq!(nearest(op & OP_MASK, OpId(near)), OpId(op), "{ahead} from {near}");
            }
        }
    }

    #[test]
    fn fields_are_where_the_drawing_has_them() {
        let compact = Compact::new(Tag(5), &header(0x1_2345, 0x867, 0), 1, LEN);
        assert_eq!(compact.immediate(), ASKS | 5 << 27 | 0x2345 << 12 | 0x867);
    }

    #[test]
    fn a_tag_is_free_at_all_or_not_chosen() {
        let choose = |free: &[u8], key| {
            FreeTags::choose(free.iter().copied().map(FreeTags), Key(key)).map(Tag::index)
        };
        assert_eq!((choose(&[0xff, 0xff], 8), choose(&[0xff, 0xff], 13)), (Some(0), Some(5)));
        assert_eq!(
            choose(&[0b1011_0001, 0b0011_1110], 6),
            Some(4),
            "behind the last comes the first"
        );
        assert_eq!(choose(&[0b1000_0000, 0b0100_0000], 0), None);
        assert_eq!((FreeTags(4).slot_len(LEN), FreeTags(0).slot_len(LEN)), (LEN + HEADER_LEN, LEN));
    }
}
