//! Protocol cores: sans-IO state machines that turn calls, packets and time into packets and
//! events. They open no socket, read no clock and never wait.
//!
//! # Calling contract
//! One mutation ([`Core::start`] or one of the `handle_*`), then drain [`Core::poll_transmit`], then
//! [`Core::poll_event`], then read [`Core::poll_timeout`]. Payloads are ranges into the message,
//! never bytes: [`driver`](crate::driver) looks the bytes up.
//!
//! A core is made per communicator and holds all operations in flight.

mod bitmap;
pub mod choice;
mod config_error;
mod departure;
mod depths;
mod disagreement;
mod fragments;
mod known_sent;
pub mod options;
mod run;
mod small_map;
mod start;
pub mod suite;
mod to_come;
mod transmit;
pub mod two_stage;
pub mod unicast;
pub mod window;

pub use bitmap::Bitmap;
pub use config_error::ConfigError;
pub use depths::{Depths, DepthsError};
pub use fragments::Fragments;
pub use run::Run;
pub use start::StartError;
pub use transmit::{Counter, Packets, Piece, Room, Target, Token, Transmit};

use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::{Header, Kind, Region};
use departure::Departure;
use small_map::SmallMap;
use start::Limits;
use std::ops::Range;
use to_come::ToCome;

/// How a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// By the group.
    Multicast,
    /// Over the reliable connection with its sender.
    Reliable,
    /// Read from the ring of the rank that retains it.
    Fetched,
}

impl Via {
    /// Whether a packet may come this way among `size` ranks: from one of them, and of a kind that is sent so. Who knows
    /// a communicator's key can make others, which mean nothing.
    pub fn admits(self, header: &Header, size: u32) -> bool {
        use Kind::{Abort, Acknowledge, Bye, Fragment, Offer, Probe, Ready, Written};
        let is_sent_so = match self {
            Via::Multicast => matches!(header.kind, Fragment | Acknowledge | Abort | Probe),
            Via::Reliable => matches!(
                header.kind,
                Fragment | Ready | Acknowledge | Abort | Bye | Offer | Written
            ),
            Via::Fetched => header.kind == Fragment,
        };
        is_sent_so && header.source.0 < size
    }
}

/// A received packet as a core sees it: everything but its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// How it came.
    pub via: Via,
    /// The rank that sent it.
    pub source: Rank,
    /// Its purpose.
    pub kind: Kind,
    /// The operation it belongs to.
    pub op: OpId,
    /// The fragment it carries.
    pub fragment: Fragment,
    /// Length of the whole message in bytes, or [untold](crate::wire::Header::UNTOLD).
    pub message_len: u64,
    /// Length of its payload in bytes; of the part of the message that was [written](Kind::Written).
    pub payload_len: usize,
    /// What its sender reports of itself; zero says nothing.
    pub report: u64,
    /// Whether its sender asks for a report as soon as this fragment and all before it are here.
    pub asks: bool,
    /// The memory that its sender [offers](Kind::Offer) for the message, if this rank can write to it out of its own.
    pub memory: Option<Region>,
}

/// What a core wants done with a received packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// New: copy the payload to these bytes of the operation's message.
    Place(Range<usize>),
    /// New, and in these bytes of the operation's message already: its sender wrote it there.
    InPlace(Range<usize>),
    /// Nothing to keep: a control message that was understood.
    Consumed,
    /// The second copy that a protocol sends by design, of a fragment that is here already.
    Redundant,
    /// A copy that came by the same way before.
    Duplicate,
    /// The operation has ended here.
    Late,
    /// The operation has not begun here: keep the packet and hand it in again when it has.
    Hold,
    /// It makes no sense in this protocol.
    Reject,
}

/// What a core tells its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The caller may go on: the message is here, and all that must be sent of it was handed over.
    Complete {
        /// Which operation.
        op: OpId,
        /// Fragments whose multicast copy had not come by then.
        lost: u64,
    },
    /// Nothing more is owed for the operation.
    Quiescent(OpId),
    /// A rank called the same operation with other arguments, or left without it.
    Disagreement {
        /// Which operation.
        op: OpId,
        /// The rank that disagrees with this one.
        rank: Rank,
        /// In what.
        what: String,
    },
}

/// What a core's next timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The root's delay before the multicast ends.
    RootDelay,
    /// A fragment is missing, or its acknowledgement is.
    Repair,
    /// An acknowledgement that found nothing to go along with is due.
    Acknowledgement,
}

/// A protocol core. The module's documentation has the calling contract.
pub trait Core {
    /// Joins the next broadcast: `len` bytes from `root`. Every rank calls it in the same order with
    /// the same arguments.
    fn start(&mut self, now: Instant, root: Rank, len: u64) -> Result<OpId, StartError>;

    /// Bytes of each fragment but the last of a message of `len` bytes, the same at every rank.
    fn fragment_len(&self, len: u64) -> usize;

    /// Takes a packet.
    fn handle_packet(&mut self, now: Instant, packet: &Incoming) -> Disposition;

    /// The fragments that would only be [placed](Disposition::Place) if they came by multicast at `now`, one behind the other
    /// and before all else. By default none is known.
    fn coming(&self, now: Instant) -> Option<Run> {
        let _ = now;
        None
    }

    /// Learns that so many of the fragments that were [coming](Self::coming) have come and were placed.
    fn handle_run(&mut self, now: Instant, count: u32) {
        let _ = (now, count);
    }

    /// Whether the next broadcast, of `len` bytes of `root`, need not be [started](Self::start) if its message comes `now`, in one
    /// fragment by multicast that neither asks nor reports: it would be over then, with nothing owed for it at once, and
    /// nothing [expected](Self::expected). By default it is not known.
    fn is_short(&self, now: Instant, root: Rank, len: u64) -> bool {
        let _ = (now, root, len);
        false
    }

    /// Learns that the message of a broadcast has come which [is short](Self::is_short), and was placed; which one it was. It was
    /// `called` when it would have begun otherwise, and was waited for since then.
    fn handle_short(&mut self, now: Instant, called: Instant, root: Rank, len: u64) -> OpId {
        let _ = (now, called, root, len);
        unreachable!("no broadcast is short")
    }

    /// Begins the next broadcast as its root, if that is over as soon as its message of `len` bytes is multicast in one
    /// fragment; which one it is, and what is to be kept and multicast of it. Otherwise nothing changes, and it is to be
    /// [started](Self::start). By default it is. What others sent was `looked` for last then.
    fn send_short(
        &mut self,
        now: Instant,
        looked: Instant,
        len: u64,
        room: &dyn Room,
    ) -> Option<(OpId, Packets)> {
        let _ = (now, looked, len, room);
        None
    }

    /// Whether no packet is missing that a broadcast begun here needs to complete. By default it is not known.
    fn has_all(&self) -> bool {
        false
    }

    /// Learns that the adapter of `to` has acknowledged a reliable message.
    fn handle_delivered(&mut self, now: Instant, to: Rank, token: Token);

    /// Learns that `from` has written a number into this rank's memory. Values may be skipped.
    fn handle_report(&mut self, now: Instant, from: Rank, counter: Counter, value: u64) {
        let _ = (now, from, counter, value);
    }

    /// Whether a [report](Self::handle_report) can change anything now. Where it cannot, the latest one is handed in when it
    /// can. By default it always can.
    fn hears_reports(&self) -> bool {
        true
    }

    /// Learns that the adapter of `to` has acknowledged the last report.
    fn handle_write_acked(&mut self, now: Instant, to: Rank, counter: Counter) {
        let _ = (now, to, counter);
    }

    /// Learns that a fetch found another packet, or none, in the slot.
    fn handle_missed(&mut self, now: Instant, from: Rank, token: Token) {
        let _ = (now, from, token);
    }

    /// Learns that the caller waits until nothing is owed any more: what would be asked for or told in a while is
    /// asked for and told now.
    fn handle_flush(&mut self, now: Instant) {
        let _ = now;
    }

    /// Learns that nothing can be sent to `rank` or read from it any more. If it left in good order
    /// it needs nothing; if it died, the driver says so wherever it is needed.
    fn handle_broken(&mut self, now: Instant, rank: Rank) {
        let _ = (now, rank);
    }

    /// Learns that `rank` left in good order, having ended all operations before `next`.
    fn handle_departed(&mut self, now: Instant, rank: Rank, next: OpId);

    /// Lets timers that are due by `now` fire.
    fn handle_timeout(&mut self, now: Instant);

    /// The next packet to send for which there is room. Where there is none although no room was lacking, there is none
    /// until the core is handed something or its timer fires.
    fn poll_transmit(&mut self, room: &dyn Room) -> Option<Transmit>;

    /// The next event.
    fn poll_event(&mut self) -> Option<Event>;

    /// The timer that fires next, and when.
    fn poll_timeout(&self) -> Option<(Timer, Instant)>;

    /// The ranks whose connection the protocol always needs, to be set up beforehand and watched
    /// while an operation is in flight.
    fn peers(&self) -> &[Rank];

    /// Ranks whose memory this rank may read or write, or that may do so with this rank's, for an
    /// operation that has begun, once for each. Making a connection takes both CPUs, so no operation may
    /// complete before these are connected: then a read needs only the reader's, and who leaves knows
    /// whom to tell. By default none.
    fn take_partners(&mut self) -> Vec<Rank> {
        Vec::new()
    }

    /// Ranks whose memory this rank would read if it could, once for each look: to be connected with while nothing waits for
    /// that. By default none.
    fn take_wishes(&mut self) -> Vec<Rank> {
        Vec::new()
    }

    /// The ranks that this one waits for now, besides its [`peers`](Core::peers): to be asked whether
    /// they are there when nothing comes for long.
    fn awaited(&self) -> Vec<Rank> {
        let mut ranks = Vec::new();
        self.add_awaited(&mut ranks);
        ranks
    }

    /// Adds those that are [`awaited`](Core::awaited) to `ranks`. By default none.
    fn add_awaited(&self, _ranks: &mut Vec<Rank>) {}

    /// Reliable messages that other ranks will still send this one by design for the operations begun here before one,
    /// needed or not. They come even while the caller is elsewhere.
    fn expected(&self, before: OpId) -> u64;

    /// Reliable messages that other ranks send this one at most for operations that it has not begun.
    fn eager(&self) -> u64;

    /// Whether everything has come that other ranks send this one by design for the operations begun
    /// here, needed or not.
    fn is_drained(&self) -> bool;

    /// The operation that [`start`](Core::start) will begin next.
    fn next_op(&self) -> OpId;
}
