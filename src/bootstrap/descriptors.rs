//! Files that a process may have open: rank 0 of a star has a connection with every other rank.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;

/// Files that a program opens while it has its connections, such as devices.
const RESERVE: u64 = 64;

/// Lets this process have `connections` open besides what it has, and as far as its hard limit goes `more` besides these,
/// by raising its soft limit.
///
/// # Errors
/// If the hard limit does not allow the connections: a phrase to put behind the name of a rank.
pub(super) fn make_room(connections: u64, more: u64) -> Result<(), String> {
    let limits = getrlimit(Resource::Nofile);
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64;
    let Some(soft) = needed_limit(&limits, open + connections, more + RESERVE)? else {
        return Ok(());
    };
    let raised = Rlimit { current: Some(soft), maximum: limits.maximum };
    setrlimit(Resource::Nofile, raised)
        .map_err(|error| format!("cannot raise its limit of open files to {soft}: {error}"))
}

/// The soft limit to set, unless that which is set will do.
fn needed_limit(limits: &Rlimit, least: u64, more: u64) -> Result<Option<u64>, String> {
    let hard = limits.maximum.unwrap_or(u64::MAX);
    if least > hard {
        return Err(format!(
            "needs {least} open files to be connected with all ranks, and may have {hard} (`ulimit -Hn`)"
        ));
    }
    let wanted = least.saturating_add(more).min(hard);
    Ok(limits.current.filter(|&soft| soft < wanted).map(|_| wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_by_what_is_needed() {
        let limits = |current, maximum| Rlimit { current, maximum };
        let needed = |current, maximum| needed_limit(&limits(current, maximum), 1000, 200);
        assert_eq!(needed(Some(1024), Some(4096)), Ok(Some(1200)));
        assert_eq!(needed(Some(1024), None), Ok(Some(1200)));
        assert_eq!(needed(Some(1024), Some(1100)), Ok(Some(1100)));
        assert_eq!(needed(Some(1024), Some(1024)), Ok(None));
        assert_eq!(needed(Some(1200), Some(4096)), Ok(None));
        assert_eq!(needed(None, None), Ok(None));
        let error = needed(Some(512), Some(999)).unwrap_err();
        assert!(error.contains("needs 1000 open files") && error.contains("have 999"), "{error}");
    }
}
