//! A transport that reports what a test puts in, and notes what is asked of it.

use super::*;
use crate::rank::Fragment;
use crate::wire::Kind;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Range;

#[derive(Debug, Default)]
pub struct Notes {
    pub arrivals: VecDeque<Arrival>,
    pub recycled: Vec<u32>,
    /// Fragments of runs that are not here yet.
    pub missing: RefCell<Vec<Fragment>>,
    /// Nothing more can be multicast or read, and the caller has to stay.
    pub is_full: bool,
    /// What else was asked.
    pub asked: RefCell<Vec<String>>,
}

type Done = Result<(), TransportError>;
type Sent = Result<Transfer, TransportError>;

impl Notes {
    fn note(&self, what: &str, about: impl Debug) {
        self.asked.borrow_mut().push(format!("{what} {about:?}"));
    }

    fn done(&self, what: &str, about: impl Debug) -> Done {
        self.note(what, about);
        Ok(())
    }
}

impl Room for Notes {
    fn multicast_room(&self) -> usize {
        if self.is_full { 0 } else { 2 }
    }

    fn reliable_room(&self, to: Rank) -> usize {
        10 + to.index()
    }

    fn report_room(&self, to: Rank) -> usize {
        20 + to.index()
    }

    fn fetch_room(&self, from: Rank) -> usize {
        if self.is_full { 0 } else { 30 + from.index() }
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        from == Rank(5)
    }

    fn is_idle(&self, slot: u32) -> bool {
        slot == 3
    }
}

impl Liveness for Notes {
    fn connect(&mut self, peer: Rank) -> Done {
        self.done("connect", peer)
    }

    fn is_connected(&self, peer: Rank) -> bool {
        peer == Rank(4)
    }

    fn connected(&self) -> Vec<Rank> {
        vec![Rank(4)]
    }

    fn probe(&mut self, peer: Rank) -> Done {
        self.done("probe", peer)
    }

    fn disconnect(&mut self, now: Instant, peer: Rank) {
        self.note("disconnect", (now, peer));
    }
}

impl Transport for Notes {
    type Messages = Self;

    fn messages(&self) -> &Self {
        self
    }

    fn messages_mut(&mut self) -> &mut Self {
        self
    }

    fn multicast(&mut self, header: &[u8; HEADER_LEN], payload: Payload<'_>) -> Sent {
        self.note("multicast", (header, payload));
        Ok(Transfer::InPlace)
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Sent {
        self.note("reliable", (to, header, payload, token));
        Ok(Transfer::Copied)
    }

    fn retain(&mut self, slot: u32, header: &[u8; HEADER_LEN], payload: Payload<'_>) -> Done {
        self.done("retain", (slot, header, payload))
    }

    fn multicast_retained(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Done {
        self.done("multicast_retained", (slot, header[0], payload))
    }

    fn reliable_retained(&mut self, to: Rank, slot: u32, token: Token) -> Done {
        self.done("reliable_retained", (to, slot, token))
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<bool, TransportError> {
        self.done("report", (to, counter, value)).map(|()| true)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Done {
        self.done("fetch", (from, slot, token))
    }

    fn notice_room(&self) -> usize {
        5
    }

    fn submit(&mut self) -> Done {
        self.done("submit", ())
    }

    fn poll(&mut self, _: Instant) -> Result<Option<Arrival>, TransportError> {
        Ok(self.arrivals.pop_front())
    }

    fn admit_eager(&mut self, messages: u64) {
        self.note("admit_eager", messages);
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        self.note("reserve", (messages, next));
        !self.is_full
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        self.note("take_run", (run.first, run.count, into.map(|bytes| bytes.len())));
        let is_missing = self.missing.borrow().contains(&run.first);
        Ok(if is_missing { 0 } else { run.count })
    }

    fn take_only(&mut self, run: &Run, _: &mut [u8]) -> Result<bool, TransportError> {
        Ok(!self.missing.borrow().contains(&run.first))
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        self.note("packet", (buffer, key));
        Err(Malformed::Damaged)
    }

    fn damage(&mut self, buffer: &Buffer, _: u32) {
        self.note("damage", buffer);
    }

    fn recycle(&mut self, buffer: Buffer) -> Done {
        self.recycled.push(buffer.index);
        Ok(())
    }
}

impl LentMessages for Notes {
    fn lend(&mut self, op: OpId, message: Vec<u8>, purpose: Purpose) -> Option<Vec<u8>> {
        self.note("lend", (op, message, purpose));
        Some(vec![8])
    }

    fn take_back(&mut self, op: OpId) -> Option<Vec<u8>> {
        self.note("take_back", op);
        Some(vec![9])
    }

    fn lent(&self, op: OpId, range: Range<usize>) -> Option<&[u8]> {
        self.note("lent", (op, range));
        Some(b"lent")
    }

    fn place(
        &mut self,
        op: OpId,
        range: Range<usize>,
        from: Origin<'_>,
    ) -> Result<Option<Transfer>, TransportError> {
        self.note("place", (op, range, from));
        Ok(Some(Transfer::Copied))
    }
}

impl Park for Notes {
    fn will_sleep(&self, idle: Duration) -> bool {
        idle > Duration::from_millis(1)
    }

    fn park(&mut self, idle: Duration, at_most: Duration) -> Done {
        self.done("park", (idle, at_most))
    }

    fn arm(&mut self, idle: Duration, at_most: Duration) -> Result<Duration, TransportError> {
        self.note("arm", (idle, at_most));
        Ok(at_most)
    }

    fn begin_wait(&mut self) {
        self.note("begin_wait", ());
    }

    fn end_wait(&mut self) {
        self.note("end_wait", ());
    }
}

pub fn token() -> Token {
    Token { kind: Kind::Fragment, op: OpId(8), fragment: Fragment(9) }
}

/// Asks once for everything but reports and what a report's buffer needs; the answers.
pub fn ask_everything(transport: &mut impl Transport) -> String {
    let (rank, slot, op, token) = (Rank(4), 3, OpId(6), token());
    let (header, bytes) = (&[7; HEADER_LEN], [1, 2]);
    let payload = || Payload::Bytes(&bytes);
    let buffer = Buffer { index: 5 };
    let sent = [
        transport.multicast(header, payload()),
        transport.multicast(header, Payload::Lent(op, 2..3)),
        transport.reliable(rank, header, payload(), token),
        transport.reliable(rank, header, Payload::Lent(op, 3..4), token),
    ];
    let done = [
        transport.retain(slot, header, payload()),
        transport.multicast_retained(slot, header, payload()),
        transport.reliable_retained(rank, slot, token),
        transport.report(rank, Counter::Consumed, 11).map(drop),
        transport.fetch(rank, slot, token),
        transport.submit(),
        transport.connect(rank),
        transport.probe(rank),
    ];
    transport.disconnect(Instant::ZERO, rank);
    transport.damage(&buffer, 9);
    let messages = transport.messages_mut();
    let owned = [messages.lend(op, vec![3], Purpose::Receive), messages.take_back(op)];
    let placed = messages.place(op, 4..5, Origin::Bytes(&bytes));
    let rooms = [
        transport.multicast_room(),
        transport.reliable_room(rank),
        transport.report_room(rank),
        transport.fetch_room(rank),
        transport.notice_room(),
    ];
    let states = (
        transport.is_idle(slot),
        transport.is_in_reach(rank),
        transport.is_connected(rank),
        transport.connected(),
    );
    let (packet, lent) = (transport.packet(&buffer, Key(12)), transport.messages().lent(op, 5..6));
    format!("{sent:?} {done:?} {owned:?} {placed:?} {rooms:?} {states:?} {packet:?} {lent:?}")
}
