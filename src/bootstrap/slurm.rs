//! Where the ranks of a Slurm job meet when nobody says.

use super::Address;
use super::environment::{EnvironmentError, number};
use verbcast_core::topology::HostList;

/// Ports that are neither privileged nor handed out by default for outgoing connections.
const PORTS: std::ops::Range<u32> = 10000..32000;

type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The first host of the job step, and a port that other jobs on it are unlikely to have.
pub(super) fn rendezvous(lookup: Lookup<'_>) -> Result<Option<Address>, EnvironmentError> {
    let Some(job) = lookup("SLURM_JOB_ID") else { return Ok(None) };
    let job = number("SLURM_JOB_ID", &job)?;
    let Some((variable, list)) = ["SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"]
        .into_iter()
        .find_map(|name| Some((name, lookup(name)?)))
    else {
        return Ok(None);
    };
    let host = first_host(&list).ok_or(EnvironmentError::NoHost { variable, list })?;
    let step = lookup("SLURM_STEP_ID").and_then(|step| step.parse().ok()).unwrap_or(0_u32);
    // A prime, so that the steps of a job and the jobs beside it keep apart.
    let number = job.wrapping_mul(31).wrapping_add(step);
    let port = PORTS.start + number % (PORTS.end - PORTS.start);
    Ok(u16::try_from(port).ok().map(|port| Address::Tcp { host, port }))
}

/// The number of the job and its step.
pub(super) fn token(lookup: Lookup<'_>) -> Option<String> {
    let step = lookup("SLURM_STEP_ID").unwrap_or_default();
    Some(format!("slurm {}.{step}", lookup("SLURM_JOB_ID")?))
}

/// Whether a token is such a one, which anybody can guess.
pub(super) fn is_token(token: &str) -> bool {
    let numbers = token.strip_prefix("slurm ").and_then(|numbers| numbers.split_once('.'));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(job, step)| is_number(job) && is_number(step))
}

/// The first host of a list such as `rack[07-09,12]n[3,4],login1`.
fn first_host(list: &str) -> Option<String> {
    let host = HostList::parse(list).ok()?.names().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    host.chars().all(plain).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_list() {
        for (list, first) in [
            ("node1", "node1"),
            ("a,b", "a"),
            ("n[001-004]", "n001"),
            ("n[5,7],m2", "n5"),
            ("rack[07-09,12]n[3,4]-ib,login1", "rack07n3-ib"),
        ] {
            assert_eq!(first_host(list).as_deref(), Some(first));
        }
        for bad in ["", ",a", "n[1", "a b"] {
            assert_eq!(first_host(bad), None);
        }
    }
}
