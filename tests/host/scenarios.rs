//! Plays the transcripts in `tests/scenarios`: one for each rule of the papers.
//!
//! Where a change is meant to change what a rank does, `VERBCAST_WRITE_SCENARIOS=1` writes the
//! transcripts anew, to be read before they are kept.

use crate::scenario;
use std::fs;
use std::path::{Path, PathBuf};

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut found: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    found.sort();
    found
}

#[test]
fn every_transcript_reads_as_the_cores_behave() {
    let write = std::env::var_os("VERBCAST_WRITE_SCENARIOS").is_some();
    let all = transcripts();
    assert!(all.len() > 60, "only {} transcripts were found", all.len());
    let mut different = Vec::new();
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        let played = scenario::play(&text);
        if write {
            fs::write(&path, &played).unwrap();
        } else if played != text {
            let lines = text.lines().zip(played.lines()).find(|(old, new)| old != new);
            different.push(format!("{}: {lines:?}", path.display()));
        }
    }
    assert!(different.is_empty(), "expected, but played:\n{}", different.join("\n"));
}

#[test]
fn a_transcript_that_is_wrong_is_noticed() {
    let text =
        "core window rank=0 ranks=2 fragment=10\n0us start root=0 len=5\n    -> complete 1\n";
    assert_ne!(scenario::play(text), text);
}
