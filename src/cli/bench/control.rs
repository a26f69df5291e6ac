//! What the ranks tell one another beside the broadcasts: barriers, acknowledgements and times, over
//! reliable connections.
//!
//! Each word goes from one rank to another and carries a number; words of one kind between two ranks come
//! in order. Who waits for one lets the contender make progress, and asks the other's adapter whether it is
//! there when the wait grows long: there is no time limit for a rank that lives. A word that was told is the
//! adapter's: it needs this process no more, which may go on to a contender that knows nothing of this.

use super::transport::open_transport;
use super::word::Word;
use crate::launch::decide::{blame, blamed};
use rustix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Config, Endpoint};
use verbcast::clock::Clock;
use verbcast::rdma::{Agreed, Description, Multicast, RdmaTransport};
use verbcast_core::protocol::{Room, Token};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Liveness, Park, Payload, Transport};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, MacKey};

/// Longest sleep while the contender's timers may fall due.
const MAX_PARK: Duration = Duration::from_millis(1);
/// Between two questions to an adapter.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

pub struct Control {
    transport: RdmaTransport,
    description: Description,
    key: Key,
    mac: Option<MacKey>,
    me: Rank,
    size: u32,
    clock: Clock,
    /// How long the making of a connection may take.
    patience: Duration,
    heard: HashMap<(Rank, Word), VecDeque<u64>>,
    /// Why no word comes any more.
    failure: Option<String>,
}

impl Control {
    /// Among all ranks of `bootstrap`. Collective.
    pub fn open(
        bootstrap: &mut dyn Bootstrap,
        endpoint: &Endpoint,
        config: &Config,
    ) -> Result<Control, String> {
        let (me, size) = (bootstrap.rank(), bootstrap.size());
        let (transport, Agreed { key, mac, .. }, description) =
            open_transport(bootstrap, endpoint, config, Multicast::Off)?;
        let (clock, heard, patience) = (Clock::of_process(), HashMap::new(), config.device.timeout);
        let failure = None;
        Ok(Control { transport, description, key, mac, me, size, clock, patience, heard, failure })
    }

    pub fn rank(&self) -> Rank {
        self.me
    }

    /// What this rank uses.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Bytes of a message that one packet carries.
    pub fn fragment_len(&self) -> usize {
        self.transport.packet_len() - HEADER_LEN
    }

    /// Nanoseconds on this rank's clock, which is that of its host's kernel, so that all ranks of a host have the same.
    pub fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
    }

    /// Sends a word, when there is a connection and room for one, having `meanwhile` called before.
    pub fn tell(
        &mut self,
        to: Rank,
        word: Word,
        value: u64,
        meanwhile: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<(), String> {
        if !self.transport.is_connected(to) {
            // A word would wait in this process, and its receiver for it while this one is busy elsewhere.
            self.transport.connect(to).map_err(|error| blame(self.me, error))?;
            self.wait_for(to, meanwhile, |control| {
                control.transport.is_connected(to).then_some(())
            })?;
        }
        self.send(to, word, value, meanwhile)
    }

    /// The same without a connection: then the word goes when there is one.
    fn send(
        &mut self,
        to: Rank,
        word: Word,
        value: u64,
        meanwhile: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<(), String> {
        self.wait_for(to, meanwhile, |control| {
            (control.transport.reliable_room(to) > 0).then_some(())
        })?;
        let (kind, op, fragment) = (Kind::Acknowledge, OpId(0), Fragment(0));
        let (source, key) = (self.me, self.key);
        let header =
            Header { kind, source, key, op, fragment, message_len: 0, report: 0, asks: false };
        let payload = word.emit(value);
        let (header, token) =
            (header.emit_as(&payload, true, self.mac.as_ref()), Token { kind, op, fragment });
        let sent = self.transport.reliable(to, &header, Payload::Bytes(&payload), token);
        // Nobody may poll for long.
        sent.and_then(|_| self.transport.submit()).map_err(|error| blame(self.me, error))
    }

    /// Waits for a word, having `meanwhile` called in between.
    pub fn hear(
        &mut self,
        from: Rank,
        word: Word,
        meanwhile: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<u64, String> {
        self.wait_for(from, meanwhile, |control| {
            control.heard.get_mut(&(from, word)).and_then(VecDeque::pop_front)
        })
    }

    /// Waits for what depends on another rank, having `meanwhile` called in between.
    fn wait_for<T>(
        &mut self,
        other: Rank,
        meanwhile: &mut dyn FnMut() -> Result<(), String>,
        found: impl Fn(&mut Control) -> Option<T>,
    ) -> Result<T, String> {
        let mut idle_since = self.clock.now();
        let mut asked = idle_since;
        loop {
            if let Some(value) = found(self) {
                return Ok(value);
            }
            if let Some(failure) = &self.failure {
                return Err(failure.clone());
            }
            let worked = self.listen()?;
            let now = self.clock.now();
            if worked {
                (idle_since, asked) = (now, now);
                continue;
            }
            meanwhile()?;
            if now - asked >= PROBE_INTERVAL {
                asked = now;
                self.ask(other)?;
                if !self.transport.is_connected(other) && now - idle_since >= self.patience {
                    let what = format!("does not connect within {:?}", self.patience);
                    return Err(blame(other, what));
                }
            }
            self.park(now - idle_since)?;
        }
    }

    /// Returns when the first `ranks` ranks have called it: in round k, each tells the one 2ᵏ further on.
    pub fn barrier(
        &mut self,
        ranks: u32,
        meanwhile: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<(), String> {
        let mut distance = 1;
        while distance < ranks {
            let at = |distance| Rank((self.me.0 + distance) % ranks);
            let (to, from) = (at(distance), at(ranks - distance));
            self.tell(to, Word::Barrier, 0, meanwhile)?;
            self.hear(from, Word::Barrier, meanwhile)?;
            distance *= 2;
        }
        Ok(())
    }

    /// Lets all other ranks fail, wherever they wait for a word: they blame whom `what` blames.
    pub fn abort(&mut self, what: &str) {
        let me = self.me;
        let origin = blamed(what).unwrap_or(me);
        for rank in (0..self.size).map(Rank).filter(|rank| *rank != me) {
            // Who cannot be told will find out from its own wait.
            let _ = self.send(rank, Word::Abort, origin.0.into(), &mut || Ok(()));
        }
    }

    /// Takes what has come; whether there was anything.
    fn listen(&mut self) -> Result<bool, String> {
        let mut worked = false;
        while let Some(arrival) = self.poll()? {
            worked = true;
            match arrival {
                Arrival::Packet { buffer, .. } => {
                    let packet = self.transport.packet(&buffer, self.key);
                    let heard = packet.ok().and_then(|packet| {
                        let (word, value) = Word::parse(packet.payload()).ok()?;
                        Some((packet.header().source, word, value))
                    });
                    let recycled = self.transport.recycle(buffer);
                    recycled.map_err(|error| blame(self.me, error))?;
                    if let Some((source, word, value)) = heard {
                        self.note(source, word, value);
                    }
                }
                Arrival::Broken { peer, reason } => {
                    self.failure.get_or_insert(blame(peer, format!("does not answer: {reason}")));
                }
                // An answer tells that there was nothing to tell.
                Arrival::Alive { .. } => worked = false,
                _ => {}
            }
        }
        Ok(worked)
    }

    fn note(&mut self, from: Rank, word: Word, value: u64) {
        if word == Word::Abort {
            let origin = u32::try_from(value).ok().filter(|origin| *origin < self.size).map(Rank);
            let failure = match origin {
                Some(origin) if origin != from => blame(origin, format!("failed, as {from} says")),
                _ => blame(from, "gave up"),
            };
            self.failure.get_or_insert(failure);
        } else {
            self.heard.entry((from, word)).or_default().push_back(value);
        }
    }

    fn poll(&mut self) -> Result<Option<Arrival>, String> {
        self.transport.poll(self.clock.now()).map_err(|error| blame(self.me, error))
    }

    fn ask(&mut self, rank: Rank) -> Result<(), String> {
        self.transport.probe(rank).map_err(|error| blame(self.me, error))
    }

    fn park(&mut self, idle: Duration) -> Result<(), String> {
        self.transport.park(idle, MAX_PARK).map_err(|error| blame(self.me, error))
    }
}
