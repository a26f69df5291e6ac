//! By which signals this process is asked to end.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs;

/// Those that it does not ignore already: `nohup` has it ignore that the terminal is closed, a shell that what is typed
/// there is for a program in the background.
pub fn endings() -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    [SIGINT, SIGTERM, SIGHUP]
        .into_iter()
        .filter(|signal| ignored >> (signal - 1) & 1 == 0)
        .collect()
}

/// A bit for each ignored signal; none if the system does not tell.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_what_is_ignored() {
        assert_eq!(ignored("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
