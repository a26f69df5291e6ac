//! Work requests.

use super::address_handle::AddressHandle;
use super::batch::{Request, SEND_PARTS};
use super::error::{Error, Result, check};
use super::lease::Lease;
use super::pool::Slot;
use super::qp::QueuePair;
use super::shared::{Remote, Span};
use std::ops::Range;
use std::sync::Arc;
use verbcast_sys as sys;

impl QueuePair {
    /// Queues a datagram of the first `len` bytes of a slot.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn send_datagram(
        &mut self,
        slot: Slot,
        len: usize,
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let part = self.inner.sends.sge(&slot, len);
        let mut request = datagram(id, to, (qpn, qkey));
        request.send_flags |= self.inline(len);
        self.queue(request, &[part], Some(to))
    }

    /// Queues a datagram of the first `len` bytes of a slot and a part of leased memory behind them.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the lease has ended.
    pub fn send_datagram_with(
        &mut self,
        (slot, len): (Slot, usize),
        (lease, range): (&Lease, Range<usize>),
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let parts = [self.inner.sends.sge(&slot, len), lease.begin(range)?];
        self.queue(datagram(id, to, (qpn, qkey)), &parts, Some(to))
    }

    /// Queues a datagram of one or two parts of shared memory. Until it has completed, somebody keeps
    /// the memory, or the QP fails.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the memory belongs to another domain.
    ///
    /// # Panics
    /// If there are more parts.
    pub fn send_datagram_from(
        &mut self,
        spans: &[Span],
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let (parts, count) = self.shared_parts(spans)?;
        self.queue(datagram(id, to, (qpn, qkey)), &parts[..count], Some(to))
    }

    /// As [`send_datagram_from`](Self::send_datagram_from), with a number that comes along in the packet and is in the
    /// [completion](super::Completion::immediate) of the receive.
    ///
    /// # Errors
    /// As [`send_datagram_from`](Self::send_datagram_from).
    pub fn send_datagram_numbered(
        &mut self,
        (span, immediate): (&Span, u32),
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let part = self.shared(span)?;
        let mut request = datagram(id, to, (qpn, qkey));
        request.opcode = sys::IBV_WR_SEND_WITH_IMM;
        request.__bindgen_anon_1.imm_data = immediate.to_be();
        self.queue(request, &[part], Some(to))
    }

    /// Queues a reliable message of the first `len` bytes of a slot.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn send(&mut self, slot: Slot, len: usize, id: u64) -> Result<()> {
        let part = self.inner.sends.sge(&slot, len);
        let mut request = message(id);
        request.send_flags |= self.inline(len);
        self.queue(request, &[part], None)
    }

    /// As [`send`](Self::send), once all RDMA reads queued before have ended.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_fenced(&mut self, slot: Slot, len: usize, id: u64) -> Result<()> {
        let part = self.inner.sends.sge(&slot, len);
        let mut request = message(id);
        request.send_flags |= self.inline(len) | sys::IBV_SEND_FENCE;
        self.queue(request, &[part], None)
    }

    /// Queues a reliable message of the first `len` bytes of a slot and a part of leased memory behind
    /// them.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the lease has ended.
    pub fn send_with(
        &mut self,
        (slot, len): (Slot, usize),
        (lease, range): (&Lease, Range<usize>),
        id: u64,
    ) -> Result<()> {
        let parts = [self.inner.sends.sge(&slot, len), lease.begin(range)?];
        self.queue(message(id), &parts, None)
    }

    /// Queues a reliable message of one or two parts of shared memory. Until it has completed, somebody keeps
    /// the memory, or the QP fails.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the memory belongs to another domain.
    ///
    /// # Panics
    /// If there are more parts.
    pub fn send_from(&mut self, spans: &[Span], id: u64) -> Result<()> {
        let (parts, count) = self.shared_parts(spans)?;
        self.queue(message(id), &parts[..count], None)
    }

    /// Queues an RDMA write of a part of shared memory. Until it has completed, somebody keeps
    /// the memory, or the QP fails.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the memory belongs to another domain.
    pub fn write_from(&mut self, span: &Span, to: Remote, id: u64) -> Result<()> {
        let part = self.shared(span)?;
        let mut request = request(id, sys::IBV_WR_RDMA_WRITE);
        request.wr.rdma.remote_addr = to.address;
        request.wr.rdma.rkey = to.key;
        self.queue(request, &[part], None)
    }

    /// Queues an RDMA write of a part of leased memory.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the lease has ended.
    pub fn write_part(
        &mut self,
        (lease, range): (&Lease, Range<usize>),
        to: Remote,
        id: u64,
    ) -> Result<()> {
        let part = lease.begin(range)?;
        let mut request = request(id, sys::IBV_WR_RDMA_WRITE);
        request.wr.rdma.remote_addr = to.address;
        request.wr.rdma.rkey = to.key;
        self.queue(request, &[part], None)
    }

    /// Queues an RDMA read into a part of a slot.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the QP is not a connection.
    pub fn read(&mut self, slot: Slot, into: Range<usize>, from: Remote, id: u64) -> Result<()> {
        let Some(reads) = &self.inner.reads else { return Err(self.refused()) };
        let part = reads.sge_at(&slot, into.start, into.len());
        self.queue(read(id, from), &[part], None)
    }

    /// Queues an RDMA read into a part of shared memory. Until it has completed, somebody keeps the memory, or the QP
    /// fails.
    ///
    /// # Errors
    /// As [`submit`](Self::submit), or if the memory belongs to another domain.
    pub fn read_into(&mut self, span: &Span, from: Remote, id: u64) -> Result<()> {
        let part = self.shared(span)?;
        self.queue(read(id, from), &[part], None)
    }

    /// Queues an RDMA write of nothing, which the other adapter acknowledges by itself.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn write_nothing(&mut self, id: u64) -> Result<()> {
        self.queue(request(id, sys::IBV_WR_RDMA_WRITE), &[], None)
    }

    /// Gives a UD QP a slot to receive into, from a byte of it on.
    ///
    /// # Errors
    /// As [`submit_receives`](Self::submit_receives), or if the QP receives through a shared queue.
    #[inline]
    pub fn post_receive(&mut self, slot: Slot, from: usize, id: u64) -> Result<()> {
        let Some(pool) = &self.inner.receives else { return Err(self.receives_nothing()) };
        let part = pool.sge_at(&slot, from, pool.slot_len() - from);
        self.queue_receive(id, &[part])
    }

    /// Gives a UD QP these bytes of a slot, and behind them a part of leased memory, to receive into. What is longer goes on
    /// in the slot, behind these bytes: together there is as much room as in the slot from them on alone, since one datagram
    /// that is too long may end all that the QP does.
    ///
    /// # Errors
    /// As [`submit_receives`](Self::submit_receives), or if the QP receives through a shared queue or the
    /// lease has ended.
    pub fn post_receive_with(
        &mut self,
        (slot, head): (Slot, Range<usize>),
        (lease, range): (&Lease, Range<usize>),
        id: u64,
    ) -> Result<()> {
        let Some(pool) = &self.inner.receives else { return Err(self.receives_nothing()) };
        let rest = pool.slot_len().saturating_sub(head.end + range.len());
        let first = pool.sge_at(&slot, head.start, head.len());
        let parts = [first, lease.begin(range)?, pool.sge_at(&slot, head.end, rest)];
        self.queue_receive(id, if rest > 0 { &parts } else { &parts[..2] })
    }

    /// Gives a UD QP a part of shared memory to receive into. Until it has completed, somebody keeps the memory, or
    /// the QP fails.
    ///
    /// # Errors
    /// As [`submit_receives`](Self::submit_receives), or if the memory belongs to another domain.
    pub fn post_receive_into(&mut self, span: &Span, id: u64) -> Result<()> {
        let part = self.shared(span)?;
        self.queue_receive(id, &[part])
    }

    /// As [`post_receive_into`](Self::post_receive_into), where the second part takes what the first has no room for.
    ///
    /// # Errors
    /// As [`post_receive_into`](Self::post_receive_into).
    pub fn post_receive_scattered(&mut self, parts: [&Span; 2], id: u64) -> Result<()> {
        let parts = [self.shared(parts[0])?, self.shared(parts[1])?];
        self.queue_receive(id, &parts)
    }

    #[inline]
    fn queue_receive(&mut self, id: u64, parts: &[sys::ibv_sge]) -> Result<()> {
        self.receives.push(Request::new(id), parts, ());
        if self.receives.is_full() { self.submit_receives() } else { Ok(()) }
    }

    /// Hands the receives that wait to the device.
    ///
    /// # Errors
    /// If the receive queue is full; the QP is unusable.
    #[inline]
    pub fn submit_receives(&mut self) -> Result<()> {
        if self.receives.is_empty() { Ok(()) } else { self.hand_receives_over() }
    }

    fn hand_receives_over(&mut self) -> Result<()> {
        let mut bad = std::ptr::null_mut();
        // SAFETY: slots in the requests were handed over, and their pool outlives the QP; leased memory
        // counts its requests, and is out of the device's reach when the lease has ended.
        let answer = unsafe {
            let first = self.receives.link();
            sys::inline::ibv_post_recv(self.inner.ptr.as_ptr(), first, &mut bad)
        };
        self.receives.clear();
        check("ibv_post_recv", &self.inner.pd.context.name, answer)
    }

    fn receives_nothing(&self) -> Error {
        Error::new("ibv_post_recv", self.inner.name(), libc::EINVAL)
    }

    /// The scatter-gather entry for shared memory.
    fn shared(&self, span: &Span) -> Result<sys::ibv_sge> {
        match span.memory.mr.is_of(&self.inner.pd) {
            true => Ok(span.sge()),
            false => Err(self.refused()),
        }
    }

    /// The scatter-gather entries for shared memory, and how many these are: those of nothing are left out, as a length of zero
    /// is 2 GiB to some devices.
    fn shared_parts(&self, spans: &[Span]) -> Result<([sys::ibv_sge; SEND_PARTS], usize)> {
        let mut parts = [sys::ibv_sge { addr: 0, length: 0, lkey: 0 }; SEND_PARTS];
        let mut count = 0;
        for span in spans.iter().filter(|span| !span.is_empty()) {
            parts[count] = self.shared(span)?;
            count += 1;
        }
        Ok((parts, count))
    }

    fn refused(&self) -> Error {
        Error::new("ibv_post_send", self.inner.name(), libc::EINVAL)
    }

    /// The flag for so many bytes of a slot that are sent inline.
    fn inline(&self, len: usize) -> sys::ibv_send_flags {
        if len <= self.inner.inline { sys::IBV_SEND_INLINE } else { 0 }
    }

    fn queue(
        &mut self,
        request: sys::ibv_send_wr,
        parts: &[sys::ibv_sge],
        to: Option<&AddressHandle>,
    ) -> Result<()> {
        if self.sends.is_full() {
            self.hand_sends_over(Burst::GoesOn)?;
        }
        self.sends.push(request, parts, to.map(|to| Arc::clone(&to.inner)));
        Ok(())
    }

    /// Whether sends wait to be handed over.
    pub fn has_waiting(&self) -> bool {
        !self.sends.is_empty()
    }

    /// Hands the sends that wait to the device. The last of them ends a burst: if it is a datagram, it is solicited, and
    /// wakes receivers that sleep until [something solicited](super::CompletionQueue::arm) comes.
    ///
    /// # Errors
    /// If the send queue is full; the QP is unusable.
    #[inline]
    pub fn submit(&mut self) -> Result<()> {
        if self.sends.is_empty() { Ok(()) } else { self.hand_sends_over(Burst::Ends) }
    }

    fn hand_sends_over(&mut self, burst: Burst) -> Result<()> {
        let mut bad = std::ptr::null_mut();
        if burst == Burst::Ends {
            self.sends.solicit();
        }
        // SAFETY: slots in the requests were handed over, and their pool outlives the QP; shared memory is
        // out of the device's reach before it is freed; leased memory counts its requests, and is out of
        // the device's reach when the lease has ended. Address handles are held meanwhile, and the requests
        // themselves are only read during the call, as are slots that are sent inline.
        let answer = unsafe {
            let first = self.sends.link();
            sys::inline::ibv_post_send(self.inner.ptr.as_ptr(), first, &mut bad)
        };
        self.sends.clear();
        check("ibv_post_send", &self.inner.pd.context.name, answer)
    }
}

/// The QP number that stands for all QPs of a group.
const MULTICAST_QPN: u32 = 0xff_ffff;

/// Whether more follows at once what is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Burst {
    GoesOn,
    Ends,
}

fn request(id: u64, opcode: u32) -> sys::ibv_send_wr {
    sys::ibv_send_wr { opcode, ..Request::new(id) }
}

/// A message to one process. Each is solicited: the one that it sleeps for may be any of them.
fn message(id: u64) -> sys::ibv_send_wr {
    let mut request = request(id, sys::IBV_WR_SEND);
    request.send_flags |= sys::IBV_SEND_SOLICITED;
    request
}

fn read(id: u64, from: Remote) -> sys::ibv_send_wr {
    let mut request = request(id, sys::IBV_WR_RDMA_READ);
    request.wr.rdma.remote_addr = from.address;
    request.wr.rdma.rkey = from.key;
    request
}

fn datagram(id: u64, to: &AddressHandle, (qpn, qkey): (u32, u32)) -> sys::ibv_send_wr {
    // One to a single process may be all that it sleeps for.
    let mut request =
        if qpn == MULTICAST_QPN { request(id, sys::IBV_WR_SEND) } else { message(id) };
    request.wr.ud.ah = to.inner.ptr.as_ptr();
    request.wr.ud.remote_qpn = qpn;
    request.wr.ud.remote_qkey = qkey;
    request
}
