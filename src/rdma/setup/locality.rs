//! How far a device is from where this process may run.

use std::fs;
use std::path::Path;

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    number: u32,
    cpus: Vec<u32>,
    /// Its distance to each node, in the order of their numbers.
    distances: Vec<u32>,
}

/// The NUMA nodes of this host, and which of them this process may run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locality {
    nodes: Vec<Node>,
    allowed_cpus: Vec<u32>,
}

impl Locality {
    /// As the kernel tells it; without nodes where it does not.
    pub fn of_process() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed_cpus = allowed.map(list).unwrap_or_default();
        let folder = Path::new("/sys/devices/system/node");
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap_or_default();
        let nodes = list(&read("online")).into_iter().map(|number| Node {
            number,
            cpus: list(&read(&format!("node{number}/cpulist"))),
            distances: numbers(&read(&format!("node{number}/distance"))),
        });
        Locality { nodes: nodes.collect(), allowed_cpus }
    }

    /// The distance of a node from the nearest one that this process may run on.
    pub fn distance_to(&self, node: u32) -> Option<u32> {
        let at = self.nodes.iter().position(|other| other.number == node)?;
        let own = self
            .nodes
            .iter()
            .filter(|other| other.cpus.iter().any(|cpu| self.allowed_cpus.contains(cpu)));
        own.filter_map(|other| other.distances.get(at).copied()).min()
    }
}

/// The NUMA node of a device, if it has one.
pub fn node_of(device: &str) -> Option<u32> {
    let path = format!("/sys/class/infiniband/{device}/device/numa_node");
    // -1 stands for none.
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The numbers of a list such as `0-3,8`; what cannot be read is left out.
fn list(text: &str) -> Vec<u32> {
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    });
    ranges.flatten().collect()
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sockets, the second of which has the number 2.
    fn host(allowed: &str) -> Locality {
        let node = |number, cpus, distances| Node { number, cpus: list(cpus), distances };
        Locality {
            nodes: vec![node(0, "0-3,8", vec![10, 21]), node(2, "4-7", vec![21, 10])],
            allowed_cpus: list(allowed),
        }
    }

    #[test]
    fn a_bound_process_is_near_its_own_socket_and_another_one_near_all() {
        for (allowed, distances) in [
            ("8", [Some(10), Some(21)]),
            ("4-5", [Some(21), Some(10)]),
            ("0-8", [Some(10), Some(10)]),
            ("", [None, None]),
        ] {
            let host = host(allowed);
            assert_eq!([0, 2].map(|node| host.distance_to(node)), distances, "{allowed:?}");
            assert_eq!(host.distance_to(1), None, "there is no such node");
        }
    }

    #[test]
    fn this_host_can_be_read() {
        let here = Locality::of_process();
        assert!(!here.allowed_cpus.is_empty(), "a process runs somewhere");
    }
}
