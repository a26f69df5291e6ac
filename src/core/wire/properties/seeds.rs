//! What the fuzz targets begin with (`fuzz/seeds`): an example of each format, of today's version.
//!
//! Where a format changes, `WRITE_FUZZ_SEEDS=1` writes them anew.

use super::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The key of the codes in the target of packets.
const MAC: MacKey = MacKey::new([0x5a; 32]);

/// Whether today's parser reads this.
type IsRead = Box<dyn Fn(&[u8]) -> bool>;

struct Seed {
    /// The folder of its target, and its name.
    path: &'static str,
    bytes: Vec<u8>,
    is_read: IsRead,
}

/// The same value at each call.
fn drawn<T: Debug>(strategy: impl Strategy<Value = T>) -> T {
    strategy.new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

fn seed<T>(
    path: &'static str,
    bytes: impl Into<Vec<u8>>,
    parse: impl Fn(&[u8]) -> Result<T, WireError> + 'static,
) -> Seed {
    Seed { path, bytes: bytes.into(), is_read: Box::new(move |bytes| parse(bytes).is_ok()) }
}

/// With CRCs, or with a code.
fn packet(path: &'static str, kind: Kind, payload_crc: bool, mac: Option<&'static MacKey>) -> Seed {
    let header = Header { kind, asks: false, ..drawn(header()) };
    let payload = b"payload";
    let is_read = move |bytes: &[u8]| {
        let Some(raw) = RawHeader::parse(bytes) else { return false };
        match mac {
            None => raw.check(bytes, Checks::Whole).is_ok(),
            Some(key) => raw.authenticate(bytes, key).is_ok(),
        }
    };
    let bytes = [&header.emit_as(payload, payload_crc, mac), &payload[..]].concat();
    Seed { path, bytes, is_read: Box::new(is_read) }
}

fn frames(path: &'static str, frames: &[(FrameKind, Vec<u8>)]) -> Seed {
    let frame = |(kind, payload): &(FrameKind, Vec<u8>)| {
        let header = FrameHeader { kind: *kind, payload_len: payload.len() };
        [&header.emit()[..], payload].concat()
    };
    let kinds: Vec<_> = frames.iter().map(|(kind, _)| *kind).collect();
    let is_read = move |bytes: &[u8]| {
        let mut rest = bytes;
        let mut found = Vec::new();
        while let Ok(Some(header)) = FrameHeader::parse(rest, bytes.len()) {
            found.push(header.kind);
            rest = &rest[FRAME_HEADER_LEN + header.payload_len..];
        }
        found == kinds && rest.is_empty()
    };
    Seed { path, bytes: frames.iter().flat_map(frame).collect(), is_read: Box::new(is_read) }
}

fn packets() -> Vec<Seed> {
    let notice =
        Notice { rank: Rank(3), kind: FailureKind::GaveUp, reason: "the adapter is gone".into() };
    vec![
        packet("packet/fragment", Kind::Fragment, true, None),
        packet("packet/fragment-uncovered", Kind::Fragment, false, None),
        packet("packet/fragment-authentic", Kind::Fragment, false, Some(&MAC)),
        packet("packet/abort", Kind::Abort, true, None),
        packet("packet/bye", Kind::Bye, true, None),
        seed("packet/notice", notice.emit(), Notice::parse),
        seed("packet/offer", Offer { memory: Some(drawn(region())) }.emit(), Offer::parse),
        seed("packet/written", Written::new(b"payload", true).emit(), Written::parse),
    ]
}

fn introductions() -> Vec<Seed> {
    let introduction = drawn(introduction());
    let proof = ProofBallot {
        has_heard_strangers: true,
        has_heard_short_alone: false,
        missing: vec![false, true, false, false, true, false, false, false],
    };
    let memory =
        NodeMemory { process: 77, descriptor: 5, nonce: 0x1122, slots: 64, slot_len: 4096 };
    let (ring, cells) = (introduction.ring, introduction.cells);
    let exposure = Exposure { ring, cells, slots: 64, node: Some(memory) };
    let (terms, whereabouts) = (drawn(terms()), drawn(whereabouts()));
    let proposal = Proposal {
        terms,
        whereabouts: whereabouts.clone(),
        introduction: Some(introduction.clone()),
    };
    let preload = PreloadBallot {
        number: 9,
        wants_statistics: true,
        one_node: OneNode::Pass,
        has_adapter: true,
        has_hook: false,
        proposal: proposal.emit(),
    };
    vec![
        seed("introduction/introduction", introduction.emit(), Introduction::parse),
        seed("introduction/exposure", exposure.emit(), Exposure::parse),
        seed("introduction/proof", proof.emit(), ProofBallot::parse),
        seed("introduction/terms", terms.emit(), Terms::parse),
        seed("introduction/whereabouts", whereabouts.emit(), Whereabouts::parse),
        seed("introduction/proposal", proposal.emit(), Proposal::parse),
        seed("introduction/preload", preload.emit(), PreloadBallot::parse),
        seed("introduction/ballot", Ballot::emit(Ok(b"blob")), Ballot::parse),
        seed("introduction/refusal", Ballot::emit(Err("no device")), Ballot::parse),
    ]
}

fn process_messages() -> Vec<Seed> {
    let handshake = |step| handshake::Message { step, ..drawn(handshake_message()) }.emit();
    let inquiry = |is_answer| Inquiry { is_answer, ..drawn(inquiry()) }.emit();
    let moved =
        |is_answer| Relocation { from: 5, datagrams: drawn(datagram_qp()), is_answer }.emit();
    let parse = ProcessMessage::parse;
    vec![
        seed("process_message/open", handshake(Step::Open), parse),
        seed("process_message/accept", handshake(Step::Accept), parse),
        seed("process_message/confirm", handshake(Step::Confirm), parse),
        seed("process_message/question", inquiry(false), parse),
        seed("process_message/answer", inquiry(true), parse),
        seed("process_message/moved", moved(false), parse),
        seed("process_message/moved_heard", moved(true), parse),
    ]
}

fn rendezvous() -> Vec<Seed> {
    let nonce = [7; 32];
    let gathered = Gathered::emit(&[b"one".to_vec(), b"other".to_vec()]);
    let refusal = Refusal { rank: None, what: "full".into() };
    let guest = [
        (FrameKind::Hello, Hello { nonce }.emit()),
        (FrameKind::Response, Response { proof: nonce }.emit()),
        (FrameKind::Join, Join { rank: 1, size: 2 }.emit()),
        (FrameKind::Blob, b"one".to_vec()),
    ];
    let rank_0 = [
        (FrameKind::Challenge, Challenge { nonce }.emit()),
        (FrameKind::Response, Response { proof: nonce }.emit()),
        (FrameKind::Entered, Vec::new()),
        (FrameKind::Gathered, gathered),
    ];
    vec![
        frames("rendezvous/guest", &guest),
        frames("rendezvous/rank-0", &rank_0),
        frames("rendezvous/refused", &[(FrameKind::Refused, refusal.emit())]),
    ]
}

#[test]
fn fuzz_targets_begin_with_formats_of_this_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let is_written = std::env::var_os("WRITE_FUZZ_SEEDS").is_some();
    for seeds in [packets(), introductions(), process_messages(), rendezvous()] {
        let mut known = BTreeSet::new();
        for Seed { path, bytes, is_read } in &seeds {
            assert!(is_read(bytes), "{path} as it would be written");
            let file = folder.join(path);
            if is_written {
                fs::write(&file, bytes).unwrap();
            }
            let is_current = fs::read(&file).is_ok_and(|bytes| is_read(&bytes));
            assert!(is_current, "fuzz/seeds/{path}: see the head of {}", file!());
            known.insert(file);
        }
        let targets = known.first().and_then(|file| file.parent()).unwrap();
        for entry in fs::read_dir(targets).unwrap() {
            let path = entry.unwrap().path();
            assert!(known.contains(&path), "{} is nobody's", path.display());
        }
    }
}
