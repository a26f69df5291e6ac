//! Work requests.

use super::address_handle::AddressHandle;
use super::error::{Error, Result, check};
use super::lease::Lease;
use super::pool::Slot;
use super::qp::QueuePair;
use super::shared::{Remote, Span};
use std::ops::Range;
use verbcast_sys as sys;

impl QueuePair {
    /// Posts a datagram of the first `len` bytes of a slot.
    ///
    /// # Errors
    /// If the send queue is full.
    pub fn send_datagram(
        &mut self,
        slot: Slot,
        len: usize,
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let mut sge = [self.inner.sends.sge(&slot, len)];
        self.post(datagram(id, &mut sge, to, (qpn, qkey)))
    }

    /// Posts a datagram of the first `len` bytes of a slot and a part of leased memory behind them.
    ///
    /// # Errors
    /// If the send queue is full, or the lease has ended.
    pub fn send_datagram_with(
        &mut self,
        (slot, len): (Slot, usize),
        (lease, range): (&Lease, Range<usize>),
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let mut sge = [self.inner.sends.sge(&slot, len), lease.begin(range)?];
        let posted = self.post(datagram(id, &mut sge, to, (qpn, qkey)));
        posted.inspect_err(|_| lease.withdraw())
    }

    /// Posts a datagram of a part of shared memory. Until it has completed, somebody keeps
    /// the memory, or the QP fails.
    ///
    /// # Errors
    /// If the send queue is full, or the memory belongs to another domain.
    pub fn send_datagram_from(
        &mut self,
        span: &Span,
        id: u64,
        to: &AddressHandle,
        (qpn, qkey): (u32, u32),
    ) -> Result<()> {
        let mut sge = [self.shared(span)?];
        self.post(datagram(id, &mut sge, to, (qpn, qkey)))
    }

    /// Posts a reliable message of the first `len` bytes of a slot.
    ///
    /// # Errors
    /// If the send queue is full.
    pub fn send(&mut self, slot: Slot, len: usize, id: u64) -> Result<()> {
        let mut sge = [self.inner.sends.sge(&slot, len)];
        self.post(request(id, sys::IBV_WR_SEND, &mut sge))
    }

    /// As [`send`](Self::send), once all RDMA reads posted before have ended.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_fenced(&mut self, slot: Slot, len: usize, id: u64) -> Result<()> {
        let mut sge = [self.inner.sends.sge(&slot, len)];
        let mut request = request(id, sys::IBV_WR_SEND, &mut sge);
        request.send_flags |= sys::IBV_SEND_FENCE;
        self.post(request)
    }

    /// Posts a reliable message of the first `len` bytes of a slot and a part of leased memory behind
    /// them.
    ///
    /// # Errors
    /// If the send queue is full, or the lease has ended.
    pub fn send_with(
        &mut self,
        (slot, len): (Slot, usize),
        (lease, range): (&Lease, Range<usize>),
        id: u64,
    ) -> Result<()> {
        let mut sge = [self.inner.sends.sge(&slot, len), lease.begin(range)?];
        let posted = self.post(request(id, sys::IBV_WR_SEND, &mut sge));
        posted.inspect_err(|_| lease.withdraw())
    }

    /// Posts a reliable message of a part of shared memory. Until it has completed, somebody keeps
    /// the memory, or the QP fails.
    ///
    /// # Errors
    /// If the send queue is full, or the memory belongs to another domain.
    pub fn send_from(&mut self, span: &Span, id: u64) -> Result<()> {
        let mut sge = [self.shared(span)?];
        self.post(request(id, sys::IBV_WR_SEND, &mut sge))
    }

    /// Posts an RDMA write of a part of shared memory. Until it has completed, somebody keeps
    /// the memory, or the QP fails.
    ///
    /// # Errors
    /// If the send queue is full, or the memory belongs to another domain.
    pub fn write_from(&mut self, span: &Span, to: Remote, id: u64) -> Result<()> {
        let mut sge = [self.shared(span)?];
        let mut request = request(id, sys::IBV_WR_RDMA_WRITE, &mut sge);
        request.wr.rdma.remote_addr = to.address;
        request.wr.rdma.rkey = to.key;
        self.post(request)
    }

    /// Posts an RDMA read into the first `len` bytes of a slot.
    ///
    /// # Errors
    /// If the send queue is full, or the QP is no connection.
    pub fn read(&mut self, slot: Slot, len: usize, from: Remote, id: u64) -> Result<()> {
        let Some(reads) = &self.inner.reads else { return Err(self.refused()) };
        let mut sge = [reads.sge(&slot, len)];
        let mut request = request(id, sys::IBV_WR_RDMA_READ, &mut sge);
        request.wr.rdma.remote_addr = from.address;
        request.wr.rdma.rkey = from.key;
        self.post(request)
    }

    /// Posts an RDMA write of nothing, which the other adapter acknowledges by itself.
    ///
    /// # Errors
    /// If the send queue is full.
    pub fn write_nothing(&mut self, id: u64) -> Result<()> {
        self.post(request(id, sys::IBV_WR_RDMA_WRITE, &mut []))
    }

    /// Gives a UD QP a slot to receive into.
    ///
    /// # Errors
    /// If the receive queue is full, or the QP receives through a shared queue.
    pub fn post_receive(&mut self, slot: Slot, id: u64) -> Result<()> {
        let Some(pool) = &self.inner.receives else { return Err(self.receives_nothing()) };
        let mut sge = [pool.sge(&slot, pool.slot_len())];
        self.receive(&mut sge, id)
    }

    /// Gives a UD QP the first `len` bytes of a slot and a part of leased memory behind them to receive
    /// into.
    ///
    /// # Errors
    /// If the receive queue is full, the QP receives through a shared queue, or the lease has ended.
    pub fn post_receive_with(
        &mut self,
        (slot, len): (Slot, usize),
        (lease, range): (&Lease, Range<usize>),
        id: u64,
    ) -> Result<()> {
        let Some(pool) = &self.inner.receives else { return Err(self.receives_nothing()) };
        let mut sge = [pool.sge(&slot, len), lease.begin(range)?];
        self.receive(&mut sge, id).inspect_err(|_| lease.withdraw())
    }

    fn receive(&mut self, sge: &mut [sys::ibv_sge], id: u64) -> Result<()> {
        let mut request = sys::ibv_recv_wr {
            wr_id: id,
            next: std::ptr::null_mut(),
            sg_list: sge.as_mut_ptr(),
            num_sge: sge.len() as i32,
        };
        let mut bad = std::ptr::null_mut();
        // SAFETY: a slot in the request was handed over, and its pool outlives the QP; leased memory
        // counts the request, and is out of the device's reach when the lease has ended.
        let answer =
            unsafe { sys::inline::ibv_post_recv(self.inner.ptr.as_ptr(), &mut request, &mut bad) };
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

    fn refused(&self) -> Error {
        Error::new("ibv_post_send", self.inner.name(), libc::EINVAL)
    }

    fn post(&mut self, mut request: sys::ibv_send_wr) -> Result<()> {
        let mut bad = std::ptr::null_mut();
        // SAFETY: a slot in the request was handed over, and its pool outlives the QP; shared memory is
        // out of the device's reach before it is freed; leased memory counts the request, and is out of
        // the device's reach when the lease has ended. The request itself is only read during the call.
        let answer =
            unsafe { sys::inline::ibv_post_send(self.inner.ptr.as_ptr(), &mut request, &mut bad) };
        check("ibv_post_send", &self.inner.pd.context.name, answer)
    }
}

/// A signalled send request.
fn request(id: u64, opcode: u32, sge: &mut [sys::ibv_sge]) -> sys::ibv_send_wr {
    // SAFETY: the request is plain data, for which zero is valid.
    let mut request: sys::ibv_send_wr = unsafe { std::mem::zeroed() };
    request.wr_id = id;
    request.opcode = opcode;
    request.send_flags = sys::IBV_SEND_SIGNALED;
    request.num_sge = sge.len() as i32;
    request.sg_list = sge.as_mut_ptr();
    request
}

/// A signalled datagram.
fn datagram(
    id: u64,
    sge: &mut [sys::ibv_sge],
    to: &AddressHandle,
    (qpn, qkey): (u32, u32),
) -> sys::ibv_send_wr {
    let mut request = request(id, sys::IBV_WR_SEND, sge);
    request.wr.ud.ah = to.inner.ptr.as_ptr();
    request.wr.ud.remote_qpn = qpn;
    request.wr.ud.remote_qkey = qkey;
    request
}
