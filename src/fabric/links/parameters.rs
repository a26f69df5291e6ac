//! What links and switches take, and how much they hold.

use crate::topology::Invalid;

/// More lanes than InfiniBand has for data.
const MAX_LANES: u8 = 15;
/// Far above what is simulated, and far below what a time can be, in nanoseconds: an hour.
const MAX_LIFETIME: u64 = 3_600_000_000_000;

/// Which virtual lane a packet takes over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneRule {
    /// Its service level, modulo the number of lanes: the same lane all the way.
    ServiceLevel,
    /// The one that belongs to the port by which it leaves (figure 6 c and e of the mesh paper): with four
    /// lanes one for each direction, with two one for east and north and one for west and south.
    Port,
}

/// When a switch makes the copies of a multicast packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Each as soon as its own output has room.
    Asynchronous,
    /// All at once, when all outputs have room. Packets hold the room that they have got meanwhile.
    Synchronous,
}

/// What links and switches take, and how much they hold. Times are in nanoseconds.
///
/// The papers give the first three (section 4 of Zhou, Lin and Chung 2007); the other defaults are choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// From one end of a link to the other.
    pub flight: u64,
    /// From a packet's head at the input of a switch to its head at the output.
    pub switch: u64,
    /// For each byte of a packet on a link, and across a switch; in picoseconds.
    pub per_byte: u64,
    /// Virtual lanes of each link.
    pub lanes: u8,
    /// Which of them a packet takes.
    pub lane_rule: LaneRule,
    /// Packets that an input buffer holds, for each port and lane: the credits of whoever sends to it.
    pub input: u16,
    /// Packets that an output buffer holds, for each port and lane.
    pub output: u16,
    /// From the end of a packet in an input buffer to the credit at the other end of the link.
    pub credit: u64,
    /// Whether a packet that waits for an output is routed meanwhile, or only afterwards.
    pub overlapped: bool,
    /// When copies are made.
    pub replication: Replication,
    /// How long a packet waits at the head of an output before it is thrown away (InfiniBand's
    /// head-of-queue lifetime limit); none: for ever. OpenSM sets about a second, which is far above
    /// what is simulated, so that links lose nothing.
    pub lifetime: Option<u64>,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters {
            flight: 20,
            switch: 100,
            per_byte: 4000,
            lanes: 1,
            lane_rule: LaneRule::ServiceLevel,
            input: 1,
            output: 1,
            credit: 20,
            overlapped: false,
            replication: Replication::Asynchronous,
            lifetime: None,
        }
    }
}

impl Parameters {
    /// Time that a packet's bytes take to pass a point; at least 1, so that packets follow one another.
    pub fn passing(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.per_byte).div_ceil(1000).max(1)
    }

    /// The time of one packet by so many switches where nothing is in its way.
    pub fn alone(&self, switches: u32, bytes: u32) -> u64 {
        self.head(switches) + self.passing(bytes)
    }

    /// The same of its first byte.
    pub fn head(&self, switches: u32) -> u64 {
        self.flight * u64::from(switches + 1) + self.switch * u64::from(switches)
    }

    /// Whether these can be simulated.
    ///
    /// # Errors
    /// If there are no lanes or more than 15, a buffer holds nothing, or a lifetime is longer than an hour.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.lanes == 0 || self.lanes > MAX_LANES {
            let lanes = self.lanes;
            return Err(Invalid(format!("a link has 1 to {MAX_LANES} lanes, not {lanes}")));
        }
        if self.input == 0 || self.output == 0 {
            return Err(Invalid("a buffer holds at least one packet".to_owned()));
        }
        if let Some(lifetime) = self.lifetime.filter(|lifetime| *lifetime > MAX_LIFETIME) {
            return Err(Invalid(format!(
                "a packet lives for {MAX_LIFETIME} ns at most, not {lifetime}"
            )));
        }
        Ok(())
    }

    /// The lane of a packet that leaves by a port.
    pub(super) fn lane(&self, level: u8, port: u8) -> u8 {
        match self.lane_rule {
            LaneRule::ServiceLevel => level % self.lanes,
            LaneRule::Port => {
                let (port, lanes) = (u32::from(port) - 1, u32::from(self.lanes));
                (port * lanes / 4 % lanes) as u8
            }
        }
    }
}
