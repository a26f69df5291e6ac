//! What `ibnetdiscover` prints, and netlists of ibsim.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_fabric::{Quality, netlist, read};

fuzz_target!(|text: &str| {
    if let Ok(topology) = read::ibnetdiscover(text, Quality::default()) {
        assert!(!topology.nodes().is_empty());
        assert!(!netlist(&topology).is_empty());
    }
});
