//! Where the benchmark runs.

use super::mpi::is_setting;
use super::plan::Plan;
use crate::results::{Configuration, Device, System};
use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::Config;
use verbcast::rdma::{Description, Settings, survey};
use verbcast_core::rank::Rank;

/// What this rank uses.
pub fn device(description: &Description) -> Device {
    Device {
        host: read("/proc/sys/kernel/hostname"),
        device: description.device.clone(),
        port: description.port,
        gid_index: description.gid_index,
    }
}

/// What rank 0 knows of its host, and of all ranks' devices.
pub fn system(settings: &Settings, fragment: usize, devices: Vec<Device>) -> System {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    System {
        time: since.as_secs(),
        kernel: read("/proc/sys/kernel/osrelease"),
        processor: processor(&read("/proc/cpuinfo")),
        cpus: thread::available_parallelism().map_or(0, |cpus| cpus.get()),
        verbcast: env!("CARGO_PKG_VERSION").to_owned(),
        is_optimised: !cfg!(debug_assertions),
        mpi: None,
        devices,
        mtu: mtu(settings),
        fragment,
    }
}

/// What was asked for, with MPI's settings at this rank if MPI is measured.
pub fn configuration(
    plan: &Plan,
    config: &Config,
    bootstrap: &dyn Bootstrap,
    with_mpi: bool,
) -> Configuration {
    let variables: BTreeMap<_, _> = std::env::vars_os()
        .map(|(name, value)| [name, value].map(|text| text.to_string_lossy().into_owned()))
        .filter(|[name, _]| {
            name.starts_with("VERBCAST_") && !is_of_the_job(name) || with_mpi && is_setting(name)
        })
        .map(|[name, value]| (name, value))
        .collect();
    Configuration {
        command: std::env::args().skip(1).collect(),
        ranks: bootstrap.size(),
        root: plan.root.to_string(),
        seed: plan.seed,
        is_validated: plan.validate,
        faults: config.faults,
        settings: format!("{:?}", config.device),
        variables,
    }
}

/// Whether a variable only tells a process its place in the job.
fn is_of_the_job(name: &str) -> bool {
    ["RANK", "SIZE", "RENDEZVOUS", "TOKEN", "LAUNCHED"]
        .iter()
        .any(|end| name.strip_prefix("VERBCAST_") == Some(end))
}

fn mtu(settings: &Settings) -> Option<u32> {
    let survey = survey(settings, Rank(0)).ok()?;
    let choice = survey.choice.ok()?;
    let ports = survey.devices.get(choice.device)?.ports.as_ref().ok()?;
    let port = ports.iter().find(|report| report.port.number == choice.port)?;
    Some(port.port.mtu as u32)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The processor's name in what the kernel says of it.
fn processor(text: &str) -> String {
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':'));
    name.map_or("unknown", |(_, name)| name.trim()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_has_its_name() {
        let text = "processor\t: 0\nmodel name\t: Example 3000: fast\nmodel name\t: Other\n";
        assert_eq!(processor(text), "Example 3000: fast");
        assert_eq!(processor("processor: 0"), "unknown");
    }

    #[test]
    fn variables_of_the_job_are_no_settings() {
        assert!(is_of_the_job("VERBCAST_RANK") && !is_of_the_job("VERBCAST_RING_DEPTH"));
    }
}
