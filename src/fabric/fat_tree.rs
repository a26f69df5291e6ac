//! The m-port n-tree IBFT(m, n) of Zhou, Lin and Chung 2007 (section 2.2).

use super::topology::{Invalid, Kind, Link, Node, Port, Quality, Topology};
use std::collections::HashMap;
use std::ops::Range;

/// More nodes than anyone simulates; keeps indices far from their limits.
const MAX_NODES: u64 = 1 << 22;

/// An m-port n-tree: 2·q^n hosts and (2n−1)·q^(n−1) switches of m ports, where q = m/2.
///
/// Hosts are numbered by their PID (definition 4), then come the switches, level by level from the
/// roots' level 0, in the order of their labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    ports: u8,
    levels: u8,
}

impl FatTree {
    /// IBFT(`ports`, `levels`).
    ///
    /// # Errors
    /// If the number of ports is not an even one from 2 to 254, or there are no levels or too many.
    pub fn new(ports: u8, levels: u8) -> Result<FatTree, Invalid> {
        if ports % 2 == 1 || ports == 0 || ports > 254 {
            let error = format!("a fat tree's switches have an even number of ports, not {ports}");
            return Err(Invalid(error));
        }
        if levels == 0 || levels > 32 {
            return Err(Invalid(format!(
                "a fat tree has 1 to 32 levels of switches, not {levels}"
            )));
        }
        let half = u64::from(ports / 2);
        let row = half.checked_pow(u32::from(levels) - 1).filter(|row| {
            let hosts = row.saturating_mul(2 * half);
            hosts.saturating_add(row.saturating_mul(2 * u64::from(levels) - 1)) <= MAX_NODES
        });
        match row {
            Some(_) => Ok(FatTree { ports, levels }),
            None => Err(Invalid(format!("fat tree {ports},{levels} has above {MAX_NODES} nodes"))),
        }
    }

    /// m.
    pub fn ports(&self) -> u8 {
        self.ports
    }

    /// n.
    pub fn levels(&self) -> u8 {
        self.levels
    }

    /// q = m/2: ports of a switch that lead down, below the roots.
    pub fn half(&self) -> u32 {
        u32::from(self.ports / 2)
    }

    /// q^(n−1): roots, and with that shortest paths between hosts that are far apart.
    pub fn roots(&self) -> u32 {
        self.half().pow(u32::from(self.levels) - 1)
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        2 * self.half() * self.roots()
    }

    /// Digit `at` of a host's label p0 p1 … p(n−1).
    pub fn digit(&self, host: u32, at: u8) -> u32 {
        let shifted = host / self.half().pow(u32::from(self.levels - 1 - at));
        if at == 0 { shifted } else { shifted % self.half() }
    }

    /// The label of a host.
    pub fn label(&self, host: u32) -> Vec<u8> {
        (0..self.levels).map(|at| self.digit(host, at) as u8).collect()
    }

    /// The PID (definition 4) of the host with this label, which is its index; none if there is no
    /// such host.
    pub fn pid(&self, label: &[u8]) -> Option<u32> {
        if label.len() != usize::from(self.levels) || u32::from(label[0]) >= 2 * self.half() {
            return None;
        }
        if label[1..].iter().any(|digit| u32::from(*digit) >= self.half()) {
            return None;
        }
        Some(label.iter().fold(0, |pid, digit| pid * self.half() + u32::from(*digit)))
    }

    /// Length α of the greatest common prefix of two hosts' labels (definition 1).
    pub fn common_prefix(&self, a: u32, b: u32) -> u8 {
        (0..self.levels).find(|at| self.digit(a, *at) != self.digit(b, *at)).unwrap_or(self.levels)
    }

    /// The least common ancestors of two hosts (definition 2), as nodes; none for a host and itself.
    pub fn common_ancestors(&self, a: u32, b: u32) -> Vec<u32> {
        let level = self.common_prefix(a, b);
        if level == self.levels {
            return Vec::new();
        }
        self.level(level).filter(|switch| self.is_below(*switch, a)).collect()
    }

    /// The rank of a host among those that share its first `prefix` digits (definition 4).
    pub fn rank(&self, prefix: u8, host: u32) -> u32 {
        let below = u32::from(self.levels - prefix);
        if prefix == 0 { host } else { host % self.half().pow(below) }
    }

    /// The switches of a level, as nodes.
    pub fn level(&self, level: u8) -> Range<u32> {
        let (hosts, roots) = (self.hosts(), self.roots());
        match level {
            0 => hosts..hosts + roots,
            _ => {
                let from = hosts + roots + (u32::from(level) - 1) * 2 * roots;
                from..from + 2 * roots
            }
        }
    }

    /// The level of a switch and the value of its label w0 w1 … w(n−2), read as a number with
    /// digits below q except the first.
    fn place(&self, switch: u32) -> (u8, u32) {
        let index = switch - self.hosts();
        match index.checked_sub(self.roots()) {
            None => (0, index),
            Some(index) => {
                let row = 2 * self.roots();
                ((index / row) as u8 + 1, index % row)
            }
        }
    }

    /// The level of a switch.
    pub fn level_of(&self, switch: u32) -> u8 {
        self.place(switch).0
    }

    /// The label w0 w1 … w(n−2) of a switch.
    pub fn switch_label(&self, switch: u32) -> Vec<u8> {
        let (_, mut value) = self.place(switch);
        let mut label = vec![0; usize::from(self.levels) - 1];
        for (at, digit) in label.iter_mut().enumerate().rev() {
            let base = if at == 0 { u32::MAX } else { self.half() };
            *digit = (value % base) as u8;
            value /= base;
        }
        label
    }

    /// The node of SW⟨label, level⟩; none if there is no such switch.
    pub fn switch(&self, label: &[u8], level: u8) -> Option<u32> {
        let first = if level == 0 { self.half() } else { 2 * self.half() };
        let bounds = std::iter::once(first).chain(std::iter::repeat(self.half()));
        let fits = label.iter().zip(bounds).all(|(digit, bound)| u32::from(*digit) < bound);
        if level >= self.levels || label.len() + 1 != usize::from(self.levels) || !fits {
            return None;
        }
        let value = label.iter().fold(0, |value, digit| value * self.half() + u32::from(*digit));
        Some(self.level(level).start + value)
    }

    /// Whether a host can be reached downward from a switch: w0 … w(l−1) = p0 … p(l−1).
    pub fn is_below(&self, switch: u32, host: u32) -> bool {
        let (level, value) = self.place(switch);
        // The first `level` digits of the switch's label and of the host's.
        level == 0
            || value / self.half().pow(u32::from(self.levels - 1 - level))
                == host / self.half().pow(u32::from(self.levels - level))
    }

    /// The port of a switch that leads down to a host below it: p_l + 1 (equation 1).
    pub fn down_port(&self, switch: u32, host: u32) -> u8 {
        self.digit(host, self.level_of(switch)) as u8 + 1
    }

    /// The port of a switch that leads to its parent of number `parent`, below q (equation 2).
    pub fn up_port(&self, parent: u32) -> u8 {
        (parent % self.half() + self.half() + 1) as u8
    }

    /// The name of a node, made from its label.
    pub fn name(&self, node: u32) -> String {
        if node < self.hosts() {
            format!("P{}", self.digits(&self.label(node)))
        } else {
            format!("SW{}-{}", self.digits(&self.switch_label(node)), self.level_of(node))
        }
    }

    fn digits(&self, label: &[u8]) -> String {
        let digits: Vec<String> = label.iter().map(u8::to_string).collect();
        digits.join(if self.ports > 10 { "." } else { "" })
    }

    /// The topology, with all links of one quality. GUIDs are those that ibsim gives by default.
    pub fn topology(&self, quality: Quality) -> Topology {
        let (hosts, last) = (self.hosts(), self.level(self.levels - 1).end);
        let node = |node| match node < hosts {
            true => {
                Node { kind: Kind::Host, name: self.name(node), guid: host_guid(node), ports: 1 }
            }
            false => Node {
                kind: Kind::Switch,
                name: self.name(node),
                guid: switch_guid(hosts, node - hosts),
                ports: self.ports,
            },
        };
        let mut links = Vec::new();
        let mut link = |a, b| links.push(Link { ends: [a, b], quality });
        for host in 0..hosts {
            let leaf = self.level(self.levels - 1).start + host / self.half_or_all();
            link(
                Port { node: host, port: 1 },
                Port { node: leaf, port: self.down_port(leaf, host) },
            );
        }
        for lower in self.level(1).start..last {
            let (level, label) = (self.level_of(lower), self.switch_label(lower));
            let mut above = label.clone();
            let digit = above.remove(usize::from(level) - 1);
            for parent in 0..self.half() {
                above.push(parent as u8);
                let upper = self.switch(&above, level - 1).expect("the label is within bounds");
                above.pop();
                link(
                    Port { node: upper, port: digit + 1 },
                    Port { node: lower, port: self.up_port(parent) },
                );
            }
        }
        Topology::new((0..last).map(node).collect(), links, &HashMap::new())
            .expect("a fat tree is a topology")
    }

    /// Hosts of a switch of the lowest level.
    fn half_or_all(&self) -> u32 {
        if self.levels == 1 { 2 * self.half() } else { self.half() }
    }
}

/// The GUID that ibsim gives to the `host`-th host of one port.
pub(super) fn host_guid(host: u32) -> u64 {
    0x10_0000 + 2 * u64::from(host)
}

/// The GUID that ibsim gives to the `switch`-th switch, or beyond those of the hosts if there are so many.
pub(super) fn switch_guid(hosts: u32, switch: u32) -> u64 {
    host_guid(hosts).max(0x20_0000) + u64::from(switch)
}
