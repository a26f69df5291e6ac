//! What a communicator was told by its endpoint, and has not taken yet.

use super::event::Bytes;
use std::collections::VecDeque;
use verbcast_core::protocol::{Token, Via};
use verbcast_core::rank::Rank;
use verbcast_core::transport::Arrival;
use verbcast_core::wire::RawHeader;

/// Whose buffer received bytes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A receive for datagrams.
    Datagram,
    /// A receive for reliable messages.
    Message,
    /// A buffer for what is read.
    Read,
    /// Nobody's: they are a copy.
    Copy,
}

/// Received bytes, and their header if they have one.
#[derive(Debug)]
pub(super) struct Received {
    pub via: Via,
    pub header: Option<RawHeader>,
    pub bytes: Bytes,
    pub body: Body,
}

/// What a communicator is told.
#[derive(Debug)]
pub(super) enum Told {
    Packet(Received),
    Fetched(Rank, Token, Received),
    /// What needs no buffer.
    Other(Arrival),
}

impl Told {
    /// What was received, if anything was.
    pub fn received(&mut self) -> Option<&mut Received> {
        match self {
            Told::Packet(received) | Told::Fetched(.., received) => Some(received),
            Told::Other(_) => None,
        }
    }

    fn is_datagram(&self) -> bool {
        matches!(self, Told::Packet(Received { via: Via::Multicast, .. }))
    }

    /// Whether it is in a buffer that it may not stay in while its communicator is not polled.
    fn is_in_the_way(&self) -> bool {
        match self {
            Told::Packet(Received { body, .. }) | Told::Fetched(_, _, Received { body, .. }) => {
                matches!(body, Body::Message | Body::Read)
            }
            Told::Other(_) => false,
        }
    }
}

/// What one communicator was told.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    told: VecDeque<Told>,
    /// How many of these are datagrams, and how many are in the way.
    datagrams: usize,
    in_the_way: usize,
    /// Connections that broke, to be reported when everything received before is.
    broken: VecDeque<Rank>,
    /// Numbers that others have written are no news.
    pub ignores_reports: bool,
}

impl Inbox {
    pub fn push(&mut self, told: Told) {
        self.datagrams += usize::from(told.is_datagram());
        self.in_the_way += usize::from(told.is_in_the_way());
        self.told.push_back(told);
    }

    /// The datagram that it is told of next, if it is one.
    pub fn next_datagram(&self) -> Option<&Received> {
        match self.told.front() {
            Some(Told::Packet(received)) if received.via == Via::Multicast => Some(received),
            _ => None,
        }
    }

    pub fn next(&mut self) -> Option<Told> {
        let told = self.told.pop_front()?;
        self.datagrams -= usize::from(told.is_datagram());
        self.in_the_way -= usize::from(told.is_in_the_way());
        Some(told)
    }

    /// Takes everything out, in exchange for a queue that is empty.
    pub fn take_into(&mut self, empty: &mut VecDeque<Told>) {
        std::mem::swap(&mut self.told, empty);
        (self.datagrams, self.in_the_way) = (0, 0);
    }

    /// Datagrams in it.
    pub fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// Whether all of it may stay where it is, if so many datagrams may.
    pub fn may_stay(&self, most: usize) -> bool {
        self.in_the_way == 0 && self.datagrams <= most
    }

    pub fn is_empty(&self) -> bool {
        self.told.is_empty() && self.broken.is_empty()
    }

    pub fn push_broken(&mut self, peer: Rank) {
        self.broken.push_back(peer);
    }

    pub fn has_broken(&self) -> bool {
        !self.broken.is_empty()
    }

    pub fn next_broken(&mut self) -> Option<Rank> {
        self.broken.pop_front()
    }
}
