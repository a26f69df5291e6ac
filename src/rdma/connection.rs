//! One RC connection.
//!
//! It is two QPs. Messages, reports and fetches go over one, with as many retries as the device knows:
//! its receiver may be busy (RNR), and on a wire that reorders, a go-back-N adapter may need many.
//! Probes of liveness go over the other, one at a time and with few retries, so that only an adapter
//! that answers nothing counts as gone.

use super::datagrams::Tail;
use super::handshake::{Ends, Handshake};
use super::work::Work;
use crate::protocol::{Counter, Token};
use crate::rank::Rank;
use crate::verbs::{QueuePair, Remote, Result, Slot, Span};
use std::collections::VecDeque;

/// Something to do over a connection.
#[derive(Debug)]
pub(super) enum Pending {
    /// Send a message of so many bytes, and a part of some message's memory behind them.
    Message(Slot, usize, Option<Tail>),
    /// Send the packet in a slot of the ring.
    Ring(u32, Span),
    /// Write a number.
    Report(Counter, Span, Remote),
    /// Read so many bytes.
    Fetch(Slot, usize, Remote),
}

#[derive(Debug)]
pub(super) struct Connection {
    pub messages: QueuePair,
    pub probes: QueuePair,
    pub own: Ends,
    pub handshake: Handshake,
    /// What waits for the handshake, or behind a send from the ring that does.
    pub queue: VecDeque<Pending>,
    /// Sends from the ring under way, and at most.
    pub ring_sends: usize,
    most_ring_sends: usize,
    /// What the senders from the ring want to be told, in the order in which their sends will end.
    pub ring_tokens: VecDeque<Token>,
    /// The other side is to hear over the connection that this side is done with the handshake.
    pub owes_confirm: bool,
    /// A probe waits for the handshake.
    pub to_probe: bool,
    pub is_probing: bool,
    pub is_broken: bool,
}

impl Connection {
    pub fn new(
        messages: QueuePair,
        probes: QueuePair,
        own: Ends,
        handshake: Handshake,
        most_ring_sends: usize,
    ) -> Self {
        Connection {
            messages,
            probes,
            own,
            handshake,
            queue: VecDeque::new(),
            ring_sends: 0,
            most_ring_sends,
            ring_tokens: VecDeque::new(),
            owes_confirm: false,
            to_probe: false,
            is_probing: false,
            is_broken: false,
        }
    }

    /// Whether the handshake is done, and the other side cannot fail to hear of it.
    pub fn is_ready(&self) -> bool {
        self.handshake.is_connected() && !self.owes_confirm
    }

    /// Posts what has waited, once the handshake is done, as far as sends from the ring have room.
    pub fn start(&mut self, rank: Rank) -> Result<()> {
        if !self.handshake.is_connected() {
            return Ok(());
        }
        let messages = &mut self.messages;
        while let Some(pending) = self.queue.pop_front() {
            match pending {
                Pending::Ring(..) if self.ring_sends == self.most_ring_sends => {
                    self.queue.push_front(pending);
                    break;
                }
                Pending::Message(slot, len, tail) => {
                    let id = Work::Send(rank, slot.index()).id();
                    match tail {
                        Some(tail) => {
                            messages.send_with((slot, len), (&tail.lease, tail.range), id)?
                        }
                        None => messages.send(slot, len, id)?,
                    }
                }
                Pending::Ring(slot, span) => {
                    self.ring_sends += 1;
                    messages.send_from(&span, Work::RingSend(rank, slot).id())?;
                }
                Pending::Report(counter, span, to) => {
                    messages.write_from(&span, to, Work::Report(rank, counter).id())?;
                }
                Pending::Fetch(slot, len, from) => {
                    let id = Work::Fetch(rank, slot.index()).id();
                    messages.read(slot, len, from, id)?;
                }
            }
        }
        if std::mem::take(&mut self.to_probe) {
            self.is_probing = true;
            self.probes.write_nothing(Work::Probe(rank).id())?;
        }
        Ok(())
    }
}
