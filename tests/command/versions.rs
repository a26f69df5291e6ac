//! The oldest rdma-core that the command runs with.

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
