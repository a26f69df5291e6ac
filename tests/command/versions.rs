//! The oldest rdma-core that the command runs with.

use crate::pages;
use std::fs;
use std::process::Command;

/// The newest version of a symbol in each library of rdma-core 28.
const OLDEST: [(&str, [u32; 2]); 3] = [("IBVERBS", [1, 8]), ("RDMACM", [1, 2]), ("IBUMAD", [1, 1])];

#[test]
fn no_symbol_is_newer_than_rdma_core_28() {
    let output = Command::new("readelf")
        .args(["--version-info", "--wide", env!("CARGO_BIN_EXE_verbcast")])
        .output()
        .expect("readelf, which comes with the linker");
    let said = String::from_utf8_lossy(&output.stdout);
    let mut count = 0;
    for name in said.lines().filter_map(|line| line.split_once("Name: ")).map(|(_, rest)| rest) {
        let name = name.split_whitespace().next().unwrap_or_default();
        let Some((library, version)) = name.rsplit_once('_') else { continue };
        let Some((_, oldest)) = OLDEST.iter().find(|(of, _)| *of == library) else { continue };
        let version: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
        assert!(version <= oldest.to_vec(), "{name} is not in rdma-core 28");
        count += 1;
    }
    assert!(count >= OLDEST.len(), "the command needs all three libraries: {said}");
}

#[test]
fn the_book_says_rdma_core_28() {
    for (page, said) in [
        ("docs/src/guide/getting-started.md", "libibumad of rdma-core 28 or later"),
        ("docs/src/adapters.md", "rdma-core from version 28 on"),
        ("sys/README.md", "rdma-core 28 or newer"),
    ] {
        let text = fs::read_to_string(pages::root().join(page)).unwrap();
        assert!(text.contains(said), "{page}: no {said:?}");
    }
}
