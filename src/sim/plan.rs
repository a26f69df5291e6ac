//! What a simulation is of.

use super::communicator::Channel;
use super::costs::Costs;
use super::faults::Faults;
use super::pattern;
use verbcast_core::driver::Parameters;
use verbcast_core::order::RankOrder;
use verbcast_core::protocol::Depths;
use verbcast_core::protocol::options::SuiteParameters;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::wire::{Checks, HEADER_LEN};

/// A broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its root.
    pub root: Rank,
    /// Length of its message in bytes.
    pub len: usize,
}

/// A rank that is elsewhere for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computing {
    /// Which rank.
    pub rank: Rank,
    /// After which broadcast, from 0.
    pub after: usize,
    /// For how long, in nanoseconds.
    pub nanos: u64,
}

/// What a simulation is of. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The number of ranks.
    pub size: u32,
    /// The ranks by host, if their hosts are known.
    pub order: RankOrder,
    /// Ranks that share a node each: of one host, or where those are not known, in a row. 1: none does.
    pub ranks_per_node: u32,
    /// The broadcasts.
    pub steps: Vec<Step>,
    /// The id of the first.
    pub first_op: OpId,
    /// Fragments that had gone by before, of which no rank has told another.
    pub passed: u64,
    /// Broadcasts that a rank has in flight at most.
    pub at_once: usize,
    /// The n-th broadcast is called no earlier than n times this.
    pub interval: u64,
    /// Every rank calls each broadcast up to this much later, drawn anew each time.
    pub skew: u64,
    /// Ranks that call each broadcast so much later than the others.
    pub late: Vec<(Rank, u64)>,
    /// Ranks whose CPU takes so many times as long.
    pub slow: Vec<(Rank, u64)>,
    /// Ranks that are elsewhere for a while.
    pub computing: Vec<Computing>,
    /// A rank that dies, and when.
    pub crash: Option<(Rank, u64)>,
    /// A rank that is wrong about a broadcast, counted from 0: how many bytes it takes it to have.
    pub mistaken: Option<(Rank, usize, usize)>,
    /// Whether a rank that has everything polls no more, until all have.
    pub leaves: bool,
    /// Whether a rank that has everything and owes nothing leaves for good.
    pub departs: bool,
    /// What everything takes.
    pub costs: Costs,
    /// How much adapters hold.
    pub depths: Depths,
    /// What goes wrong.
    pub faults: Faults,
    /// Whether payloads have CRCs, and receivers check them.
    pub payload_crc: bool,
    /// Bytes of a packet, header included.
    pub packet_len: usize,
    /// Whether fragments may fill their datagrams, with [compact headers](verbcast_core::wire::Compact): if payloads have no CRCs.
    pub whole_datagrams: bool,
    /// Bytes from which on a rank lends a message to its transport, to be sent and received without a copy; none: never.
    pub zero_copy: Option<usize>,
    /// Ranks that never do.
    pub copying: Vec<Rank>,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// When a simulation that has not ended counts as hanging.
    pub limit: u64,
}

impl Plan {
    /// Broadcasts of `len` bytes by `root`, one after another, where nothing goes wrong.
    pub fn new(size: u32, steps: Vec<Step>) -> Self {
        Plan {
            size,
            order: RankOrder::by_number(size),
            ranks_per_node: 1,
            steps,
            first_op: OpId(0),
            passed: 0,
            at_once: 1,
            interval: 0,
            skew: 0,
            late: Vec::new(),
            slow: Vec::new(),
            computing: Vec::new(),
            crash: None,
            mistaken: None,
            leaves: false,
            departs: false,
            costs: Costs::default(),
            depths: Depths::default(),
            faults: Faults::default(),
            payload_crc: false,
            packet_len: 4096,
            whole_datagrams: false,
            zero_copy: None,
            copying: Vec::new(),
            seed: 1,
            limit: 600_000_000_000,
        }
    }

    /// Whether ranks may end with a failure.
    pub(super) fn fails(&self) -> bool {
        self.crash.is_some() || self.mistaken.is_some()
    }

    /// Bytes of a message in a fragment.
    pub fn fragment_len(&self) -> usize {
        self.packet_len - HEADER_LEN
    }

    /// Bytes of a fragment that fills its datagram.
    pub(super) fn whole(&self) -> Option<usize> {
        (self.whole_datagrams && !self.payload_crc).then_some(self.packet_len)
    }

    /// From how many bytes on a rank lends a message to its transport.
    pub(super) fn lends(&self, rank: Rank) -> Option<usize> {
        self.zero_copy.filter(|_| !self.copying.contains(&rank))
    }

    /// What receivers check of datagrams and messages.
    pub(super) fn checks(&self) -> Checks {
        if self.payload_crc { Checks::Whole } else { Checks::Header }
    }

    /// Runtime parameters of a rank's driver.
    pub fn parameters(&self, rank: Rank) -> Parameters {
        let suite = SuiteParameters {
            rank,
            order: self.order.clone(),
            first_op: self.first_op,
            seed: self.seed,
            fragment_len: self.fragment_len(),
            whole: self.whole(),
            multicast: true,
            depths: self.depths,
        };
        let (key, payload_crc) = (Channel::ONLY.key(), self.payload_crc);
        Parameters { suite, key, payload_crc, mac: None, shares_buffers: false }
    }

    /// The message of a broadcast: bytes that differ from one to the next.
    pub fn message(&self, step: usize) -> Vec<u8> {
        pattern::message(step, self.steps[step].len)
    }

    /// Whether these are the bytes of a broadcast's [message](Self::message).
    pub(super) fn is_message(&self, step: usize, bytes: &[u8]) -> bool {
        bytes.len() == self.steps[step].len && pattern::is_message(step, bytes)
    }
}
