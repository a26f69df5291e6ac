//! The table by which broadcasts choose their algorithm.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::protocol::choice::Table;

fuzz_target!(|text: &str| {
    if let Ok(table) = text.parse::<Table>() {
        assert_eq!(table.to_string().parse(), Ok(table.clone()));
        table.choose(text.len() as u64, 3);
    }
});
