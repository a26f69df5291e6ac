//! Faults on purpose: a transport that loses, duplicates, reorders and damages what another receives.
//!
//! Only datagrams of the group suffer; a reliable connection stays one. Each rank draws its own
//! faults from the seed, so that losses are independent, as they are on a fabric.

#[cfg(test)]
mod tests;

use super::{
    Arrival, Buffer, Faults, Liveness, Park, Payload, Transfer, Transport, TransportError,
};
use crate::protocol::{Counter, Room, Run, Token, Via};
use crate::rank::{OpId, Rank};
use crate::time::Instant;
use crate::wire::{HEADER_LEN, Key, Malformed, Packet};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::array;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// How long a datagram is set aside at most, where no later one overtakes it.
const MAX_DETOUR: Duration = Duration::from_millis(1);

/// A datagram that waits to be overtaken.
#[derive(Debug)]
struct Detour {
    buffer: Buffer,
    overtakers_left: u32,
    until: Instant,
}

/// A transport whose received datagrams suffer [`Faults`]; without any, it only passes through.
#[derive(Debug)]
pub struct Faulty<T> {
    inner: T,
    faults: Faults,
    /// None where nothing can go wrong.
    generator: Option<ChaCha8Rng>,
    detours: Vec<Detour>,
    due: VecDeque<Buffer>,
    /// Buffers that are out twice, and must come back as often.
    twins: HashMap<u32, u32>,
}

impl<T: Transport> Faulty<T> {
    /// Wraps the transport of `rank`.
    pub fn new(inner: T, faults: Faults, rank: Rank) -> Self {
        let generator = faults.are_possible().then(|| {
            let mut generator = ChaCha8Rng::seed_from_u64(faults.seed);
            generator.set_stream(u64::from(rank.0));
            generator
        });
        Faulty {
            inner,
            faults,
            generator,
            detours: Vec::new(),
            due: VecDeque::new(),
            twins: HashMap::new(),
        }
    }

    /// The transport inside.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// The transport inside.
    pub fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Decides a datagram's fate; `Some` where it is delivered now.
    fn suffer(&mut self, now: Instant, buffer: Buffer) -> Result<Option<Buffer>, TransportError> {
        let Some(generator) = &mut self.generator else { return Ok(Some(buffer)) };
        // As much is drawn for each datagram whatever can happen, and whatever happens to it, so that
        // turning one fault on leaves the others alone.
        let [loss, duplicate, reorder, overtakers, corrupt, bit] =
            array::from_fn(|_| generator.next_u32());
        for detour in &mut self.detours {
            detour.overtakers_left = detour.overtakers_left.saturating_sub(1);
        }
        if happens(self.faults.loss, loss) {
            self.inner.recycle(buffer)?;
            return Ok(None);
        }
        if happens(self.faults.corrupt, corrupt) {
            self.inner.damage(&buffer, bit);
        }
        if happens(self.faults.duplicate, duplicate) {
            *self.twins.entry(buffer.index).or_default() += 1;
            self.due.push_back(Buffer { index: buffer.index });
        }
        if happens(self.faults.reorder, reorder) {
            let overtakers_left = 1 + overtakers % 4;
            self.detours.push(Detour { buffer, overtakers_left, until: now + MAX_DETOUR });
            return Ok(None);
        }
        Ok(Some(buffer))
    }

    fn end_detours(&mut self, now: Instant) {
        let ended = |detour: &mut Detour| detour.overtakers_left == 0 || detour.until <= now;
        self.due.extend(self.detours.extract_if(.., ended).map(|detour| detour.buffer));
    }
}

fn happens(probability: f64, drawn: u32) -> bool {
    f64::from(drawn) < probability * 2f64.powi(32)
}

fn by_multicast(buffer: Buffer) -> Arrival {
    Arrival::Packet { via: Via::Multicast, buffer }
}

impl<T: Room> Room for Faulty<T> {
    fn multicast_room(&self) -> usize {
        self.inner.multicast_room()
    }

    fn reliable_room(&self, to: Rank) -> usize {
        self.inner.reliable_room(to)
    }

    fn report_room(&self, to: Rank) -> usize {
        self.inner.report_room(to)
    }

    fn fetch_room(&self, from: Rank) -> usize {
        self.inner.fetch_room(from)
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        self.inner.is_in_reach(from)
    }

    fn is_idle(&self, slot: u32) -> bool {
        self.inner.is_idle(slot)
    }
}

impl<T: Liveness> Liveness for Faulty<T> {
    fn connect(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.inner.connect(peer)
    }

    fn is_connected(&self, peer: Rank) -> bool {
        self.inner.is_connected(peer)
    }

    fn connected(&self) -> Vec<Rank> {
        self.inner.connected()
    }

    fn probe(&mut self, peer: Rank) -> Result<(), TransportError> {
        self.inner.probe(peer)
    }

    fn disconnect(&mut self, now: Instant, peer: Rank) {
        self.inner.disconnect(now, peer);
    }
}

impl<T: Transport> Transport for Faulty<T> {
    type Messages = T::Messages;

    fn messages(&self) -> &T::Messages {
        self.inner.messages()
    }

    fn messages_mut(&mut self) -> &mut T::Messages {
        self.inner.messages_mut()
    }

    fn begin(&mut self, op: OpId, fragment_len: usize) {
        self.inner.begin(op, fragment_len);
    }

    fn multicast(
        &mut self,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<Transfer, TransportError> {
        self.inner.multicast(header, payload)
    }

    fn reliable(
        &mut self,
        to: Rank,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
        token: Token,
    ) -> Result<Transfer, TransportError> {
        self.inner.reliable(to, header, payload, token)
    }

    fn retain(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        self.inner.retain(slot, header, payload)
    }

    fn multicast_retained(
        &mut self,
        slot: u32,
        header: &[u8; HEADER_LEN],
        payload: Payload<'_>,
    ) -> Result<(), TransportError> {
        self.inner.multicast_retained(slot, header, payload)
    }

    fn reliable_retained(
        &mut self,
        to: Rank,
        slot: u32,
        token: Token,
    ) -> Result<(), TransportError> {
        self.inner.reliable_retained(to, slot, token)
    }

    fn report(&mut self, to: Rank, counter: Counter, value: u64) -> Result<bool, TransportError> {
        self.inner.report(to, counter, value)
    }

    fn fetch(&mut self, from: Rank, slot: u32, token: Token) -> Result<(), TransportError> {
        self.inner.fetch(from, slot, token)
    }

    fn admit_eager(&mut self, messages: u64) {
        self.inner.admit_eager(messages);
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        self.inner.reserve(messages, next)
    }

    fn notice_room(&self) -> usize {
        self.inner.notice_room()
    }

    fn submit(&mut self) -> Result<(), TransportError> {
        self.inner.submit()
    }

    fn poll(&mut self, now: Instant) -> Result<Option<Arrival>, TransportError> {
        if self.generator.is_none() {
            return self.inner.poll(now);
        }
        loop {
            self.end_detours(now);
            if let Some(buffer) = self.due.pop_front() {
                return Ok(Some(by_multicast(buffer)));
            }
            match self.inner.poll(now)? {
                Some(Arrival::Packet { via: Via::Multicast, buffer }) => {
                    if let Some(buffer) = self.suffer(now, buffer)? {
                        return Ok(Some(by_multicast(buffer)));
                    }
                }
                other => return Ok(other),
            }
        }
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        if self.generator.is_none() { self.inner.take_run(run, into) } else { Ok(0) }
    }

    fn take_only(&mut self, run: &Run, into: &mut [u8]) -> Result<bool, TransportError> {
        Ok(self.generator.is_none() && self.inner.take_only(run, into)?)
    }

    fn is_quiet(&mut self, now: Instant) -> bool {
        // What was set aside may be due.
        self.generator.is_none() && self.inner.is_quiet(now)
    }

    fn expect_reports(&mut self, are_expected: bool) {
        self.inner.expect_reports(are_expected);
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        self.inner.packet(buffer, key)
    }

    fn damage(&mut self, buffer: &Buffer, drawn: u32) {
        self.inner.damage(buffer, drawn);
    }

    fn may_wait(&self) -> bool {
        self.inner.may_wait()
    }

    fn may_stay(&self, buffer: &Buffer) -> bool {
        self.inner.may_stay(buffer)
    }

    fn recycle(&mut self, buffer: Buffer) -> Result<(), TransportError> {
        if let Some(twins) = self.twins.get_mut(&buffer.index) {
            *twins -= 1;
            if *twins == 0 {
                self.twins.remove(&buffer.index);
            }
            return Ok(());
        }
        self.inner.recycle(buffer)
    }
}

impl<T> Faulty<T> {
    /// How long to wait at most, of `at_most`, while datagrams are set aside.
    fn longest_wait(&self, at_most: Duration) -> Duration {
        match self.detours.is_empty() && self.due.is_empty() {
            true => at_most,
            false => at_most.min(MAX_DETOUR),
        }
    }
}

impl<T: Park> Park for Faulty<T> {
    fn park(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError> {
        let at_most = self.longest_wait(at_most);
        self.inner.park(idle, at_most)
    }

    fn will_sleep(&self, idle: Duration) -> bool {
        self.inner.will_sleep(idle)
    }

    fn arm(&mut self, idle: Duration, at_most: Duration) -> Result<Duration, TransportError> {
        let at_most = self.longest_wait(at_most);
        self.inner.arm(idle, at_most)
    }

    fn begin_wait(&mut self) {
        self.inner.begin_wait();
    }

    fn end_wait(&mut self) {
        self.inner.end_wait();
    }
}
