//! What `verbcast fabric program` can be told.

use super::super::args::{SchemeArgs, Spec};
use crate::units;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use verbcast_fabric::FIRST_MLID;
use verbcast_fabric::smp::Addressing;

#[derive(Args)]
pub struct ProgramArgs {
    /// The fabric that the tables are for: fat-tree:M,N, mesh:M,N or file:PATH; its switches are found by
    /// their GUIDs, or else by their names [default: what is found]
    #[arg(long, value_name = "SPEC")]
    pub fabric: Option<Spec>,
    /// A group's members: hosts by name or number, or all; can be given several times
    #[arg(long, value_name = "HOST,...", required_unless_present = "restore")]
    pub group: Vec<String>,
    /// Hosts that send to the groups [default: each group's members]
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub scheme: SchemeArgs,
    /// The first multicast LID; those that follow are used as well [default: of the last blocks of 32 that
    /// no switch uses]
    #[arg(long, value_name = "MLID", value_parser = mlid)]
    pub mlid: Option<u16>,
    /// Write the tables; without it, they are shown
    #[arg(long, requires = "kept")]
    pub write: bool,
    /// Before writing, save to this new file what is there
    #[arg(long, value_name = "PATH", group = "kept")]
    pub save: Option<PathBuf>,
    /// Put back what was saved to this file; with --write, or else show what would be written
    #[arg(long, value_name = "PATH", group = "kept")]
    #[arg(conflicts_with_all = ["fabric", "group", "sources", "scheme", "mlid", "save"])]
    pub restore: Option<PathBuf>,
    /// Talk to a fabric that is not simulated
    #[arg(long)]
    pub real_fabric: bool,
    /// The adapter [default: the first with an active port]
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// The adapter's port; 0 for the first that is active
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub port: u8,
    /// The M_Key that protects the switches, in hexadecimal digits
    #[arg(long, value_name = "KEY", default_value = "0", value_parser = key)]
    pub m_key: u64,
    /// Send packets to switches by their LIDs, once these are known, instead of by directed routes
    #[arg(long)]
    pub by_lid: bool,
    /// Seconds to wait for the answer to a packet
    #[arg(long, value_name = "SECONDS", default_value = "0.2", value_parser = units::parse_seconds)]
    pub answer_timeout: Duration,
    /// How often a packet without an answer is sent again
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100))]
    pub retries: u32,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = units::parse_seconds)]
    pub timeout: Duration,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

impl ProgramArgs {
    /// How switches are reached.
    pub fn addressing(&self) -> Addressing {
        if self.by_lid { Addressing::Lid } else { Addressing::Directed }
    }
}

/// The last multicast LID.
const LAST_MLID: u16 = 0xfffe;

fn mlid(text: &str) -> Result<u16, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match number {
        Ok(mlid @ FIRST_MLID..=LAST_MLID) => Ok(mlid),
        _ => Err(format!("not between 0x{FIRST_MLID:x} and 0x{LAST_MLID:x}")),
    }
}

fn key(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "not up to 16 hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multicast_lids_and_keys_are_read() {
        assert_eq!((mlid("0xc3e0"), mlid("49152")), (Ok(0xc3e0), Ok(0xc000)));
        for text in ["", "c000", "0xbfff", "0xffff", "0x1c000", "-1"] {
            assert!(mlid(text).is_err(), "{text}");
        }
        assert_eq!((key("0x1f"), key("ffffffffffffffff")), (Ok(31), Ok(u64::MAX)));
        assert!(key("xyz").is_err() && key("").is_err());
    }
}
