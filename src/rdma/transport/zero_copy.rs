//! Messages without a copy: lending a message's memory to the transport, and having it back.

use super::RdmaTransport;
use super::loans::{Counters, Loan};
use super::owned::Owned;
use super::places::Places;
use crate::rdma::endpoint::Endpoint;
use crate::rdma::group::Member;
use crate::rdma::node::{NodeCounters, NodeSeat};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verbcast_core::driver::LentBytes;
use verbcast_core::rank::OpId;
use verbcast_core::transport::{Purpose, TransportError};
use verbcast_core::wire::HEADER_LEN;
use verbcast_verbs::{Anchor, Block, Lease, page_size};

/// How long requests that were given up may take to end, before their memory is taken from them.
const RECLAIM_PATIENCE: Duration = Duration::from_secs(2);
/// Between two looks for requests that ended.
const RECLAIM_PAUSE: Duration = Duration::from_micros(50);

/// What keeps lent memory from being given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claims {
    /// Nothing.
    None,
    /// Sends are under way.
    Sends,
    /// Receives are posted.
    Receives,
}

/// Runs `body` while the transport that `owner` has is lent `message` for `op`; or with the message, where
/// it is not lent: because it is short, or the device refuses it. When this returns or unwinds, nothing
/// touches the message any more.
pub fn lend<O, R>(
    owner: &mut O,
    transport: fn(&mut O) -> &mut RdmaTransport,
    op: OpId,
    mut message: LentBytes<'_>,
    body: impl FnOnce(&mut O, Option<LentBytes<'_>>) -> R,
) -> R {
    let (memory, purpose) = match &mut message {
        LentBytes::Send(bytes) => (NonNull::from(*bytes), Purpose::Send),
        LentBytes::Receive(bytes) => (NonNull::from(&mut **bytes), Purpose::Receive),
    };
    if !transport(owner).gains_by(message.len(), purpose) {
        return body(owner, Some(message));
    }
    // SAFETY: the message is borrowed for longer than this call, in which nobody touches it after
    // here unless it is not lent, or only to be read; the guard ends the lease whichever way the call ends.
    let lease = unsafe { transport(owner).accept(op, memory, purpose) };
    let Some(lease) = lease else { return body(owner, Some(message)) };
    let guard = Guard { owner, transport, op, lease };
    body(&mut *guard.owner, None)
}

/// Has lent memory back when it is dropped.
struct Guard<'a, O> {
    owner: &'a mut O,
    transport: fn(&mut O) -> &mut RdmaTransport,
    op: OpId,
    lease: Arc<Lease>,
}

impl<O> Drop for Guard<'_, O> {
    fn drop(&mut self) {
        (self.transport)(self.owner).reclaim(self.op);
        // Whatever happened to the transport.
        self.lease.end();
    }
}

impl RdmaTransport {
    /// As [`LentMessages::lend`](verbcast_core::transport::LentMessages::lend), with memory that is registered.
    pub fn lend_block(&mut self, op: OpId, mut message: Block, purpose: Purpose) -> Option<Block> {
        // SAFETY: the message becomes the loan's, which frees it after the lease has ended, and
        // touches it no earlier.
        if unsafe { self.accept(op, NonNull::from(&mut message[..]), purpose) }.is_none() {
            return Some(message);
        }
        self.loans.own(op, Owned::Block(message));
        None
    }

    /// Gives a message back that was lent with its ownership.
    pub fn take_owned(&mut self, op: OpId) -> Option<Owned> {
        let is_owned = self.loans.by_op.get(&op).is_some_and(|loan| loan.owned.is_some());
        if is_owned { self.reclaim(op) } else { None }
    }

    /// A buffer of `len` bytes that is and stays registered; none where that is beyond the bound or
    /// the device refuses.
    pub fn block(&mut self, len: usize) -> Option<Block> {
        let counters = &mut self.loans.counters;
        let mut endpoint = self.endpoint.hold();
        let registrations = &mut endpoint.registrations;
        if let Some(block) = registrations.find_free(len).and_then(|free| free.block(len)) {
            counters.registration_hits += 1;
            return Some(block);
        }
        if !registrations.make_room(len.next_multiple_of(page_size()).max(page_size())) {
            return None;
        }
        let anchor = Anchor::new(&self.domain, len);
        let anchor =
            anchor.inspect_err(|error| tracing::debug!("a buffer stays unregistered: {error}"));
        counters.registrations += 1;
        registrations.insert(anchor.ok()?)?.block(len)
    }

    /// Whether anything may be sent from, or received into, the memory of a message of the operation that has begun last. What
    /// fills its datagrams is sent from the ring, and received in place only where receives are not posted that far ahead.
    pub(super) fn gains_by(&self, len: usize, purpose: Purpose) -> bool {
        let fills_datagrams = self.fragment_len + HEADER_LEN > self.seat.packet_len;
        let receives = purpose == Purpose::Receive;
        !fills_datagrams || (receives && len / self.fragment_len > self.settings.none_in_place())
    }

    /// What keeps the memory of `op` from being given back.
    pub fn claims(&self, op: OpId) -> Claims {
        let Some(loan) = self.loans.by_op.get(&op) else { return Claims::None };
        let endpoint = self.endpoint.see();
        let is_sending = endpoint.datagrams.sends_from(&loan.lease)
            || !endpoint.connections.receivers_of(&loan.lease).is_empty();
        match loan.places.armed() {
            _ if is_sending => Claims::Sends,
            0 => Claims::None,
            _ => Claims::Receives,
        }
    }

    /// What was done for messages without a copy, and what came for nobody.
    pub fn counters(&self) -> Counters {
        let endpoint = self.endpoint.see();
        let inbox = endpoint.channels.get(self.channel).map(|one| &one.inbox);
        let (overflowed, ran_out) =
            inbox.map_or((0, 0), |inbox| (inbox.overflowed(), inbox.ran_out()));
        let incidents = endpoint.incidents().since(self.incidents_before);
        let forged = endpoint.channels.forged() - self.forged_before;
        let node =
            endpoint.node(self.channel).map_or_else(NodeCounters::default, NodeSeat::counters);
        drop(endpoint);
        let foreign = self.foreign();
        Counters { foreign, forged, overflowed, ran_out, incidents, node, ..self.loans.counters }
    }

    /// Takes memory for `op`, unless it is too short or the device refuses it.
    ///
    /// # Safety
    /// Until the lease has ended, which it does when the memory is [reclaimed](Self::reclaim) or this
    /// transport is dropped, the memory stays allocated, and nobody touches it but through the lease; others may read what
    /// is only sent.
    pub(super) unsafe fn accept(
        &mut self,
        op: OpId,
        memory: NonNull<[u8]>,
        purpose: Purpose,
    ) -> Option<Arc<Lease>> {
        let least = self.settings.zero_copy.filter(|_| self.peers.count() > 1)?;
        if memory.len() < least {
            return None;
        }
        let loans = &mut self.loans;
        let address = memory.cast::<u8>().as_ptr() as usize;
        let mut endpoint = self.endpoint.hold();
        let kept = endpoint.registrations.find(address, memory.len());
        // SAFETY: promised by the caller.
        let lease = kept.and_then(|anchor| unsafe { anchor.lease(memory) });
        drop(endpoint);
        let lease = match lease {
            Some(lease) => {
                loans.counters.registration_hits += 1;
                lease
            }
            None => {
                // SAFETY: promised by the caller.
                let lease = unsafe { Lease::register(&self.domain, memory) };
                loans.counters.registrations += u64::from(lease.is_ok());
                lease.inspect_err(|error| tracing::debug!("{op} is copied: {error}")).ok()?
            }
        };
        let lease = Arc::new(lease);
        let fragment_len = self.fragment_len;
        let places = match purpose {
            Purpose::Send => Places::none(memory.len(), fragment_len),
            Purpose::Receive => Places::new(memory.len(), fragment_len, self.settings.margin()),
        };
        loans.by_op.insert(op, Loan { lease: Arc::clone(&lease), places, purpose, owned: None });
        Some(lease)
    }

    /// Gives the memory of `op` back, and the message where it is owned here. Requests that use it are
    /// given up, with their connections, and waited for; from what does not end then, the memory is
    /// taken.
    pub(super) fn reclaim(&mut self, op: OpId) -> Option<Owned> {
        let loan = self.loans.by_op.get_mut(&op)?;
        loan.places.close();
        let lease = Arc::clone(&loan.lease);
        if self.claims(op) != Claims::None
            && let Err(error) = self.give_up(&lease)
        {
            tracing::warn!("{op} ends with requests under way: {error}");
        }
        self.move_out(op);
        let mut loan = self.loans.by_op.remove(&op)?;
        // Nobody else may look into the memory meanwhile, for what a request that was given up left there.
        let endpoint = self.endpoint.hold();
        loan.lease.end();
        drop(endpoint);
        loan.owned.take()
    }

    fn give_up(&mut self, lease: &Arc<Lease>) -> Result<(), TransportError> {
        let mut endpoint = self.endpoint.hold();
        if endpoint.channels.open_count() > 1 {
            // Others need the connections. What is sent ends by itself, unless a receiver is busy.
            drop(endpoint);
            self.wait_for(|endpoint| endpoint.connections.receivers_of(lease).is_empty())?;
            endpoint = self.endpoint.hold();
        }
        for process in endpoint.connections.receivers_of(lease) {
            endpoint.broke(process, "given up, with the broadcast that failed");
        }
        drop(endpoint);
        if lease.requests() > 0 {
            self.flush_receives()?;
        }
        self.wait_for(|_| lease.requests() == 0)
    }

    /// Takes completions until something is so, for a while.
    fn wait_for(&mut self, is_so: impl Fn(&Endpoint) -> bool) -> Result<(), TransportError> {
        let begun = Instant::now();
        loop {
            let mut endpoint = self.endpoint.hold();
            if is_so(&endpoint) || begun.elapsed() >= RECLAIM_PATIENCE {
                return Ok(());
            }
            let any = endpoint.pull(self.channel, self.now);
            drop(endpoint);
            if !any {
                std::thread::sleep(RECLAIM_PAUSE);
            }
        }
    }
}
