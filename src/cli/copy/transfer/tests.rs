//! Transfers over a channel that remembers what went through.

use super::super::digest::Hash;
use super::super::manifest::{Entry, Extent, Kind, Manifest};
use super::super::progress::Progress;
use super::super::scan::{Found, Wanted};
use super::super::scratch::Scratch;
use super::super::source::Source;
use super::super::staging::{Output, Pipe, Tree, Writer};
use super::*;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::sync::Arc;

/// Has the frames that the root would send, and remembers what went through.
#[derive(Default)]
struct Recorder {
    frames: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    /// The length of each broadcast that was begun.
    begun: Vec<usize>,
    is_receiver: bool,
    /// Broadcasts that succeed before one fails.
    lasts: Option<usize>,
    aborted: Option<String>,
}

impl Channel for Recorder {
    type Buffer = Vec<u8>;
    type Pending = Vec<u8>;

    fn start(&mut self, buffer: Vec<u8>) -> Result<Vec<u8>, String> {
        self.begun.push(buffer.len());
        if !self.is_receiver {
            self.sent.push(buffer.clone());
        }
        Ok(buffer)
    }

    fn wait(&mut self, pending: Vec<u8>) -> Result<Vec<u8>, String> {
        if self.lasts == Some(0) {
            return Err("heard nothing from rank 3".to_owned());
        }
        self.lasts = self.lasts.map(|left| left - 1);
        if !self.is_receiver {
            return Ok(pending);
        }
        let frame = self.frames.pop_front().expect("as many frames as are sent");
        assert_eq!(frame.len(), pending.len());
        Ok(frame)
    }

    fn serve(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn abort(&mut self, reason: &str) {
        self.aborted = Some(reason.to_owned());
    }
}

fn chunks(len: u64, total: Option<u64>, held: &[bool]) -> Chunks {
    Chunks { len, total, held: Arc::new(held.to_vec()) }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7) as u8).collect()
}

fn transfer(channel: &mut Recorder, end: End, chunks: &Chunks) -> Result<Outcome, Trouble> {
    let (whole, rest) = chunks.buffer_lengths();
    let whole = whole.into_iter().map(|len| vec![0; len]).collect();
    let buffers = (whole, rest.map(|len| vec![0; len]));
    run(channel, end, (chunks, Hash::Sha256), buffers, &Progress::new(None, false))
}

/// A source of several files, together `len` bytes of [`noise`].
fn source(scratch: &Scratch, len: usize) -> (Source, Arc<Manifest>) {
    fs::create_dir(scratch.path("src")).unwrap();
    for (number, part) in noise(len).chunks(7).enumerate() {
        fs::write(scratch.path(&format!("src/{number:03}")), part).unwrap();
    }
    let sources = [scratch.path("src")];
    let wanted =
        Wanted { sources: &sources, into_folder: false, recursive: true, finds_holes: true };
    let Found { manifest, origins } = wanted.find().unwrap();
    let manifest = Arc::new(manifest);
    (Source::new(&manifest, &Arc::new(origins)).unwrap(), manifest)
}

fn file(extents: Vec<Extent>, size: u64) -> Arc<Manifest> {
    let kind = Kind::File { size, extents };
    let root = Entry { parent: 0, name: Vec::new(), mode: 0o600, modified: None, kind };
    Arc::new(Manifest { entries: vec![root] })
}

fn destination(scratch: &Scratch, manifest: &Arc<Manifest>) -> End {
    let path = scratch.path("dst");
    let root = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let tree = Tree::new(manifest, root.unwrap(), (&path, &path), false);
    End::Destination(Output::Files(Writer::new(&Arc::new(tree))))
}

#[test]
fn many_files_share_chunks() {
    for len in [0, 1, 10, 11, 20, 135] {
        let scratch = Scratch::new(&format!("source-{len}"));
        let (source, manifest) = source(&scratch, len);
        assert_eq!(manifest.data(), Some(len as u64));
        let mut channel = Recorder::default();
        let chunks = chunks(10, Some(len as u64), &[]);
        let outcome = transfer(&mut channel, End::Source(source), &chunks).unwrap();
        assert_eq!(channel.sent, noise(len).chunks(10).collect::<Vec<_>>());
        let digest = Hash::Sha256.of(&noise(len));
        assert_eq!(outcome, Outcome { bytes: len as u64, digest }, "{len} bytes");
    }
}

#[test]
fn what_all_ranks_hold_is_not_sent_but_counts() {
    let held = [true, false, true, true, false, true];
    let scratch = Scratch::new("held");
    let chunks = chunks(10, Some(55), &held);
    let bytes = noise(55);
    let (source, _) = source(&scratch, 55);
    let mut sender = Recorder::default();
    let sent = transfer(&mut sender, End::Source(source), &chunks).unwrap();
    assert_eq!(sender.sent, [&bytes[10..20], &bytes[40..50]]);
    // What is not held is wrong there.
    let mut left = bytes.clone();
    left[10..20].fill(0);
    left[40..50].fill(0);
    fs::write(scratch.path("dst"), left).unwrap();
    let manifest = file(vec![Extent { offset: 0, len: 55 }], 55);
    let mut receiver =
        Recorder { frames: sender.sent.into(), is_receiver: true, ..Recorder::default() };
    let received = transfer(&mut receiver, destination(&scratch, &manifest), &chunks).unwrap();
    assert_eq!(received, sent);
    assert_eq!(fs::read(scratch.path("dst")).unwrap(), bytes);
}

#[test]
fn a_destination_gets_all_chunks_and_keeps_holes() {
    for len in [0, 1, 10, 11, 20, 135] {
        let scratch = Scratch::new(&format!("destination-{len}"));
        let frames = noise(len).chunks(10).map(<[u8]>::to_vec).collect();
        let mut channel = Recorder { frames, is_receiver: true, ..Recorder::default() };
        let hole = 1 << 33;
        let extents = (len > 0).then_some(Extent { offset: hole, len: len as u64 });
        let manifest = file(extents.into_iter().collect(), hole + 1000);
        let chunks = chunks(10, Some(len as u64), &[]);
        let end = destination(&scratch, &manifest);
        let outcome = transfer(&mut channel, end, &chunks).unwrap();
        assert_eq!(outcome.digest, Hash::Sha256.of(&noise(len)), "{len} bytes");
        let written = File::open(scratch.path("dst")).unwrap();
        let mut bytes = vec![0; len];
        if len > 0 {
            std::os::unix::fs::FileExt::read_exact_at(&written, &mut bytes, hole).unwrap();
            assert_eq!(written.metadata().unwrap().len(), hole + 1000);
        }
        assert_eq!(bytes, noise(len));
    }
}

#[test]
fn a_stream_ends_where_its_last_frame_says() {
    for len in [0, 9, 10, 25] {
        let scratch = Scratch::new(&format!("stream-{len}"));
        let mut frames: Vec<Vec<u8>> = noise(len).chunks(10).map(<[u8]>::to_vec).collect();
        if len % 10 == 0 {
            frames.push(Vec::new());
        }
        for frame in &mut frames {
            let count = frame.len() as u64;
            frame.resize(10, 0xaa);
            frame.extend(count.to_le_bytes());
        }
        let mut channel =
            Recorder { frames: frames.into(), is_receiver: true, ..Recorder::default() };
        let root =
            Entry { parent: 0, name: Vec::new(), mode: 0o600, modified: None, kind: Kind::Stream };
        let manifest = Arc::new(Manifest { entries: vec![root] });
        let end = destination(&scratch, &manifest);
        let outcome = transfer(&mut channel, end, &chunks(10, None, &[])).unwrap();
        assert_eq!(outcome.bytes, len as u64);
        assert!(channel.frames.is_empty());
        assert_eq!(fs::read(scratch.path("dst")).unwrap(), noise(len));
    }
    let mut channel =
        Recorder { frames: [[0xff; 18].to_vec()].into(), is_receiver: true, ..Recorder::default() };
    let scratch = Scratch::new("stream-wrong");
    let manifest = file(Vec::new(), 0);
    let failed = transfer(&mut channel, destination(&scratch, &manifest), &chunks(10, None, &[]));
    let told = matches!(&failed, Err(Trouble::Channel(what)) if what.contains("impossible length"));
    assert!(told, "{failed:?}");
}

#[test]
fn a_failing_broadcast_ends_both_sides() {
    for lasts in [0, 1, 3] {
        let scratch = Scratch::new(&format!("failing-{lasts}"));
        let chunks = chunks(10, Some(55), &[]);
        let (source, _) = source(&scratch, 55);
        let manifest = file(vec![Extent { offset: 0, len: 55 }], 55);
        for (end, is_receiver) in
            [(End::Source(source), false), (destination(&scratch, &manifest), true)]
        {
            let frames = noise(55).chunks(10).map(<[u8]>::to_vec).collect();
            let lasts = Some(lasts);
            let mut channel = Recorder { frames, is_receiver, lasts, ..Recorder::default() };
            let failed = transfer(&mut channel, end, &chunks);
            let told = matches!(&failed, Err(Trouble::Channel(what)) if what.contains("rank 3"));
            assert!(told, "{failed:?}");
            assert_eq!(channel.aborted, None);
        }
    }
}

#[test]
fn what_goes_wrong_at_a_file_is_told_to_the_others() {
    let scratch = Scratch::new("shrinking");
    let (source, _) = source(&scratch, 35);
    fs::write(scratch.path("src/003"), "1").unwrap();
    let mut channel = Recorder::default();
    let failed = transfer(&mut channel, End::Source(source), &chunks(10, Some(35), &[]));
    let told = matches!(&failed, Err(Trouble::Here(what)) if what.contains("003 shrank"));
    assert!(told, "{failed:?}");
    assert!(channel.aborted.unwrap().contains("shrank"));
    // A file that cannot be written, as its folder is not there.
    let frames = noise(35).chunks(10).map(<[u8]>::to_vec).collect();
    let mut channel = Recorder { frames, is_receiver: true, ..Recorder::default() };
    let root =
        Entry { parent: 0, name: Vec::new(), mode: 0o700, modified: None, kind: Kind::Folder };
    let whole = Kind::File { size: 35, extents: vec![Extent { offset: 0, len: 35 }] };
    let inner = Entry { name: b"f".to_vec(), kind: whole, ..root.clone() };
    let manifest = Arc::new(Manifest { entries: vec![root, inner] });
    let end = destination(&scratch, &manifest);
    let failed = transfer(&mut channel, end, &chunks(10, Some(35), &[]));
    let told =
        matches!(&failed, Err(Trouble::Here(what)) if what.contains("dst/f: Not a directory"));
    assert!(told, "{failed:?}");
    assert!(channel.aborted.unwrap().contains("dst/f"));
}

/// Refuses what is written, as a full disk does.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The buffer of the last chunk, which is shorter, is not that of a whole one.
#[test]
fn a_full_disk_is_no_broadcast_of_another_length() {
    let frames = noise(105).chunks(10).map(<[u8]>::to_vec).collect();
    let mut channel = Recorder { frames, is_receiver: true, ..Recorder::default() };
    let manifest = file(vec![Extent { offset: 0, len: 105 }], 105);
    let end = End::Destination(Output::Pipe(Pipe::to(Box::new(Full), &manifest)));
    let failed = transfer(&mut channel, end, &chunks(10, Some(105), &[]));
    let told =
        matches!(&failed, Err(Trouble::Here(what)) if what.starts_with("cannot write to standard"));
    assert!(told, "{failed:?}");
    assert!(channel.begun.iter().all(|len| *len == 10), "{:?}", channel.begun);
    assert!(channel.aborted.unwrap().contains("cannot write to standard"));
}
