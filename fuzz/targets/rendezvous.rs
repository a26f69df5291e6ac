//! A stream of frames, as anybody who finds rank 0's port can send it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::wire::{
    Challenge, FRAME_HEADER_LEN, FrameHeader, FrameKind, Gathered, Hello, Join, Refusal, Response,
};

const LIMIT: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    while let Ok(Some(header)) = FrameHeader::parse(rest, LIMIT) {
        assert!(rest.starts_with(&header.emit()));
        let Some(payload) = rest[FRAME_HEADER_LEN..].get(..header.payload_len) else { break };
        read(header.kind, payload);
        rest = &rest[FRAME_HEADER_LEN + header.payload_len..];
    }
});

fn read(kind: FrameKind, payload: &[u8]) {
    match kind {
        FrameKind::Hello => {
            if let Ok(hello) = Hello::parse(payload) {
                assert_eq!(hello.emit(), payload);
            }
        }
        FrameKind::Challenge => {
            if let Ok(challenge) = Challenge::parse(payload) {
                assert_eq!(challenge.emit(), payload);
            }
        }
        FrameKind::Response => {
            if let Ok(response) = Response::parse(payload) {
                assert_eq!(response.emit(), payload);
            }
        }
        FrameKind::Join => {
            if let Ok(join) = Join::parse(payload) {
                assert_eq!(join.emit(), payload);
            }
        }
        FrameKind::Gathered => {
            for size in 0..4 {
                if let Ok(Gathered(blobs)) = Gathered::parse(payload, size) {
                    assert_eq!(blobs.len(), size);
                    assert_eq!(Gathered::emit(&blobs), payload);
                }
            }
        }
        FrameKind::Failed | FrameKind::Refused => {
            if let Ok(refusal) = Refusal::parse(payload) {
                assert!(Refusal::parse(&refusal.emit()).is_ok());
            }
        }
        FrameKind::Entered | FrameKind::Blob => {}
    }
}
