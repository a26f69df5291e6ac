//! What nodes have, and how it is laid out (section 14.2.5).

use super::datagram::Data;
use crate::topology::{Kind, Quality};
use std::fmt;

/// LIDs in a block of a linear forwarding table.
pub const LFT_BLOCK: u16 = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// The node's name (14.2.5.2).
    NodeDescription,
    /// What the node is (14.2.5.3).
    NodeInfo,
    /// What a switch can do (14.2.5.4).
    SwitchInfo,
    /// State of one port (14.2.5.6).
    PortInfo {
        /// From 0, which is a switch's own.
        port: u8,
    },
    /// Block of a linear forwarding table (14.2.5.10).
    LinearForwardingTable {
        /// LIDs from 64 times this.
        block: u16,
    },
    /// Block of a multicast forwarding table (14.2.5.12).
    MulticastForwardingTable {
        /// MLIDs from 0xc000 plus 32 times this.
        block: u16,
        /// Ports from 16 times this.
        position: u8,
    },
}

impl Attribute {
    pub(super) fn id(self) -> u16 {
        match self {
            Attribute::NodeDescription => 0x10,
            Attribute::NodeInfo => 0x11,
            Attribute::SwitchInfo => 0x12,
            Attribute::PortInfo { .. } => 0x15,
            Attribute::LinearForwardingTable { .. } => 0x19,
            Attribute::MulticastForwardingTable { .. } => 0x1b,
        }
    }

    pub(super) fn modifier(self) -> u32 {
        match self {
            Attribute::PortInfo { port } => port.into(),
            Attribute::LinearForwardingTable { block } => block.into(),
            Attribute::MulticastForwardingTable { block, position } => {
                u32::from(position) << 28 | u32::from(block)
            }
            _ => 0,
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::NodeDescription => f.write_str("NodeDescription"),
            Attribute::NodeInfo => f.write_str("NodeInfo"),
            Attribute::SwitchInfo => f.write_str("SwitchInfo"),
            Attribute::PortInfo { port } => write!(f, "PortInfo of port {port}"),
            Attribute::LinearForwardingTable { block } => {
                write!(f, "LinearForwardingTable block {block}")
            }
            Attribute::MulticastForwardingTable { block, position } => {
                write!(f, "MulticastForwardingTable block {block} position {position}")
            }
        }
    }
}

fn word(data: &Data, at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn long(data: &Data, at: usize) -> u64 {
    u64::from_be_bytes(data[at..at + 8].try_into().expect("8 bytes are 8 bytes"))
}

/// A node's name, without what is not printable.
pub fn description(data: &Data) -> String {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let text = String::from_utf8_lossy(&data[..end]);
    text.trim().chars().filter(|c| !c.is_control()).collect()
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// A router counts as a host, as all that is not a switch.
    pub kind: Kind,
    /// Number of external ports.
    pub ports: u8,
    /// The node's GUID.
    pub guid: u64,
    /// The GUID of the port by which the packet came; of a switch that of port 0.
    pub port_guid: u64,
    /// The port by which the packet came.
    pub local_port: u8,
}

impl From<&Data> for NodeInfo {
    fn from(data: &Data) -> NodeInfo {
        NodeInfo {
            kind: if data[2] == 2 { Kind::Switch } else { Kind::Host },
            ports: data[3],
            guid: long(data, 12),
            port_guid: long(data, 20),
            local_port: data[36],
        }
    }
}

/// What a switch can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchInfo {
    /// Number of entries of its multicast forwarding table.
    pub multicast_entries: u16,
    /// The last MLID that it forwards, where its port 0 has [`PortInfo::has_multicast_top`].
    pub multicast_top: u16,
}

impl From<&Data> for SwitchInfo {
    fn from(data: &Data) -> SwitchInfo {
        SwitchInfo { multicast_entries: word(data, 4), multicast_top: word(data, 18) }
    }
}

/// State of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Its base LID; 0 if it has none.
    pub lid: u16,
    /// Whether there is a link.
    pub is_up: bool,
    /// What the link carries.
    pub quality: Quality,
    /// Whether the switch goes by [`SwitchInfo::multicast_top`] (CapabilityMask bit 30).
    pub has_multicast_top: bool,
}

impl From<&Data> for PortInfo {
    fn from(data: &Data) -> PortInfo {
        let lanes = match data[31] {
            1 => 1,
            4 => 8,
            8 => 12,
            16 => 2,
            _ => 4,
        };
        // LinkSpeedExtActive counts where there is one, else LinkSpeedActive.
        let lane_mbps = match (data[62] >> 4, data[35] >> 4) {
            (1, _) => 14_000,
            (2, _) => 25_000,
            (4, _) => 50_000,
            (8, _) => 100_000,
            (_, 2) => 5_000,
            (_, 4) => 10_000,
            _ => 2_500,
        };
        let mtu = 128_u16 << (data[36] >> 4).clamp(1, 5);
        PortInfo {
            lid: word(data, 16),
            // Above Down.
            is_up: data[32] & 15 > 1,
            quality: Quality { mtu, lane_mbps, lanes },
            has_multicast_top: data[20] >> 6 & 1 == 1,
        }
    }
}
