//! The file with the network's switches, and Slurm's lists of hosts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verbcast_core::topology::{HostList, MAX_SWITCHES, SwitchTree};

fuzz_target!(|text: &str| {
    if let Ok(list) = HostList::parse(text) {
        assert_eq!(list.names().count(), list.len());
    }
    match text.parse::<SwitchTree>() {
        Ok(tree) => {
            let path = tree.above("n1.example");
            assert!(path.is_none_or(|path| (1..=MAX_SWITCHES).contains(&path.names().len())));
        }
        Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}"),
    }
});
