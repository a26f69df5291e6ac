//! Results of a benchmark, which `verbcast report` reads from files.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The command is not a library, so its module is compiled here.
#[allow(dead_code, unused_imports)]
#[path = "../../src/cli/results/mod.rs"]
mod results;

fuzz_target!(|text: &str| {
    if let Ok(results) = results::Results::parse(text) {
        let written = serde_json::to_string(&results).unwrap();
        let again = results::Results::parse(&written).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), written);
        results.points.iter().for_each(|point| {
            std::hint::black_box((point.figure(), point.lost_share()));
        });
    }
});
