//! Several transports of one communicator, each over an adapter or a port of its own: rails.
//!
//! What is retained in a slot of the ring is retained, multicast, sent again and read over the same rail, that of the slot, so that
//! consecutive fragments take turns. All else that has a rank to go to goes over the first.

#[cfg(test)]
mod tests;

use super::{Arrival, Buffer, Liveness, Park, Payload, Transfer, Transport, TransportError};
use crate::protocol::{Counter, Room, Run, Token, Via};
use crate::rank::{Fragment, OpId, Rank};
use crate::time::Instant;
use crate::wire::{HEADER_LEN, Key, Malformed, Packet};
use std::iter;
use std::time::Duration;

/// The rails of a rank, as many as every other one has: mostly one.
#[derive(Debug)]
pub struct Rails<T> {
    /// The one for what is not of a slot of the ring.
    first: T,
    others: Vec<T>,
    /// The one that the next datagram is expected from.
    turn: usize,
    /// The one that the next datagram goes to which is retained nowhere.
    next: usize,
}

impl<T> Rails<T> {
    /// In the same order at each rank.
    pub fn new(first: T, others: Vec<T>) -> Self {
        Rails { first, others, turn: 0, next: 0 }
    }

    /// The one for what is not of a slot of the ring.
    pub fn first(&self) -> &T {
        &self.first
    }

    /// The one for what is not of a slot of the ring.
    pub fn first_mut(&mut self) -> &mut T {
        &mut self.first
    }

    /// The first one, and the others.
    pub fn split_mut(&mut self) -> (&mut T, &mut [T]) {
        (&mut self.first, &mut self.others)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        iter::once(&self.first).chain(&self.others)
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        iter::once(&mut self.first).chain(&mut self.others)
    }

    fn count(&self) -> usize {
        1 + self.others.len()
    }

    fn get(&self, rail: usize) -> &T {
        if rail == 0 { &self.first } else { &self.others[rail - 1] }
    }

    fn get_mut(&mut self, rail: usize) -> &mut T {
        if rail == 0 { &mut self.first } else { &mut self.others[rail - 1] }
    }

    /// The rail of a slot of the ring.
    fn of_slot(&self, slot: u32) -> usize {
        if self.others.is_empty() { 0 } else { slot as usize % self.count() }
    }

    /// The rail of a received buffer, and its own number for it.
    fn of_buffer(&self, buffer: &Buffer) -> (usize, Buffer) {
        let count = self.count() as u32;
        match count {
            1 => (0, Buffer { index: buffer.index }),
            _ => ((buffer.index % count) as usize, Buffer { index: buffer.index / count }),
        }
    }

    /// A buffer of a rail, as the caller knows it.
    fn named(&self, rail: usize, buffer: Buffer) -> Buffer {
        Buffer { index: buffer.index * self.count() as u32 + rail as u32 }
    }

    fn behind(&self, rail: usize) -> usize {
        if rail < self.others.len() { rail + 1 } else { 0 }
    }
}

impl<T: Room> Room for Rails<T> {
    fn multicast_room(&self) -> usize {
        // They take turns, whichever is first.
        let first = self.first.multicast_room();
        let least = self.others.iter().map(Room::multicast_room).fold(first, usize::min);
        least.saturating_mul(self.count())
    }

    fn reliable_room(&self, to: Rank) -> usize {
        self.first.reliable_room(to)
    }

    fn report_room(&self, to: Rank) -> usize {
        self.first.report_room(to)
    }

    fn fetch_room(&self, from: Rank) -> usize {
        // All that is asked for may be of one rail.
        self.iter().map(|rail| rail.fetch_room(from)).min().unwrap_or(0)
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        self.iter().all(|rail| rail.is_in_reach(from))
    }

    fn is_idle(&self, slot: u32) -> bool {
        self.get(self.of_slot(slot)).is_idle(slot)
    }
}

impl<T: Liveness> Liveness for Rails<T> {
    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.iter_mut().try_for_each(|rail| rail.connect(peer))
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.iter().all(|rail| rail.is_connected(peer))
    }

    fn connected(&self) -> Vec<Rank> {
        let mut all: Vec<_> = self.iter().flat_map(Liveness::connected).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.first.probe(peer)
    }

    fn disconnect(&mut self, now: Instant, peer: Rank) {
        self.iter_mut().for_each(|rail| rail.disconnect(now, peer));
    }
}

/// Messages are not lent: a rail would place its fragments alone.
impl<T: Transport> Transport for Rails<T> {
    type Messages = T::Messages;

    fn messages(&self) -> &T::Messages {
        self.first.messages()
    }

    fn messages_mut(&mut self) -> &mut T::Messages {
        self.first.messages_mut()
    }

    fn begin(&mut self, op: OpId, fragment_len: usize) {
        self.first.begin(op, fragment_len);
        self.others.iter_mut().for_each(|rail| rail.begin(op, fragment_len));
    }

    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError> {
        let rail = self.next;
        self.next = self.behind(rail);
        self.get_mut(rail).multicast(header, payload)
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError> {
        self.first.reliable(to, header, payload, token)
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        let rail = self.of_slot(slot);
        self.get_mut(rail).retain(slot, header, payload)
    }

    fn multicast_retained(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        let rail = self.of_slot(slot);
        self.get_mut(rail).multicast_retained(slot, header, payload)
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        let rail = self.of_slot(slot);
        self.get_mut(rail).reliable_retained(to, slot, token)
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<bool, TransportError> {
        self.first.report(to, counter, value)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        let rail = self.of_slot(slot);
        self.get_mut(rail).fetch(from, slot, token)
    }

    fn admit_eager(&mut self, messages: u64) {
        self.iter_mut().for_each(|rail| rail.admit_eager(messages));
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        let mut may_leave = self.first.reserve(messages, next);
        // What is retained comes over the rail of its slot, so that all of them may be of one. Each is told, whatever another one
        // answers.
        for rail in &mut self.others {
            may_leave &= rail.reserve(messages, next);
        }
        may_leave
    }

    fn notice_room(&self) -> usize {
        self.first.notice_room()
    }

    fn submit(&mut self) -> Result<(), TransportError> {
        self.first.submit()?;
        self.others.iter_mut().try_for_each(Transport::submit)
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        if self.others.is_empty() {
            return self.first.poll(now);
        }
        let mut rail = self.turn;
        for _ in 0..self.count() {
            let arrival = match self.get_mut(rail).poll(now)? {
                None => {
                    rail = self.behind(rail);
                    continue;
                }
                Some(Arrival::Packet { via, buffer }) => {
                    if via == Via::Multicast {
                        self.turn = self.behind(rail);
                    }
                    Arrival::Packet { via, buffer: self.named(rail, buffer) }
                }
                Some(Arrival::Fetched { from, token, buffer }) => {
                    Arrival::Fetched { from, token, buffer: self.named(rail, buffer) }
                }
                Some(other) => other,
            };
            return Ok(Some(arrival));
        }
        Ok(None)
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        if self.others.is_empty() {
            return self.first.take_run(run, into);
        }
        let mut places = into.map(|bytes| bytes.chunks_mut(run.fragment_len));
        for behind in 0..run.count {
            let first = Fragment(run.first.0 + behind);
            let one = Run { first, count: 1, ..*run };
            let place = places.as_mut().and_then(Iterator::next);
            if self.get_mut(self.turn).take_run(&one, place)? == 0 {
                return Ok(behind);
            }
            self.turn = self.behind(self.turn);
        }
        Ok(run.count)
    }

    fn take_only(&mut self, run: &Run, into: &mut [u8]) -> Result<bool, TransportError> {
        let mut rail = self.turn;
        for _ in 0..self.count() {
            let next = self.behind(rail);
            if self.get_mut(rail).take_only(run, into)? {
                self.turn = next;
                return Ok(true);
            }
            rail = next;
        }
        Ok(false)
    }

    fn is_quiet(&mut self, now: Instant) -> bool {
        // Nothing is asked as often as this.
        let are_others =
            self.others.is_empty() || self.others.iter_mut().all(|rail| rail.is_quiet(now));
        are_others && self.first.is_quiet(now)
    }

    fn expect_reports(&mut self, are_expected: bool) {
        self.first.expect_reports(are_expected);
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        let (rail, buffer) = self.of_buffer(buffer);
        self.get(rail).packet(&buffer, key)
    }

    fn damage(&mut self, buffer: &Buffer, drawn: u32) {
        let (rail, buffer) = self.of_buffer(buffer);
        self.get_mut(rail).damage(&buffer, drawn);
    }

    fn may_stay(&self, buffer: &Buffer) -> bool {
        let (rail, buffer) = self.of_buffer(buffer);
        self.get(rail).may_stay(&buffer)
    }

    fn may_wait(&self) -> bool {
        self.first.may_wait() && self.others.iter().all(Transport::may_wait)
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        let (rail, buffer) = self.of_buffer(&buffer);
        self.get_mut(rail).recycle(buffer)
    }
}

/// The first rail's descriptor is to tell of all.
impl<T: Park> Park for Rails<T> {
    fn will_sleep(&self, idle: Duration) -> bool {
        self.first.will_sleep(idle)
    }

    fn park(&mut self, idle: Duration, mut at_most: Duration) -> Result<(), TransportError> {
        if !self.others.is_empty() && self.first.will_sleep(idle) {
            for rail in &mut self.others {
                at_most = rail.arm(idle, at_most)?;
                if at_most.is_zero() {
                    return Ok(());
                }
            }
        }
        self.first.park(idle, at_most)
    }

    fn arm(&mut self, idle: Duration, at_most: Duration) -> Result<Duration, TransportError> {
        self.iter_mut().try_fold(at_most, |at_most, rail| rail.arm(idle, at_most))
    }

    fn begin_wait(&mut self) {
        self.iter_mut().for_each(Park::begin_wait);
    }

    fn end_wait(&mut self) {
        self.iter_mut().for_each(Park::end_wait);
    }
}
