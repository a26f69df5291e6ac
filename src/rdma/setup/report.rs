//! What a host has: its devices, their ports and GIDs, and what of them can be used.

use std::net::{Ipv4Addr, Ipv6Addr};
use verbcast_core::wire::Network;
use verbcast_verbs::{GidKind, Port, Protocol};

/// A GID, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GidReport {
    /// Its place in the port's table.
    pub index: u8,
    /// The GID, in network order.
    pub gid: [u8; 16],
    /// Which packets it stands for.
    pub kind: GidKind,
    /// Index of the network interface it belongs to; 0 for none.
    pub interface: u32,
    /// Whose address it is.
    pub home: Home,
}

/// Whose address a GID is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The port's alone, as on InfiniBand.
    Port,
    /// That of an interface of this process's network namespace, on this IP network.
    Here(Network),
    /// On Ethernet: of no interface of this network namespace.
    Elsewhere,
}

impl GidReport {
    /// The IPv4 address that the GID maps, if it does.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        Ipv6Addr::from(self.gid).to_ipv4_mapped()
    }
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortReport {
    /// Its state.
    pub port: Port,
    /// Its filled GIDs.
    pub gids: Vec<GidReport>,
    /// The index of the GID that would be used, or why the port cannot be.
    pub verdict: Result<u8, String>,
}

/// What a device has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Multicast groups that it takes part in (`max_mcast_grp`).
    pub multicast_groups: u32,
    /// QPs that it attaches to one group (`max_mcast_qp_attach`).
    pub multicast_qps: u32,
    /// QPs (`max_qp`).
    pub queue_pairs: u32,
    /// Requests in a QP's queue (`max_qp_wr`).
    pub requests: u32,
    /// Completions in a queue (`max_cqe`).
    pub completions: u32,
    /// Shared receive queues (`max_srq`).
    pub shared_queues: u32,
    /// Receives in a shared receive queue (`max_srq_wr`).
    pub shared_receives: u32,
    /// RDMA reads that a connection serves and begins at a time (the smaller of `max_qp_rd_atom` and
    /// `max_qp_init_rd_atom`).
    pub reads: u32,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its node GUID.
    pub guid: u64,
    /// What it speaks.
    pub protocol: Protocol,
    /// The NUMA node that it is at, if the kernel knows.
    pub numa_node: Option<u32>,
    /// How far that is from the nodes that this process may run on, in the kernel's measure (10 is the node
    /// itself); none where it is not known.
    pub numa_distance: Option<u32>,
    /// What it has room for; zeros where it was not opened.
    pub limits: Limits,
    /// Its ports, or why it was not opened.
    pub ports: Result<Vec<PortReport>, String>,
}

/// The port that a rank would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Index into [`Survey::devices`].
    pub device: usize,
    /// Its port number.
    pub port: u8,
    /// Its GID's index.
    pub gid_index: u8,
    /// Why this one.
    pub why: String,
}

/// All devices, and the choice among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// All devices, by name.
    pub devices: Vec<DeviceReport>,
    /// The rank among those of this host for which was chosen.
    pub local_rank: u32,
    /// How the choice came about, line by line: the ports in the order of preference, then those that
    /// cannot be used.
    pub reasons: Vec<String>,
    /// The port that would be used, of several rails by the first; or why there is none.
    pub choice: Result<Candidate, String>,
    /// Those of the other rails, if there is one for the first.
    pub rails: Vec<Result<Candidate, String>>,
}
