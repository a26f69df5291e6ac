//! What links and switches take, as options.

use clap::{Args, ValueEnum};
use serde::Serialize;
use verbcast_fabric::links::{LaneRule, Parameters, Replication};

#[derive(Args, Clone)]
pub struct LinkArgs {
    /// Nanoseconds from one end of a link to the other
    #[arg(long, value_name = "NS", default_value_t = 20, help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub link_delay: u64,
    /// Nanoseconds from a packet's head at the input of a switch to its head at the output
    #[arg(long, value_name = "NS", default_value_t = 100, help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub switch_delay: u64,
    /// Picoseconds for each byte on a link: 4000 is 1X SDR (2 Gbit/s of data), 80 is 4X EDR
    #[arg(long, value_name = "PS", default_value_t = 4000, help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub byte_time: u64,
    /// Packets that each input buffer holds, for a port and lane
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub input_buffers: u16,
    /// Packets that each output buffer holds, for a port and lane; one is taken from when its packet is routed, so that 1
    /// leaves gaps on links of small packets
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub output_buffers: u16,
    /// Nanoseconds until a sender knows that an input buffer is free
    #[arg(long, value_name = "NS", default_value_t = 20, help_heading = "Links")]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub credit_delay: u64,
    /// Route a packet while it waits for an output, not afterwards
    #[arg(long, help_heading = "Links")]
    pub overlapped: bool,
    /// When a switch copies a multicast packet
    #[arg(long, value_enum, value_name = "WHEN", default_value = "asynchronous")]
    #[arg(help_heading = "Links")]
    pub replication: ReplicationName,
}

/// When a switch copies a multicast packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplicationName {
    /// To each output as soon as that has room
    Asynchronous,
    /// To all outputs at once, when all have room
    Synchronous,
}

/// The same as printed.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    pub link_delay_ns: u64,
    pub switch_delay_ns: u64,
    pub byte_time_ps: u64,
    pub input_buffers: u16,
    pub output_buffers: u16,
    pub credit_delay_ns: u64,
    pub overlapped: bool,
    pub replication: &'static str,
}

impl LinkArgs {
    pub fn parameters(&self, lanes: u8, lane_rule: LaneRule) -> Parameters {
        Parameters {
            flight: self.link_delay,
            switch: self.switch_delay,
            per_byte: self.byte_time,
            lanes,
            lane_rule,
            input: self.input_buffers,
            output: self.output_buffers,
            credit: self.credit_delay,
            overlapped: self.overlapped,
            replication: match self.replication {
                ReplicationName::Asynchronous => Replication::Asynchronous,
                ReplicationName::Synchronous => Replication::Synchronous,
            },
            lifetime: None,
        }
    }

    pub fn report(&self) -> LinkReport {
        LinkReport {
            link_delay_ns: self.link_delay,
            switch_delay_ns: self.switch_delay,
            byte_time_ps: self.byte_time,
            input_buffers: self.input_buffers,
            output_buffers: self.output_buffers,
            credit_delay_ns: self.credit_delay,
            overlapped: self.overlapped,
            replication: match self.replication {
                ReplicationName::Asynchronous => "asynchronous",
                ReplicationName::Synchronous => "synchronous",
            },
        }
    }
}
