//! A transfer over a channel that remembers what went through.

use super::*;
use crate::copy::destination::Destination;
use crate::launch::cleanup::Cleanup;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;

/// Has the message that the root would send, and remembers what went through.
#[derive(Default)]
struct Recorder {
    message: Vec<u8>,
    chunks: Vec<Vec<u8>>,
    /// Broadcasts that succeed before one fails.
    lasts: Option<usize>,
    aborted: Option<String>,
}

impl Channel for Recorder {
    fn broadcast(&mut self, bytes: &mut [u8]) -> Result<(), String> {
        if self.lasts == Some(self.chunks.len()) {
            return Err("heard nothing from rank 3".to_owned());
        }
        if !self.message.is_empty() {
            bytes.copy_from_slice(&self.message[self.chunks.concat().len()..][..bytes.len()]);
        }
        self.chunks.push(bytes.to_vec());
        Ok(())
    }

    fn abort(&mut self, reason: &str) {
        self.aborted = Some(reason.to_owned());
    }
}

/// A file of so many bytes, removed when it is dropped.
struct Fixture {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Fixture {
    fn new(name: &str, len: usize) -> Fixture {
        let name = format!("verbcast-transfer-{}-{name}-{len}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        Fixture { path, bytes }
    }

    fn source(&self) -> End {
        End::Source(Source::open(&self.path).unwrap())
    }

    fn destination(&self) -> End {
        let destination: Destination = self.path.to_str().unwrap().parse().unwrap();
        let partial =
            Partial::create(&destination, Rank(1), ("0", 0o600), &Cleanup::default()).unwrap();
        End::Destination(partial)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn transfer(channel: &mut Recorder, end: &mut End, length: usize) -> Result<[u8; 32], Trouble> {
    let plan = Plan { job: "0".to_owned(), length: length as u64, mode: 0o600, chunk: 10 };
    let mut buffers: Vec<_> = buffer_lengths(&plan).map(|len| vec![0; len]).collect();
    run(channel, end, &plan, &mut buffers, &Progress::new(0, false))
}

#[test]
fn a_source_is_broadcast_in_chunks() {
    for len in [0, 1, 10, 11, 20, 35] {
        let file = Fixture::new("source", len);
        let mut channel = Recorder::default();
        let hash = transfer(&mut channel, &mut file.source(), len).unwrap();
        assert_eq!(channel.chunks, file.bytes.chunks(10).collect::<Vec<_>>());
        assert_eq!(hash, <[u8; 32]>::from(Sha256::digest(&file.bytes)), "{len} bytes");
    }
}

#[test]
fn a_destination_gets_all_chunks() {
    for len in [0, 1, 10, 11, 20, 35] {
        let file = Fixture::new("destination", len);
        let mut channel = Recorder { message: file.bytes.clone(), ..Recorder::default() };
        fs::write(&file.path, "before").unwrap();
        let mut end = file.destination();
        let hash = transfer(&mut channel, &mut end, len).unwrap();
        let End::Destination(partial) = end else { unreachable!() };
        partial.publish().unwrap();
        assert_eq!(fs::read(&file.path).unwrap(), file.bytes);
        assert_eq!(hash, <[u8; 32]>::from(Sha256::digest(&file.bytes)), "{len} bytes");
    }
}

#[test]
fn a_failing_broadcast_ends_both_sides() {
    for lasts in [0, 1, 3] {
        let file = Fixture::new("failing", 35 + lasts);
        for mut end in [file.source(), file.destination()] {
            let mut channel = Recorder { lasts: Some(lasts), ..Recorder::default() };
            let failed = transfer(&mut channel, &mut end, 35);
            assert!(
                matches!(&failed, Err(Trouble::Channel(what)) if what.contains("rank 3")),
                "{failed:?}"
            );
            assert_eq!(channel.aborted, None);
        }
    }
}

#[test]
fn a_source_that_shrinks_is_told_to_the_others() {
    let file = Fixture::new("shrinking", 35);
    let mut end = file.source();
    OpenOptions::new().write(true).open(&file.path).unwrap().set_len(25).unwrap();
    let mut channel = Recorder::default();
    let failed = transfer(&mut channel, &mut end, 35);
    assert!(
        matches!(&failed, Err(Trouble::Here(what)) if what.contains("expected 35 bytes, got 25")),
        "{failed:?}"
    );
    assert!(channel.aborted.unwrap().contains("shrank"));
    assert_eq!(channel.chunks, [&file.bytes[..10], &file.bytes[10..20]]);
}
