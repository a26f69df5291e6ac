//! What holds for every format: it is read as it was written; what is cut off, has something behind it, is of another
//! version or of another format is refused; and no bytes at all make a parser panic.

mod seeds;
mod values;

use super::handshake::{self, End, Ends, Step};
use super::*;
use crate::rank::{Fragment, OpId, Rank};
use crate::topology::{MAX_SWITCHES, SwitchPath};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::fmt::Debug;
use values::*;

type Outcome = Result<(), TestCaseError>;

/// Bytes are read as the value that they were written from.
fn survives<T: PartialEq + Debug>(
    value: &T,
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, WireError>,
) -> Outcome {
    let read = parse(bytes);
    prop_assert_eq!(read.as_ref(), Ok(value));
    Ok(())
}

/// Another tag and another version are refused, and the error says which version it is.
fn names_its_version<T: Debug>(
    format: Format,
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, WireError>,
) -> Outcome {
    let mut other = bytes.to_vec();
    other[3] = other[3].wrapping_add(1);
    let theirs = other[3];
    prop_assert_eq!(parse(&other).unwrap_err(), WireError::Version { format, theirs });
    let error = parse(&other).unwrap_err().to_string();
    prop_assert!(
        error.contains(&theirs.to_string()) && error.contains(&format.version.to_string())
    );
    other[0] ^= 1;
    prop_assert_eq!(parse(&other).unwrap_err(), WireError::Foreign { format });
    Ok(())
}

/// Nothing shorter or longer is read at all.
fn has_one_length<T: Debug>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, WireError>,
) -> Outcome {
    for len in 0..bytes.len() {
        prop_assert!(parse(&bytes[..len]).is_err(), "cut to {} bytes", len);
    }
    let longer = [bytes, &[0]].concat();
    let is_refused = matches!(parse(&longer), Err(WireError::Trailing { .. }));
    prop_assert!(is_refused, "with a byte behind it");
    Ok(())
}

/// All of these.
fn is_sound<T: PartialEq + Debug>(
    format: Format,
    value: &T,
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<T, WireError> + Copy,
) -> Outcome {
    survives(value, bytes, parse)?;
    names_its_version(format, bytes, parse)?;
    has_one_length(bytes, parse)
}

/// No two formats have the same tag.
#[test]
fn tags_differ() {
    let formats = [
        Ballot::FORMAT,
        Challenge::FORMAT,
        Exposure::FORMAT,
        FrameHeader::FORMAT,
        Gathered::FORMAT,
        handshake::Message::FORMAT,
        Hello::FORMAT,
        Inquiry::FORMAT,
        Introduction::FORMAT,
        Join::FORMAT,
        Notice::FORMAT,
        Offer::FORMAT,
        PreloadBallot::FORMAT,
        ProofBallot::FORMAT,
        Proposal::FORMAT,
        Refusal::FORMAT,
        Relocation::FORMAT,
        Response::FORMAT,
        Terms::FORMAT,
        Whereabouts::FORMAT,
        Written::FORMAT,
    ];
    let tags: std::collections::HashSet<_> = formats.iter().map(|format| format.tag).collect();
    assert_eq!(tags.len(), formats.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets(header in header(), payload in vec(any::<u8>(), 0..300), is_covered: bool) {
        let bytes = [&header.emit(&payload, is_covered), &payload[..]].concat();
        let packet = Packet::parse(&bytes, header.key).unwrap();
        prop_assert_eq!((packet.header(), packet.payload()), (&header, &payload[..]));
        for len in 0..bytes.len() {
            prop_assert!(Packet::parse(&bytes[..len], header.key).is_err());
        }
        let raw = RawHeader::parse(&bytes).unwrap();
        prop_assert_eq!((raw.unchecked(), raw.payload_len()), (&header, payload.len()));
        let head = bytes.first_chunk().unwrap();
        prop_assert_eq!(raw.check_parts(head, &payload, Checks::Whole).unwrap().payload(), &payload[..]);
        let other = Key(!header.key.0);
        prop_assert_eq!(Packet::parse(&bytes, other).unwrap_err(), Malformed::Foreign);
        for at in [0, 2] {
            let mut other = bytes.clone();
            other[at] ^= 1;
            prop_assert_eq!(Packet::parse(&other, header.key).unwrap_err(), Malformed::Foreign);
        }
    }

    #[test]
    fn noise_is_no_packet(mut bytes in vec(any::<u8>(), 0..200), key: u64, changed in 0..48_usize) {
        prop_assert!(Packet::parse(&bytes, Key(key)).is_err());
        // A header that fits but in one byte and in its CRC.
        let header = Header {
            kind: Kind::Fragment,
            source: Rank(1),
            key: Key(key),
            op: OpId(0),
            fragment: Fragment(0),
            message_len: 0,
            report: 0,
            asks: false,
        };
        bytes.splice(0..0, header.emit(&bytes.clone(), true));
        bytes[changed] = !bytes[changed];
        prop_assert!(Packet::parse(&bytes, Key(key)).is_err());
    }

    #[test]
    fn only_the_key_of_the_codes_makes_a_packet_authentic(
        payload in vec(any::<u8>(), 0..3000),
        numbers: (u32, u64, u32, u32, u64),
        keys: ([u8; 32], [u8; 32]),
        at: prop::sample::Index,
        bit in 0..8_u32,
    ) {
        let (source, key, op, fragment, report) = numbers;
        let header = Header {
            kind: Kind::Abort,
            source: Rank(source),
            key: Key(key),
            op: OpId(op),
            fragment: Fragment(fragment),
            message_len: 7,
            report,
            asks: source % 2 == 1,
        };
        let (own, other) = (MacKey::new(keys.0), MacKey::new(keys.1));
        let mut bytes = [&header.emit_authentic(&payload, &own)[..], &payload].concat();
        let authentic = |bytes: &[u8], key: &MacKey| {
            RawHeader::parse(bytes).and_then(|raw| Some(*raw.authenticate(bytes, key).ok()?.header()))
        };
        prop_assert_eq!(authentic(&bytes, &own), Some(header));
        prop_assert_eq!(authentic(&bytes, &other).is_some(), own == other);
        prop_assert!(authentic(&bytes[..bytes.len() - 1], &own).is_none());
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(authentic(&bytes, &own).is_none());
    }

    #[test]
    fn notices(rank: u32, kind in failure_kind(), reason in ".{0,100}") {
        let notice = Notice { rank: Rank(rank), kind, reason };
        let bytes = notice.emit();
        survives(&notice, &bytes, Notice::parse)?;
        names_its_version(Notice::FORMAT, &bytes, Notice::parse)?;
        prop_assert!((0..9).all(|len| Notice::parse(&bytes[..len]).is_err()));
        let unknown = [&bytes[..8], &[3], &bytes[9..]].concat();
        prop_assert!(Notice::parse(&unknown).is_err());
    }

    #[test]
    fn offers_and_writes(memory in option::of(region()), bytes in vec(any::<u8>(), 0..100), has_crc: bool) {
        let offer = Offer { memory };
        survives(&offer, &offer.emit(), Offer::parse)?;
        names_its_version(Offer::FORMAT, &offer.emit(), Offer::parse)?;
        let written = Written::new(&bytes, has_crc);
        survives(&written, &written.emit(), Written::parse)?;
        names_its_version(Written::FORMAT, &written.emit(), Written::parse)?;
        prop_assert!(written.is_of(&bytes));
        let other = [&bytes[..], &[0]].concat();
        prop_assert_eq!(written.is_of(&other), !has_crc);
    }

    #[test]
    fn long_notices_are_bounded(reason in ".{400,600}", bytes in noise(Notice::FORMAT)) {
        let notice = Notice { rank: Rank(1), kind: FailureKind::GaveUp, reason };
        prop_assert!(notice.emit().len() <= NOTICE_LEN);
        // What cannot be read as UTF-8 takes up to three times its length.
        prop_assert!(Notice::parse(&bytes).map_or(0, |read| read.reason.len()) <= 3 * NOTICE_LEN);
    }

    #[test]
    fn introductions(one in introduction()) {
        is_sound(Introduction::FORMAT, &one, &one.emit(), Introduction::parse)?;
    }

    #[test]
    fn places_of_ranks(one in whereabouts()) {
        is_sound(Whereabouts::FORMAT, &one, &one.emit(), Whereabouts::parse)?;
    }

    #[test]
    fn names_of_switches_are_short_and_can_be_printed(bytes in vec(any::<u8>(), 0..100)) {
        let one = Whereabouts { switches: SwitchPath::new(["top"]).unwrap(), ..Whereabouts::default() };
        let mut emitted = one.emit();
        // The length and the name of the only one.
        let at = Format::LEN + 16 + 1 + 4;
        emitted.splice(at..at + 4, [&[bytes.len() as u8], &bytes[..]].concat());
        let is_name = (1..=64).contains(&bytes.len())
            && bytes.iter().all(|byte| (0x21..0x7f).contains(byte) && !b"[]{},#=\"\\".contains(byte));
        prop_assert_eq!(Whereabouts::parse(&emitted).is_ok(), is_name);
    }

    #[test]
    fn names_of_hosts_are_short_and_can_be_printed(bytes in vec(any::<u8>(), 0..100)) {
        let mut emitted = Whereabouts::default().emit();
        let at = Format::LEN + 16;
        emitted.splice(at..=at, [&[bytes.len() as u8], &bytes[..]].concat());
        let is_name = bytes.len() <= 64 && bytes.iter().all(|byte| (0x21..0x7f).contains(byte));
        prop_assert_eq!(Whereabouts::parse(&emitted).is_ok(), is_name);
    }

    #[test]
    fn handshakes(message in handshake_message()) {
        let bytes = message.emit();
        is_sound(handshake::Message::FORMAT, &message, &bytes, handshake::Message::parse)?;
        prop_assert_eq!(ProcessMessage::parse(&bytes), Ok(ProcessMessage::Handshake(message)));
    }

    #[test]
    fn relocations(from: u64, datagrams in datagram_qp(), is_answer: bool) {
        let relocation = Relocation { from, datagrams, is_answer };
        let bytes = relocation.emit();
        is_sound(Relocation::FORMAT, &relocation, &bytes, Relocation::parse)?;
        prop_assert_eq!(ProcessMessage::parse(&bytes), Ok(ProcessMessage::Relocation(relocation)));
    }

    #[test]
    fn inquiries(inquiry in inquiry()) {
        let bytes = inquiry.emit();
        is_sound(Inquiry::FORMAT, &inquiry, &bytes, Inquiry::parse)?;
        prop_assert_eq!(ProcessMessage::parse(&bytes), Ok(ProcessMessage::Inquiry(inquiry)));
    }

    #[test]
    fn proof_ballots(has_heard_strangers: bool, has_heard_short_alone: bool, ranks in vec(any::<bool>(), 0..70)) {
        let mut missing = ranks;
        missing.resize(missing.len().next_multiple_of(8), false);
        let ballot = ProofBallot { has_heard_strangers, has_heard_short_alone, missing };
        is_sound(ProofBallot::FORMAT, &ballot, &ballot.emit(), ProofBallot::parse)?;
    }

    #[test]
    fn preload_ballots(
        number: u64,
        flags: [bool; 3],
        one_node in 0..3_usize,
        proposal in vec(any::<u8>(), 0..50),
    ) {
        let [wants_statistics, has_adapter, has_hook] = flags;
        let one_node = [OneNode::Auto, OneNode::Use, OneNode::Pass][one_node];
        let ballot =
            PreloadBallot { number, wants_statistics, one_node, has_adapter, has_hook, proposal };
        let bytes = ballot.emit();
        survives(&ballot, &bytes, PreloadBallot::parse)?;
        names_its_version(PreloadBallot::FORMAT, &bytes, PreloadBallot::parse)?;
        prop_assert!((0..16).all(|len| PreloadBallot::parse(&bytes[..len]).is_err()));
    }

    #[test]
    fn terms_of_ranks(terms in terms()) {
        is_sound(Terms::FORMAT, &terms, &terms.emit(), Terms::parse)?;
    }

    #[test]
    fn exposures(ring in region(), cells in region(), slots in 0..32_u32, is_lead: bool) {
        let node = NodeMemory { process: 1, descriptor: 2, nonce: 3, slots, slot_len: 4 };
        let exposure = Exposure { ring, cells, slots: 1 << slots, node: is_lead.then_some(node) };
        is_sound(Exposure::FORMAT, &exposure, &exposure.emit(), Exposure::parse)?;
    }

    #[test]
    fn proposals(
        terms in terms(),
        whereabouts in whereabouts(),
        introduction in prop::option::of(introduction()),
    ) {
        let proposal = Proposal { terms, whereabouts, introduction };
        let bytes = proposal.emit();
        survives(&proposal, &bytes, Proposal::parse)?;
        names_its_version(Proposal::FORMAT, &bytes, Proposal::parse)?;
        // Without the introduction it is one, too.
        let alone = Proposal { introduction: None, ..proposal };
        let len = alone.emit().len();
        for cut in 0..bytes.len() {
            let read = Proposal::parse(&bytes[..cut]);
            prop_assert!(if cut == len { read == Ok(alone.clone()) } else { read.is_err() }, "cut to {}", cut);
        }
        prop_assert!(Proposal::parse(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn greetings(nonce: [u8; 32], rank: u32, size: u32) {
        let hello = Hello { nonce };
        is_sound(Hello::FORMAT, &hello, &hello.emit(), Hello::parse)?;
        let challenge = Challenge { nonce };
        is_sound(Challenge::FORMAT, &challenge, &challenge.emit(), Challenge::parse)?;
        let response = Response { proof: nonce };
        is_sound(Response::FORMAT, &response, &response.emit(), Response::parse)?;
        let join = Join { rank, size };
        is_sound(Join::FORMAT, &join, &join.emit(), Join::parse)?;
    }

    #[test]
    fn frames(
        kind in prop::sample::select(FRAMES.to_vec()),
        payload_len in 0..1_000_000_usize,
        limit in 0..1_000_000_usize,
    ) {
        let header = FrameHeader { kind, payload_len };
        let bytes = header.emit();
        prop_assert_eq!(bytes.len(), FRAME_HEADER_LEN);
        prop_assert_eq!(FrameHeader::parse(&bytes, payload_len), Ok(Some(header)));
        prop_assert_eq!(FrameHeader::parse(&bytes, limit).is_ok(), payload_len <= limit);
        // What has not come yet may still come.
        for len in 0..bytes.len() {
            prop_assert_eq!(FrameHeader::parse(&bytes[..len], payload_len), Ok(None));
        }
        names_its_version(FrameHeader::FORMAT, &bytes, |bytes| FrameHeader::parse(bytes, usize::MAX))?;
    }

    #[test]
    fn gathered_blobs(blobs in vec(vec(any::<u8>(), 0..20), 0..10)) {
        let (bytes, size) = (Gathered::emit(&blobs), blobs.len());
        let parse = |bytes: &[u8]| Gathered::parse(bytes, size);
        prop_assert!(bytes.len() == Gathered::overhead(size) + blobs.concat().len());
        prop_assert!(Gathered::parse(&bytes, size + 1).is_err());
        is_sound(Gathered::FORMAT, &Gathered(blobs), &bytes, parse)?;
    }

    #[test]
    fn refusals(rank in prop::option::of(0..u32::MAX), what in ".{0,60}") {
        let refusal = Refusal { rank: rank.map(Rank), what };
        let bytes = refusal.emit();
        survives(&refusal, &bytes, Refusal::parse)?;
        names_its_version(Refusal::FORMAT, &bytes, Refusal::parse)?;
        prop_assert!((0..8).all(|len| Refusal::parse(&bytes[..len]).is_err()));
    }

    #[test]
    fn ballots(blob in vec(any::<u8>(), 0..50), why in ".{0,50}") {
        for (outcome, ballot) in [
            (Ok(&blob[..]), Ballot::Blob(blob.clone())),
            (Err(&why[..]), Ballot::Refusal(why.clone())),
        ] {
            let bytes = Ballot::emit(outcome);
            survives(&ballot, &bytes, Ballot::parse)?;
            names_its_version(Ballot::FORMAT, &bytes, Ballot::parse)?;
            prop_assert!((0..5).all(|len| Ballot::parse(&bytes[..len]).is_err()));
        }
    }

    #[test]
    fn noise_at_the_rendezvous_is_read_or_refused(
        hello in noise(Hello::FORMAT),
        challenge in noise(Challenge::FORMAT),
        response in noise(Response::FORMAT),
        join in noise(Join::FORMAT),
        frame in noise(FrameHeader::FORMAT),
        gathered in noise(Gathered::FORMAT),
        refusal in noise(Refusal::FORMAT),
        ballot in noise(Ballot::FORMAT),
        preload in noise(PreloadBallot::FORMAT),
        terms in noise(Terms::FORMAT),
        size in 0..8_usize,
    ) {
        prop_assert!(Hello::parse(&hello).ok().is_none_or(|read| read.emit() == hello));
        let read = Challenge::parse(&challenge);
        prop_assert!(read.ok().is_none_or(|read| read.emit() == challenge));
        prop_assert!(Response::parse(&response).ok().is_none_or(|read| read.emit() == response));
        prop_assert!(Join::parse(&join).ok().is_none_or(|read| read.emit() == join));
        let read = FrameHeader::parse(&frame, usize::MAX);
        prop_assert!(read.ok().is_none_or(|read| read.is_none_or(|read| frame.starts_with(&read.emit()))));
        let read = Gathered::parse(&gathered, size);
        prop_assert!(read.ok().is_none_or(|Gathered(blobs)| Gathered::emit(&blobs) == gathered));
        prop_assert!(Refusal::parse(&refusal).ok().is_none_or(|read| read.what.len() <= 3 * refusal.len()));
        let read = Ballot::parse(&ballot);
        let is_sound = read.ok().is_none_or(|read| match read {
            Ballot::Blob(blob) => Ballot::emit(Ok(&blob)) == ballot,
            Ballot::Refusal(why) => why.len() <= 3 * ballot.len(),
        });
        prop_assert!(is_sound);
        prop_assert!(PreloadBallot::parse(&preload).ok().is_none_or(|read| read.emit() == preload));
        prop_assert!(Terms::parse(&terms).ok().is_none_or(|read| read.emit() == terms));
    }

    #[test]
    fn noise_is_read_or_refused(
        first in noise(Introduction::FORMAT),
        second in noise(handshake::Message::FORMAT),
        third in noise(Inquiry::FORMAT),
        fourth in noise(ProofBallot::FORMAT),
        fifth in noise(Whereabouts::FORMAT),
        sixth in noise(Relocation::FORMAT),
        seventh in noise(Proposal::FORMAT),
        eighth in noise(Exposure::FORMAT),
        ninth in noise(Offer::FORMAT),
        tenth in noise(Written::FORMAT),
    ) {
        prop_assert!(Offer::parse(&ninth).ok().is_none_or(|read| read.emit() == ninth));
        prop_assert!(Written::parse(&tenth).ok().is_none_or(|read| read.emit() == tenth));
        // What is read of it can be written, and is the same then.
        if let Ok(one) = Introduction::parse(&first) {
            prop_assert_eq!(one.emit(), first);
        }
        if let Ok(message) = ProcessMessage::parse(&second) {
            prop_assert!(matches!(message, ProcessMessage::Handshake(message) if message.emit() == second));
        }
        if let Ok(message) = ProcessMessage::parse(&third) {
            prop_assert!(matches!(message, ProcessMessage::Inquiry(inquiry) if inquiry.emit() == third));
        }
        if let Ok(message) = ProcessMessage::parse(&sixth) {
            prop_assert!(matches!(message, ProcessMessage::Relocation(news) if news.emit() == sixth));
        }
        if let Ok(ballot) = ProofBallot::parse(&fourth) {
            prop_assert_eq!(ballot.emit(), fourth);
        }
        if let Ok(whereabouts) = Whereabouts::parse(&fifth) {
            prop_assert_eq!(whereabouts.emit(), fifth);
        }
        if let Ok(exposure) = Exposure::parse(&eighth) {
            prop_assert_eq!(exposure.emit(), eighth);
        }
        if let Ok(proposal) = Proposal::parse(&seventh) {
            prop_assert_eq!(proposal.emit(), seventh);
        }
    }
}
