//! One RC connection.
//!
//! It is two QPs. Messages, reports and fetches go over one, with as many retries as the device knows:
//! its receiver may be busy (RNR), and on a wire that reorders, a go-back-N adapter may need many.
//! Probes of liveness go over the other, one at a time and with few retries, so that only an adapter
//! that answers nothing counts as gone.

use super::handshake::Handshake;
use super::reads::Reads;
use super::tails::LastSeen;
use crate::rdma::ids::{ChannelId, ProcessId};
use crate::rdma::memory::Tail;
use crate::rdma::outstanding::Outstanding;
use crate::rdma::settings::ECHOES;
use crate::rdma::work::Work;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use verbcast_core::protocol::{Counter, Token};
use verbcast_core::rank::Rank;
use verbcast_core::wire::handshake::{End, Ends};
use verbcast_verbs::{PathTo, Patience, QueuePair, Remote, Result, Slot, Span};

/// Channels that want to know of an answer: mostly one.
pub type Askers = SmallVec<[ChannelId; 4]>;

/// Something to do over a connection.
#[derive(Debug)]
pub enum Pending {
    /// Send a message of so many bytes, and a part of some message's memory behind them.
    Message(Slot, usize, Option<Tail>),
    /// Write a part of some message's memory, before the message that says so.
    Write(Tail, Remote),
    /// Send a message of so many bytes once all fetches before it have ended, and have its acknowledgement
    /// repeated.
    Last(Slot, usize),
    /// Send the packet in a slot of a channel's ring.
    Ring(ChannelId, u32, [Span; 2]),
    /// Write a channel's number.
    Report(ChannelId, Counter, Span, Remote),
    /// Read into a part of a buffer.
    Fetch(Slot, Range<usize>, Remote),
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// A send of a message from a slot.
    Message(u32),
    /// A write of a part of a message, which ends with the message behind it.
    Write,
    /// A write of nothing behind others.
    Echo,
    /// A read of a byte that nobody looks at behind others.
    EchoRead,
    /// A send of the packet in a slot of a channel's ring.
    Ring(ChannelId, u32),
    /// A write of a channel's number.
    Report(ChannelId, Counter),
    /// A read into a buffer.
    Fetch(u32),
}

/// Requests of some kind under way, and at most.
#[derive(Debug)]
struct Share {
    under_way: usize,
    most: usize,
}

impl Share {
    /// Takes a part, if there is one.
    fn take(&mut self) -> bool {
        let is_free = self.under_way < self.most;
        self.under_way += usize::from(is_free);
        is_free
    }
}

#[derive(Debug)]
pub struct Connection {
    pub messages: QueuePair,
    pub probes: QueuePair,
    pub own: Ends,
    pub handshake: Handshake,
    /// The messages' QP is connected.
    has_messages: bool,
    /// Why the other side's address was not found when it was looked for last, if it was not.
    pub unresolved: Option<String>,
    /// What waits for the handshake, or behind what has no room.
    pub queue: VecDeque<Pending>,
    /// Requests over the messages' QP.
    outstanding: Outstanding<Request>,
    ring_sends: Share,
    reports: Share,
    echoes: Share,
    reads: Reads,
    pub last_seen: LastSeen,
    /// It is looked at whether requests take long.
    pub is_watched: bool,
    /// To whom in a channel, and what the sender wants to be told, in the order in which sends from rings
    /// will end.
    pub ring_tokens: VecDeque<(Rank, Token)>,
    /// The other side is to hear over the connection that this side is done with the handshake.
    pub owes_confirm: bool,
    /// A probe waits for the handshake.
    pub to_probe: bool,
    pub is_probing: bool,
    /// Who wants to know of the answer.
    pub askers: Askers,
    pub is_broken: bool,
}

impl Connection {
    /// With so many requests of all kinds, sends from rings and reports under way at most.
    pub fn new(
        (messages, probes): (QueuePair, QueuePair),
        own: Ends,
        handshake: Handshake,
        (most, most_ring_sends, most_reports): (u32, usize, usize),
    ) -> Self {
        Connection {
            messages,
            probes,
            own,
            handshake,
            has_messages: false,
            unresolved: None,
            queue: VecDeque::new(),
            outstanding: Outstanding::new(most),
            ring_sends: Share { under_way: 0, most: most_ring_sends },
            reports: Share { under_way: 0, most: most_reports },
            echoes: Share { under_way: 0, most: ECHOES },
            reads: Reads::default(),
            last_seen: LastSeen::default(),
            is_watched: false,
            ring_tokens: VecDeque::new(),
            owes_confirm: false,
            to_probe: false,
            is_probing: false,
            askers: Askers::new(),
            is_broken: false,
        }
    }

    /// Connects the QPs with the other side's. That can be tried again: a QP that is connected stays so.
    ///
    /// # Errors
    /// As [`QueuePair::connect`].
    pub fn connect(
        &mut self,
        path: &PathTo,
        other: Ends,
        patience: Patience,
        reads: u8,
    ) -> Result<()> {
        let Connection { own, messages, probes, .. } = self;
        let mtu = own.mtu.min(other.mtu);
        if !self.has_messages {
            let (to, most) = (qp_end(other.messages), patience.with_most_retries());
            messages.connect(path, mtu, own.messages.psn, to, most, reads)?;
            self.has_messages = true;
        }
        probes.connect(path, mtu, own.probes.psn, qp_end(other.probes), patience, reads)
    }

    /// Whether the handshake is done, and the other side cannot fail to hear of it.
    pub fn is_ready(&self) -> bool {
        self.handshake.is_connected() && !self.owes_confirm
    }

    /// Whether nothing is under way, nor waits.
    pub fn is_idle(&self) -> bool {
        self.outstanding.len() == 0 && self.queue.is_empty()
    }

    /// Whether a request or a probe is under way, or waits.
    pub fn is_busy(&self) -> bool {
        self.is_probing || !self.is_idle()
    }

    /// The first request that has ended, up to the one of a number, and whether it is that one. What has
    /// waited for it is to be [started](Self::start).
    pub fn ended(&mut self, number: u32) -> Option<(Request, bool)> {
        let ended = self.outstanding.pop_until(number)?;
        match ended.0 {
            Request::Ring(..) => self.ring_sends.under_way -= 1,
            Request::Report(..) => self.reports.under_way -= 1,
            Request::Echo => self.echoes.under_way -= 1,
            Request::EchoRead => {
                self.echoes.under_way -= 1;
                self.reads.end();
            }
            Request::Fetch(_) => self.reads.end(),
            Request::Message(_) | Request::Write => {}
        }
        Some(ended)
    }

    /// The number of the first request that has not ended, if others can be sent behind it.
    pub fn first(&self) -> Option<u32> {
        self.outstanding.first().filter(|_| !self.is_broken)
    }

    /// Has an answer come behind all that is under way, unless enough of those are on their way; what is read for it
    /// goes to `scratch`. Behind reads it is a read of [what is kept](Reads::kept) for them: rxe answers a read that is
    /// asked for again with an access error if a write of nothing came meanwhile (`read_reply` in `rxe_resp.c` of Linux
    /// 6.12 takes the length of the last request for the read's). Behind last words it is a write of
    /// nothing, even if reads in front of them are under way: last words wait for those, and it waits for last words.
    pub fn probe_tail(&mut self, process: ProcessId, scratch: &Span) -> Result<()> {
        match self.reads.kept() {
            None => self.echo(process),
            Some(_) if !self.echoes.take() => Ok(()),
            Some(from) => {
                self.reads.begin(from);
                let number = self.outstanding.push(Request::EchoRead);
                self.messages.read_into(scratch, from, Work::Request(process, number).id())?;
                self.messages.submit()
            }
        }
    }

    /// Has an acknowledgement come behind all that is under way, unless enough of those are on their way.
    fn echo(&mut self, process: ProcessId) -> Result<()> {
        if !self.echoes.take() {
            return Ok(());
        }
        let number = self.outstanding.push(Request::Echo);
        self.messages.write_nothing(Work::Request(process, number).id())?;
        self.messages.submit()
    }

    /// Queues what has waited, once the handshake is done, as far as there is room.
    pub fn start(&mut self, process: ProcessId) -> Result<()> {
        if !self.handshake.is_connected() || self.is_broken {
            return Ok(());
        }
        while let Some(pending) = self.queue.pop_front() {
            let has_room = match &pending {
                Pending::Ring(..) => self.ring_sends.take(),
                Pending::Report(..) => self.reports.take(),
                Pending::Message(..)
                | Pending::Write(..)
                | Pending::Last(..)
                | Pending::Fetch(..) => true,
            };
            if !has_room {
                self.queue.push_front(pending);
                break;
            }
            let Connection { messages, outstanding, .. } = self;
            let mut begin = |request| Work::Request(process, outstanding.push(request)).id();
            match pending {
                Pending::Last(slot, len) => {
                    self.reads.close();
                    let id = begin(Request::Message(slot.index()));
                    messages.send_fenced(slot, len, id)?;
                    // Nobody may poll for long. What goes by itself has a completion of its own.
                    messages.submit()?;
                    for _ in 0..ECHOES {
                        self.echo(process)?;
                    }
                }
                Pending::Message(slot, len, tail) => {
                    let id = begin(Request::Message(slot.index()));
                    match tail {
                        Some(tail) => {
                            messages.send_with((slot, len), (&tail.lease, tail.range), id)?
                        }
                        None => messages.send(slot, len, id)?,
                    }
                }
                Pending::Write(tail, to) => {
                    messages.write_part((&tail.lease, tail.range), to, begin(Request::Write))?;
                }
                Pending::Ring(channel, slot, packet) => {
                    messages.send_from(&packet, begin(Request::Ring(channel, slot)))?;
                }
                Pending::Report(channel, counter, span, to) => {
                    messages.write_from(&span, to, begin(Request::Report(channel, counter)))?;
                }
                Pending::Fetch(slot, into, from) => {
                    let id = begin(Request::Fetch(slot.index()));
                    self.reads.begin(from);
                    messages.read(slot, into, from, id)?;
                }
            }
        }
        if std::mem::take(&mut self.to_probe) {
            self.is_probing = true;
            self.probes.write_nothing(Work::Probe(process).id())?;
            self.probes.submit()?;
        }
        Ok(())
    }
}

fn qp_end(End { qpn, psn }: End) -> verbcast_verbs::End {
    verbcast_verbs::End { qpn, psn }
}
