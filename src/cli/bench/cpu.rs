//! The CPU time that this process has used.

use crate::results::CpuTime;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// All of it so far.
pub fn cpu_time() -> Result<CpuTime, String> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)
        .map_err(|errno| format!("the CPU time cannot be read: getrusage: {errno}"))?;
    let nanos = |time: i64| u64::try_from(time).unwrap_or_default();
    Ok(CpuTime {
        user: nanos(usage.user_time().num_nanoseconds()),
        system: nanos(usage.system_time().num_nanoseconds()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_cpu_time() {
        let before = cpu_time().unwrap();
        while cpu_time().unwrap() == before {
            std::hint::spin_loop();
        }
    }
}
