//! What an endpoint takes of its device and of its process, compared with what these have before anything is made.

use super::report::Limits;
use crate::rdma::settings::Settings;
use std::fs;

/// Connections that an endpoint must have room for: to both neighbours of a ring.
const MIN_CONNECTIONS: u32 = 2;

/// Makes sure that the queues of a rank among `size` fit the device.
///
/// Depths are not reduced here: they are the same at every rank, each of which relies on those of the others.
///
/// # Errors
/// If one does not fit; it names the limit, and the setting.
pub fn check_queues(
    settings: &Settings,
    size: u32,
    limits: &Limits,
    device: &str,
) -> Result<(), String> {
    let depths = &settings.depths;
    let needs = [
        (depths.receive, limits.requests, "max_qp_wr", "VERBCAST_RECEIVE_DEPTH"),
        (
            settings.datagram_requests(),
            limits.requests,
            "max_qp_wr",
            "VERBCAST_SEND_DEPTH plus VERBCAST_RING_DEPTH",
        ),
        (
            settings.connection_requests(size),
            limits.requests,
            "max_qp_wr",
            "the sum of twice VERBCAST_RELIABLE_SEND_DEPTH, VERBCAST_RING_DEPTH and VERBCAST_FETCH_DEPTH",
        ),
        (
            depths.reliable_receive,
            limits.shared_receives,
            "max_srq_wr",
            "VERBCAST_RELIABLE_RECEIVE_DEPTH",
        ),
    ];
    match needs.into_iter().find(|(needed, most, ..)| needed > most) {
        None => Ok(()),
        Some((needed, most, limit, setting)) => Err(format!(
            "a queue of {needed} requests is needed, but {device} has at most {most} ({limit}): lower \
             {setting} at every rank"
        )),
    }
}

/// Connections of a rank among `size` whose completions a queue of the device holds, at most: they are made when
/// they are needed, and few ranks need one with every other.
///
/// # Errors
/// If there are too few; it names the limit, and the settings.
pub fn connections(
    settings: &Settings,
    size: u32,
    limits: &Limits,
    device: &str,
) -> Result<u32, String> {
    let ring_sends = settings.ring_sends(size);
    let fixed = settings.completions_of(0, ring_sends);
    let each = settings.completions_of(1, ring_sends) - fixed;
    let most = limits.completions.saturating_sub(fixed) / each;
    if most >= MIN_CONNECTIONS.min(size) {
        return Ok(most);
    }
    Err(format!(
        "{} completions can be outstanding, but a queue of {device} holds at most {} (max_cqe): lower \
         VERBCAST_RECEIVE_DEPTH or VERBCAST_RING_DEPTH at every rank",
        fixed + MIN_CONNECTIONS * each,
        limits.completions
    ))
}

/// The process's limit on locked memory, which registered memory counts against (RLIMIT_MEMLOCK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memlock {
    /// Bytes; none: unlimited.
    limit: Option<u64>,
    /// Bytes that are registered already, by MPI for instance.
    taken: u64,
}

impl Memlock {
    /// As the kernel tells it.
    pub fn of_process() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Memlock::read(limit, &status, &users)
    }

    fn read(limit: Option<u64>, status: &str, users: &str) -> Self {
        let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
        let taken = field("VmPin:").and_then(|text| text.split_whitespace().next()?.parse().ok());
        let capabilities =
            field("CapEff:").and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        // CAP_IPC_LOCK counts in the first user namespace alone, which maps every number to itself.
        let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
        let may_exceed = is_first && capabilities.unwrap_or(0) & (1 << 14) != 0;
        Memlock { limit: limit.filter(|_| !may_exceed), taken: taken.unwrap_or(0_u64) * 1024 }
    }

    /// Bytes that can still be registered; none: any number.
    fn room(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.taken))
    }

    /// Bytes of `wanted` that can stay registered beside the `needed` ones.
    ///
    /// # Errors
    /// If there is no room for those; it says what to do.
    pub fn spare(&self, needed: usize, wanted: usize) -> Result<usize, String> {
        let Some(room) = self.room() else { return Ok(wanted) };
        let (limit, taken) = (self.limit.unwrap_or_default(), self.taken);
        match room.checked_sub(needed as u64) {
            Some(left) => Ok(wanted.min(usize::try_from(left).unwrap_or(usize::MAX))),
            None => Err(format!(
                "{needed} bytes of memory are to be registered, but the limit on locked memory \
                 (RLIMIT_MEMLOCK) is {limit} bytes, of which {taken} are taken: raise it (`ulimit -l \
                 unlimited`; LimitMEMLOCK=infinity in the unit of slurmd or of whatever starts the \
                 ranks), or lower VERBCAST_RECEIVE_DEPTH and VERBCAST_RING_DEPTH at every rank"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        multicast_groups: 1,
        multicast_qps: 1,
        queue_pairs: 1,
        requests: 16_384,
        completions: 32_767,
        shared_queues: 1,
        shared_receives: 16_384,
        reads: 1,
    };

    #[test]
    fn what_does_not_fit_is_named_with_its_setting() {
        let settings = Settings::default();
        check_queues(&settings, 1000, &LIMITS, "x_0").unwrap();
        for (limits, limit, setting) in [
            (Limits { requests: 8, ..LIMITS }, "max_qp_wr", "VERBCAST_RECEIVE_DEPTH"),
            (
                Limits { requests: settings.datagram_requests() - 1, ..LIMITS },
                "max_qp_wr",
                "VERBCAST_",
            ),
            (
                Limits { shared_receives: 8, ..LIMITS },
                "max_srq_wr",
                "VERBCAST_RELIABLE_RECEIVE_DEPTH",
            ),
        ] {
            let error = check_queues(&settings, 2, &limits, "x_0").unwrap_err();
            assert!([limit, setting, "x_0"].iter().all(|part| error.contains(part)), "{error}");
        }
    }

    #[test]
    fn completions_of_all_connections_fit_the_queue() {
        let settings = Settings::default();
        for size in [2, 100, 50_000] {
            let most = connections(&settings, size, &LIMITS, "x_0").unwrap();
            let ring_sends = settings.ring_sends(size);
            assert!(settings.completions_of(most, ring_sends) <= LIMITS.completions);
            assert!(settings.completions_of(most + 1, ring_sends) > LIMITS.completions);
        }
        let few = Limits { completions: settings.depths.receive, ..LIMITS };
        let error = connections(&settings, 2, &few, "x_0").unwrap_err();
        assert!(error.contains("max_cqe") && error.contains("VERBCAST_RECEIVE_DEPTH"), "{error}");
    }

    const FIRST: &str = "         0          0 4294967295\n";

    fn status(capabilities: u64) -> String {
        format!("Name:\tx\nVmPin:\t      40 kB\nCapEff:\t{capabilities:016x}\n")
    }

    #[test]
    fn the_limit_counts_what_is_registered_already() {
        let memlock = Memlock::read(Some(65_536), &status(0), FIRST);
        assert_eq!(memlock.spare(24_576, 1 << 20), Ok(0));
        assert_eq!(memlock.spare(20_480, 1 << 20), Ok(4096));
        assert_eq!(memlock.spare(20_480, 100), Ok(100));
        let error = memlock.spare(24_577, 0).unwrap_err();
        assert!(error.contains("65536 bytes, of which 40960 are taken"), "{error}");
    }

    #[test]
    fn who_may_exceed_the_limit_has_none() {
        let unlimited = Memlock::read(None, &status(0), FIRST);
        let privileged = Memlock::read(Some(0), &status(1 << 14), FIRST);
        let in_a_container = Memlock::read(Some(0), &status(1 << 14), "0 100000 65536");
        assert_eq!(unlimited.spare(1 << 40, 7), Ok(7));
        assert_eq!(privileged.spare(1 << 40, 7), Ok(7));
        assert!(in_a_container.spare(1, 0).is_err());
    }
}
