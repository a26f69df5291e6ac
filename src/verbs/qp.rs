//! Queue pairs: unreliable datagrams (UD) and reliable connections (RC).

use super::address_handle::PathTo;
use super::batch::{Batch, RECEIVE_PARTS, SEND_PARTS};
use super::completion::{self, CompletionQueue};
use super::error::{Error, Result, check};
use super::partition::PortPartition;
use super::pd::{self, ProtectionDomain};
use super::pool::{self, Pool};
use super::srq::{self, SharedReceiveQueue};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;
use verbcast_sys as sys;

/// RNR timer code 14: 1.28 ms between attempts while the receiver has no buffer posted
/// (InfiniBand Architecture Specification, table "Encoding for RNR NAK Timer Field").
const MIN_RNR_TIMER: u8 = 14;
/// Seven means for ever: a busy peer is not a dead one.
const RNR_RETRY: u8 = 7;
/// The most that the field holds. SoftRoCE (`rdma_rxe`) takes it for ever.
const MAX_RETRIES: u8 = 7;
/// Bytes that are sent inline at most, where the device can: taken with the request, so that the device need not
/// fetch them.
pub const MAX_INLINE: usize = 192;
/// What is tried where a device refuses that: irdma sends up to 101 bytes inline, or 48 (`irdma_uk` in rdma-core), and
/// some devices none.
const INLINE: [u32; 4] = [MAX_INLINE as u32, 96, 48, 0];
/// The most that ends everywhere.
const LIMITED_RETRIES: u8 = 6;

#[derive(Debug)]
pub(super) struct Inner {
    pub ptr: NonNull<sys::ibv_qp>,
    pub pd: Arc<pd::Inner>,
    pub sends: Arc<pool::Inner>,
    pub receives: Option<Arc<pool::Inner>>,
    /// Memory of RDMA reads.
    pub reads: Option<Arc<pool::Inner>>,
    /// Bytes that are sent inline at most.
    pub inline: usize,
    _cq: Arc<completion::Inner>,
    _srq: Option<Arc<srq::Inner>>,
}

// SAFETY: verbs on a queue pair are thread-safe.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Inner {
    pub fn name(&self) -> String {
        // SAFETY: the QP is live.
        format!("{} QP {}", self.pd.context.name, unsafe { (*self.ptr.as_ptr()).qp_num })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let name = self.name();
        // SAFETY: attachments hold this `Inner`, so none is left.
        let answer = unsafe { sys::ibv_destroy_qp(self.ptr.as_ptr()) };
        super::log_failure(check("ibv_destroy_qp", &name, answer));
    }
}

/// One end of a reliable connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// QP number.
    pub qpn: u32,
    /// First packet sequence number that it sends, 24 bits.
    pub psn: u32,
}

/// How long a reliable connection tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    exponent: u8,
    retries: u8,
}

impl Patience {
    /// The least patience that is at least about `total` over all seven attempts: an attempt takes
    /// 4.096 µs · 2ⁿ.
    pub fn at_least(total: Duration) -> Self {
        let attempts = u128::from(LIMITED_RETRIES) + 1;
        let attempt = total.as_nanos() / attempts;
        let exponent = (1..31).find(|n| 4096_u128 << n >= attempt).unwrap_or(31);
        Patience { exponent, retries: LIMITED_RETRIES }
    }

    /// The same pause between attempts, and as many of them as the device knows.
    pub fn with_most_retries(self) -> Self {
        Patience { retries: MAX_RETRIES, ..self }
    }
}

/// A queue pair.
///
/// Work requests wait in it until they are handed to the device together, by [`submit`](Self::submit) or
/// when there are [`MAX_TOGETHER`](super::MAX_TOGETHER). Of sends that are handed over together only the last
/// one completes by itself, or one that fails: requests of one send queue end in their order, so that
/// a completion tells of all before it.
#[derive(Debug)]
pub struct QueuePair {
    pub(super) inner: Arc<Inner>,
    pub(super) sends: Box<Batch<sys::ibv_send_wr>>,
    pub(super) receives: Box<Batch<sys::ibv_recv_wr>>,
}

impl QueuePair {
    /// A UD QP that sends from and receives into slots of these pools, and completes in `cq`. Its
    /// depths say how many requests may be outstanding.
    ///
    /// # Errors
    /// If the device cannot.
    pub fn datagram(
        domain: &ProtectionDomain,
        cq: &CompletionQueue,
        (sends, send_depth): (&Pool, u32),
        (receives, receive_depth): (&Pool, u32),
    ) -> Result<Self> {
        // SAFETY: the attributes are plain data, for which zero is valid.
        let mut init: sys::ibv_qp_init_attr = unsafe { std::mem::zeroed() };
        init.qp_type = sys::IBV_QPT_UD;
        init.cap.max_send_wr = send_depth;
        init.cap.max_recv_wr = receive_depth;
        init.cap.max_recv_sge = RECEIVE_PARTS as u32;
        Self::new(domain, cq, (sends, Some(receives), None), None, init)
    }

    /// An RC QP that sends from slots of `sends`, reads by RDMA into slots of `reads`, receives
    /// through `srq` and completes in `cq`. Up to `send_depth` requests may be outstanding.
    ///
    /// # Errors
    /// If the device cannot.
    pub fn connection(
        domain: &ProtectionDomain,
        cq: &CompletionQueue,
        (sends, reads): (&Pool, &Pool),
        send_depth: u32,
        srq: &SharedReceiveQueue,
    ) -> Result<Self> {
        // SAFETY: the attributes are plain data, for which zero is valid.
        let mut init: sys::ibv_qp_init_attr = unsafe { std::mem::zeroed() };
        init.qp_type = sys::IBV_QPT_RC;
        init.cap.max_send_wr = send_depth;
        init.srq = srq.inner.ptr.as_ptr();
        Self::new(domain, cq, (sends, None, Some(reads)), Some(srq), init)
    }

    fn new(
        domain: &ProtectionDomain,
        cq: &CompletionQueue,
        (sends, receives, reads): (&Pool, Option<&Pool>, Option<&Pool>),
        srq: Option<&SharedReceiveQueue>,
        mut init: sys::ibv_qp_init_attr,
    ) -> Result<Self> {
        let pd = Arc::clone(&domain.inner);
        init.send_cq = cq.inner.ptr.as_ptr();
        init.recv_cq = cq.inner.ptr.as_ptr();
        init.cap.max_send_sge = SEND_PARTS as u32;
        let mut create = |inline| {
            init.cap.max_inline_data = inline;
            // SAFETY: the domain and all queues named in `init` are live.
            NonNull::new(unsafe { sys::ibv_create_qp(pd.ptr.as_ptr(), &mut init) })
        };
        // A device that cannot send so much inline may refuse, and gives no less by itself.
        let ptr = INLINE.into_iter().find_map(&mut create);
        let ptr = ptr.ok_or_else(|| Error::last("ibv_create_qp", &*pd.context.name))?;
        let inner = Arc::new(Inner {
            ptr,
            pd,
            sends: Arc::clone(&sends.inner),
            receives: receives.map(|pool| Arc::clone(&pool.inner)),
            reads: reads.map(|pool| Arc::clone(&pool.inner)),
            inline: MAX_INLINE.min(init.cap.max_inline_data as usize),
            _cq: Arc::clone(&cq.inner),
            _srq: srq.map(|srq| Arc::clone(&srq.inner)),
        });
        Ok(QueuePair { inner, sends: Batch::new(), receives: Batch::new() })
    }

    /// The QP number.
    pub fn number(&self) -> u32 {
        // SAFETY: the QP is live.
        unsafe { (*self.inner.ptr.as_ptr()).qp_num }
    }

    /// Bytes that are sent inline at most.
    pub fn max_inline(&self) -> usize {
        self.inner.inline
    }

    /// Makes a UD QP send and receive in a partition, under `qkey`.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn ready_datagrams(&mut self, at: PortPartition, qkey: u32) -> Result<()> {
        let mut attr = attributes();
        attr.qp_state = sys::IBV_QPS_INIT;
        attr.port_num = at.port;
        attr.pkey_index = at.pkey_index;
        attr.qkey = qkey;
        let init = sys::IBV_QP_STATE | sys::IBV_QP_PKEY_INDEX | sys::IBV_QP_PORT | sys::IBV_QP_QKEY;
        self.modify(&mut attr, init)?;
        attr.qp_state = sys::IBV_QPS_RTR;
        self.modify(&mut attr, sys::IBV_QP_STATE)?;
        attr.qp_state = sys::IBV_QPS_RTS;
        self.modify(&mut attr, sys::IBV_QP_STATE | sys::IBV_QP_SQ_PSN)
    }

    /// Changes the Q_Key of a UD QP that is ready.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn set_qkey(&mut self, qkey: u32) -> Result<()> {
        let mut attr = attributes();
        attr.qkey = qkey;
        self.modify(&mut attr, sys::IBV_QP_QKEY)
    }

    /// Binds an RC QP to a port and a partition, so that it can be [connected](Self::connect).
    ///
    /// # Errors
    /// If the device refuses.
    pub fn bind(&mut self, at: PortPartition) -> Result<()> {
        let mut attr = attributes();
        attr.qp_state = sys::IBV_QPS_INIT;
        attr.port_num = at.port;
        attr.pkey_index = at.pkey_index;
        let mask = sys::IBV_QP_STATE
            | sys::IBV_QP_PKEY_INDEX
            | sys::IBV_QP_PORT
            | sys::IBV_QP_ACCESS_FLAGS;
        attr.qp_access_flags = (sys::IBV_ACCESS_REMOTE_WRITE | sys::IBV_ACCESS_REMOTE_READ) as _;
        self.modify(&mut attr, mask)
    }

    /// Connects an RC QP with the other end. Up to `reads` RDMA reads of each side are served at a
    /// time; further ones wait in the send queue.
    ///
    /// # Errors
    /// If the device refuses, for instance because the other end's address cannot be resolved.
    pub fn connect(
        &mut self,
        path: &PathTo,
        mtu: usize,
        own_psn: u32,
        other: End,
        patience: Patience,
        reads: u8,
    ) -> Result<()> {
        let mut attr = attributes();
        attr.qp_state = sys::IBV_QPS_RTR;
        attr.path_mtu = (mtu / 128).ilog2();
        attr.dest_qp_num = other.qpn;
        attr.rq_psn = other.psn;
        attr.min_rnr_timer = MIN_RNR_TIMER;
        attr.max_dest_rd_atomic = reads;
        attr.max_rd_atomic = reads;
        attr.ah_attr = path.attributes();
        let mask = sys::IBV_QP_STATE
            | sys::IBV_QP_AV
            | sys::IBV_QP_PATH_MTU
            | sys::IBV_QP_DEST_QPN
            | sys::IBV_QP_RQ_PSN
            | sys::IBV_QP_MAX_DEST_RD_ATOMIC
            | sys::IBV_QP_MIN_RNR_TIMER;
        self.modify(&mut attr, mask)?;
        attr.qp_state = sys::IBV_QPS_RTS;
        attr.sq_psn = own_psn;
        attr.timeout = patience.exponent;
        attr.retry_cnt = patience.retries;
        attr.rnr_retry = RNR_RETRY;
        let mask = sys::IBV_QP_STATE
            | sys::IBV_QP_SQ_PSN
            | sys::IBV_QP_TIMEOUT
            | sys::IBV_QP_RETRY_CNT
            | sys::IBV_QP_RNR_RETRY
            | sys::IBV_QP_MAX_QP_RD_ATOMIC;
        self.modify(&mut attr, mask)
    }

    /// Ends all requests that are outstanding or come later: they are flushed.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn give_up(&mut self) -> Result<()> {
        let mut attr = attributes();
        attr.qp_state = sys::IBV_QPS_ERR;
        self.modify(&mut attr, sys::IBV_QP_STATE)
    }

    /// Makes a QP as new, once all its requests have ended. Its attachments to groups stay.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn reset(&mut self) -> Result<()> {
        let mut attr = attributes();
        attr.qp_state = sys::IBV_QPS_RESET;
        self.modify(&mut attr, sys::IBV_QP_STATE)
    }

    fn modify(&mut self, attr: &mut sys::ibv_qp_attr, mask: u32) -> Result<()> {
        // SAFETY: the QP is live and the attributes named by the mask are set.
        let answer = unsafe { sys::ibv_modify_qp(self.inner.ptr.as_ptr(), attr, mask as i32) };
        check("ibv_modify_qp", &self.inner.name(), answer)
    }
}

fn attributes() -> sys::ibv_qp_attr {
    // SAFETY: the attributes are plain numbers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_covers_what_was_asked() {
        for (total, exponent) in
            [(Duration::ZERO, 1), (Duration::from_secs(2), 17), (Duration::from_secs(1 << 20), 31)]
        {
            assert_eq!(Patience::at_least(total).exponent, exponent, "{total:?}");
        }
    }
}
