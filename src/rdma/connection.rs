//! One RC connection.
//!
//! It is two QPs. Messages, reports and fetches go over one, with as many retries as the device knows:
//! its receiver may be busy (RNR), and on a wire that reorders, a go-back-N adapter may need many.
//! Probes of liveness go over the other, one at a time and with few retries, so that only an adapter
//! that answers nothing counts as gone.

use super::channel::ChannelId;
use super::datagrams::Tail;
use super::handshake::{Ends, Handshake};
use super::process::ProcessId;
use super::work::Work;
use crate::protocol::{Counter, Token};
use crate::rank::Rank;
use crate::verbs::{QueuePair, Remote, Result, Slot, Span};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Channels that want to know of an answer: mostly one.
pub(super) type Askers = SmallVec<[ChannelId; 4]>;

/// Something to do over a connection.
#[derive(Debug)]
pub(super) enum Pending {
    /// Send a message of so many bytes, and a part of some message's memory behind them.
    Message(Slot, usize, Option<Tail>),
    /// Send a message of so many bytes once all fetches before it have ended.
    Last(Slot, usize),
    /// Send the packet in a slot of a channel's ring.
    Ring(ChannelId, u32, Span),
    /// Write a channel's number.
    Report(ChannelId, Counter, Span, Remote),
    /// Read so many bytes.
    Fetch(Slot, usize, Remote),
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
pub(super) struct Connection {
    pub messages: QueuePair,
    pub probes: QueuePair,
    pub own: Ends,
    pub handshake: Handshake,
    /// What waits for the handshake, or behind what has no room.
    pub queue: VecDeque<Pending>,
    /// Requests that are posted and have not ended, but for probes.
    pub under_way: usize,
    ring_sends: Share,
    reports: Share,
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
    /// With so many sends from rings and reports under way at most.
    pub fn new(
        (messages, probes): (QueuePair, QueuePair),
        own: Ends,
        handshake: Handshake,
        (most_ring_sends, most_reports): (usize, usize),
    ) -> Self {
        Connection {
            messages,
            probes,
            own,
            handshake,
            queue: VecDeque::new(),
            under_way: 0,
            ring_sends: Share { under_way: 0, most: most_ring_sends },
            reports: Share { under_way: 0, most: most_reports },
            ring_tokens: VecDeque::new(),
            owes_confirm: false,
            to_probe: false,
            is_probing: false,
            askers: Askers::new(),
            is_broken: false,
        }
    }

    /// Whether the handshake is done, and the other side cannot fail to hear of it.
    pub fn is_ready(&self) -> bool {
        self.handshake.is_connected() && !self.owes_confirm
    }

    /// A send from a ring has ended.
    pub fn ring_sent(&mut self, process: ProcessId) -> Result<Option<(Rank, Token)>> {
        self.ring_sends.under_way -= 1;
        let token = self.ring_tokens.pop_front();
        self.start(process)?;
        Ok(token)
    }

    /// A report has ended.
    pub fn reported(&mut self, process: ProcessId) -> Result<()> {
        self.reports.under_way -= 1;
        self.start(process)
    }

    /// Posts what has waited, once the handshake is done, as far as there is room.
    pub fn start(&mut self, process: ProcessId) -> Result<()> {
        if !self.handshake.is_connected() || self.is_broken {
            return Ok(());
        }
        let messages = &mut self.messages;
        while let Some(pending) = self.queue.pop_front() {
            let has_room = match &pending {
                Pending::Ring(..) => self.ring_sends.take(),
                Pending::Report(..) => self.reports.take(),
                Pending::Message(..) | Pending::Last(..) | Pending::Fetch(..) => true,
            };
            if !has_room {
                self.queue.push_front(pending);
                break;
            }
            self.under_way += 1;
            match pending {
                Pending::Last(slot, len) => {
                    let id = Work::Send(process, slot.index()).id();
                    messages.send_fenced(slot, len, id)?;
                }
                Pending::Message(slot, len, tail) => {
                    let id = Work::Send(process, slot.index()).id();
                    match tail {
                        Some(tail) => {
                            messages.send_with((slot, len), (&tail.lease, tail.range), id)?
                        }
                        None => messages.send(slot, len, id)?,
                    }
                }
                Pending::Ring(channel, slot, span) => {
                    messages.send_from(&span, Work::RingSend(channel, process, slot).id())?;
                }
                Pending::Report(channel, counter, span, to) => {
                    let id = Work::Report(channel, process, counter).id();
                    messages.write_from(&span, to, id)?;
                }
                Pending::Fetch(slot, len, from) => {
                    let id = Work::Fetch(process, slot.index()).id();
                    messages.read(slot, len, from, id)?;
                }
            }
        }
        if std::mem::take(&mut self.to_probe) {
            self.is_probing = true;
            self.probes.write_nothing(Work::Probe(process).id())?;
        }
        Ok(())
    }
}
