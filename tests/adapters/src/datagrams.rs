//! What queue pairs of datagrams receive.
//!
//! The program's receives wait here, and for each of them one of the same depth is posted into memory of our own. A
//! datagram that comes is copied to the first receive of the program's; or lost, and then its memory is posted again. So
//! the program's receives complete in their order, whatever is lost.

use crate::adapter::{Adapter, adapter};
use crate::context::{device_of, is_port_up, opened};
use crate::happening::{age, count_datagram};
use crate::profile::{OwnCopies, TooLong};
use crate::route::has_grh;
use crate::{groups, qp, real};
use libc::c_int;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verbcast_sys::*;

/// The GRH, and the largest datagram.
const SLOT_LEN: usize = 40 + 4096;
const GRH_LEN: usize = 40;
/// Where SoftRoCE leaves the sender's address: in the IPv4 header at the end of the GRH's place.
const SOURCE: Range<usize> = 32..36;
/// Where it leaves what the datagram was sent to.
const DESTINATION: Range<usize> = 36..40;
/// What may be in front of the IPv4 header: it begins as a GRH does.
const SPOILT: [u8; 20] = [0x6a; 20];
/// Marks the requests that are posted here.
const MARK: u64 = 0xada9_7e50_0000_0000;

/// A receive of the program's.
struct Request {
    id: u64,
    parts: Vec<ibv_sge>,
}

struct Inner {
    memory: Box<[u8]>,
    mr: *mut ibv_mr,
    /// Slots that nothing is received into.
    free: Vec<u32>,
    waiting: VecDeque<Request>,
}

/// A UD queue pair.
struct Datagrams {
    qp: *mut ibv_qp,
    inner: Mutex<Inner>,
    /// It is in the error state. SoftRoCE ends only those receives by itself that were posted before.
    has_failed: AtomicBool,
}

// SAFETY: verbs are thread-safe, and the memory is behind a lock.
unsafe impl Send for Datagrams {}
// SAFETY: as above.
unsafe impl Sync for Datagrams {}

/// By the queue pair's address.
static QPS: Mutex<Option<HashMap<usize, Arc<Datagrams>>>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known(qp: *mut ibv_qp) -> Option<Arc<Datagrams>> {
    lock(&QPS).as_ref()?.get(&qp.addr()).cloned()
}

/// A UD queue pair was made that receives so many datagrams at a time.
///
/// # Safety
/// It is live.
pub unsafe fn adopt(pd: *mut ibv_pd, qp: *mut ibv_qp, depth: u32) {
    let mut memory = vec![0; depth as usize * SLOT_LEN].into_boxed_slice();
    let access = IBV_ACCESS_LOCAL_WRITE as c_int;
    // SAFETY: the domain is live, and the memory is kept as long as the region.
    let mr = unsafe { real::ibv_reg_mr(pd, memory.as_mut_ptr().cast(), memory.len(), access) };
    if mr.is_null() {
        crate::adapter::die("there is no locked memory for what an imitated adapter receives");
    }
    let inner = Inner { memory, mr, free: (0..depth).collect(), waiting: VecDeque::new() };
    let made =
        Arc::new(Datagrams { qp, inner: Mutex::new(inner), has_failed: AtomicBool::new(false) });
    lock(&QPS).get_or_insert_default().insert(qp.addr(), made);
}

/// The queue pair is gone.
pub fn forget(qp: *mut ibv_qp) {
    let gone = lock(&QPS).get_or_insert_default().remove(&qp.addr());
    if let Some(gone) = gone {
        // SAFETY: nothing is received into the region any more.
        unsafe { real::ibv_dereg_mr(lock(&gone.inner).mr) };
    }
}

/// The queue pair is in the error state.
pub fn note_failed(qp: *mut ibv_qp) {
    if let Some(known) = known(qp) {
        known.has_failed.store(true, Ordering::Relaxed);
    }
}

/// The queue pair was reset: its requests are gone without a completion.
pub fn reset(qp: *mut ibv_qp) {
    if let Some(known) = known(qp) {
        known.has_failed.store(false, Ordering::Relaxed);
        let mut inner = lock(&known.inner);
        inner.waiting.clear();
        inner.free = (0..(inner.memory.len() / SLOT_LEN) as u32).collect();
    }
}

/// Every queue pair fails; their addresses.
pub fn fail_all() -> Vec<usize> {
    let all: Vec<_> = lock(&QPS).iter().flat_map(HashMap::values).cloned().collect();
    for datagrams in &all {
        qp::fail(datagrams.qp);
    }
    all.iter().map(|datagrams| datagrams.qp.addr()).collect()
}

impl Datagrams {
    /// Posts a receive into one of the free slots.
    fn post(&self, inner: &mut Inner) -> c_int {
        let Some(slot) = inner.free.pop() else { return libc::ENOMEM };
        // SAFETY: the QP and the region are live, and the slot is in it.
        unsafe {
            let context = (*self.qp).context;
            let post = opened(context).and_then(|opened| opened.operations.post_recv);
            let addr = inner.memory.as_ptr().addr() + slot as usize * SLOT_LEN;
            let lkey = (*inner.mr).lkey;
            let mut part = ibv_sge { addr: addr as u64, length: SLOT_LEN as u32, lkey };
            let mut request: ibv_recv_wr = std::mem::zeroed();
            request.wr_id = MARK | u64::from(slot);
            request.sg_list = &raw mut part;
            request.num_sge = 1;
            let mut bad = null_mut();
            post.map_or(libc::EOPNOTSUPP, |post| post(self.qp, &raw mut request, &raw mut bad))
        }
    }

    /// Makes a completion of ours one of the program's; false if it is to hear nothing of it.
    fn deliver(&self, adapter: &Adapter, wc: &mut ibv_wc) -> bool {
        let mut inner = lock(&self.inner);
        let slot = (wc.wr_id & !MARK) as u32;
        inner.free.push(slot);
        let begin = slot as usize * SLOT_LEN;
        if wc.status == IBV_WC_SUCCESS {
            count_datagram(&adapter.profile.happenings);
            if self.loses(adapter, wc, &inner.memory[begin..begin + GRH_LEN]) {
                return self.lose(&mut inner, wc);
            }
        }
        let Some(Request { id, parts }) = inner.waiting.pop_front() else { return false };
        wc.wr_id = id;
        if wc.status != IBV_WC_SUCCESS {
            return true;
        }
        let room: usize = parts.iter().map(|part| part.length as usize).sum();
        let len = wc.byte_len as usize;
        if len > room {
            return match adapter.profile.too_long {
                TooLong::Lost => {
                    inner.waiting.push_front(Request { id, parts });
                    self.lose(&mut inner, wc)
                }
                TooLong::Error => {
                    wc.status = IBV_WC_LOC_LEN_ERR;
                    qp::fail(self.qp);
                    true
                }
            };
        }
        let front = &mut inner.memory[begin..begin + GRH_LEN];
        let mut untouched = 0;
        if adapter.profile.is_infiniband && !has_grh(front) {
            wc.wc_flags &= !IBV_WC_GRH;
            untouched = GRH_LEN;
        }
        self.imitate_front(adapter, front);
        let mut bytes = &inner.memory[begin..begin + len];
        for part in &parts {
            let (now, later) = bytes.split_at(bytes.len().min(part.length as usize));
            let (_, written) = now.split_at(now.len().min(untouched));
            untouched -= now.len() - written.len();
            let start = part.addr as usize + now.len() - written.len();
            // SAFETY: the program has given this memory for the device to write to.
            unsafe {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(start);
                std::ptr::copy_nonoverlapping(written.as_ptr(), to, written.len());
            }
            bytes = later;
        }
        true
    }

    /// A datagram is lost: its receive waits for another one, or is flushed if the QP has failed. Whether the program is to
    /// hear of it.
    fn lose(&self, inner: &mut Inner, wc: &mut ibv_wc) -> bool {
        if !self.has_failed.load(Ordering::Relaxed) {
            self.post(inner);
            return false;
        }
        let Some(Request { id, .. }) = inner.waiting.pop_front() else { return false };
        (wc.wr_id, wc.status) = (id, IBV_WC_WR_FLUSH_ERR);
        true
    }

    /// Makes of what SoftRoCE leaves in front of a datagram what the adapter does.
    fn imitate_front(&self, adapter: &Adapter, front: &mut [u8]) {
        if adapter.profile.spoils_ipv4_front {
            front[..SPOILT.len()].copy_from_slice(&SPOILT);
        }
        if !adapter.profile.is_infiniband {
            return;
        }
        let devices = &adapter.node.devices;
        let port = |ipv4: &[u8]| devices.iter().find(|device| device.ipv4.octets() == *ipv4);
        let gid = |ipv4: &[u8]| port(ipv4).map(|device| device.gid);
        let from = gid(&front[SOURCE]);
        let to =
            groups::group_of(self.qp, &front[DESTINATION]).or_else(|| gid(&front[DESTINATION]));
        front.copy_from_slice(&grh(from.unwrap_or_default(), to.unwrap_or_default()));
    }

    /// Whether a datagram does not come on this adapter.
    fn loses(&self, adapter: &Adapter, wc: &ibv_wc, grh: &[u8]) -> bool {
        let profile = &adapter.profile;
        // SAFETY: the QP is live.
        let (own, device) = unsafe { ((*self.qp).qp_num, device_of(adapter, (*self.qp).context)) };
        let Some(device) = device else { return true };
        let is_from_here = grh[SOURCE] == device.ipv4.octets();
        let keeps_away = match profile.own_copies {
            OwnCopies::All => false,
            OwnCopies::Others => is_from_here && wc.src_qp == own,
            OwnCopies::Away => is_from_here && is_multicast(&grh[DESTINATION]),
        };
        let len = wc.byte_len.saturating_sub(GRH_LEN as u32);
        let most = [profile.path_mtu, profile.mtu(device.index)];
        keeps_away
            || !is_port_up()
            || most.into_iter().flatten().any(|most| len > most)
            || age() < profile.deaf_for
    }
}

/// A GRH (InfiniBand Architecture Specification, volume 1, section 8.3), without the length.
fn grh(from: [u8; 16], to: [u8; 16]) -> [u8; GRH_LEN] {
    let mut grh = [0; GRH_LEN];
    // The version, the next header (the BTH) and the hop limit.
    (grh[0], grh[6], grh[7]) = (0x60, 0x1b, 64);
    grh[8..24].copy_from_slice(&from);
    grh[24..].copy_from_slice(&to);
    grh
}

/// Whether an IPv4 address is a group's: its first four bits say so.
fn is_multicast(ipv4: &[u8]) -> bool {
    ipv4.first().is_some_and(|byte| byte >> 4 == 0xe)
}

/// Takes receives of the program's.
///
/// # Safety
/// As of the provider's.
pub unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    first: *mut ibv_recv_wr,
    bad: *mut *mut ibv_recv_wr,
) -> c_int {
    let Some(known) = known(qp) else {
        // SAFETY: the caller's promise.
        return unsafe {
            let post = opened((*qp).context).and_then(|opened| opened.operations.post_recv);
            post.map_or(libc::EOPNOTSUPP, |post| post(qp, first, bad))
        };
    };
    let mut inner = lock(&known.inner);
    let mut next = first;
    // SAFETY: the caller's promise: a list of requests, each with its parts.
    unsafe {
        while let Some(request) = next.as_ref() {
            let answer = known.post(&mut inner);
            if answer != 0 {
                *bad = next;
                return answer;
            }
            let parts = match request.num_sge {
                0 => Vec::new(),
                count => std::slice::from_raw_parts(request.sg_list, count as usize).to_vec(),
            };
            inner.waiting.push_back(Request { id: request.wr_id, parts });
            next = request.next;
        }
    }
    0
}

/// Takes completions, without those that the program is to hear nothing of.
///
/// # Safety
/// As of the provider's.
pub unsafe extern "C" fn poll_cq(cq: *mut ibv_cq, count: c_int, into: *mut ibv_wc) -> c_int {
    // SAFETY: the queue is live.
    let context = unsafe { (*cq).context };
    let Some(poll) = opened(context).and_then(|opened| opened.operations.poll_cq) else {
        return -libc::EOPNOTSUPP;
    };
    let Some(adapter) = adapter() else { return -libc::EOPNOTSUPP };
    loop {
        // SAFETY: the caller's promise.
        let polled = unsafe { poll(cq, count, into) };
        if polled <= 0 {
            return polled;
        }
        // SAFETY: so many were written.
        let batch = unsafe { std::slice::from_raw_parts_mut(into, polled as usize) };
        let mut kept = 0;
        for index in 0..batch.len() {
            let mut wc = batch[index];
            if is_for_the_program(adapter, context, &mut wc) {
                batch[kept] = wc;
                kept += 1;
            }
        }
        // None of them does not mean that the queue is empty.
        if kept > 0 {
            return kept as c_int;
        }
    }
}

fn is_for_the_program(adapter: &Adapter, context: *mut ibv_context, wc: &mut ibv_wc) -> bool {
    if wc.wr_id & !u64::from(u32::MAX) != MARK {
        return true;
    }
    let number = wc.qp_num;
    let found = {
        let qps = lock(&QPS);
        // SAFETY: the QPs are live.
        let is_it = |one: &&Arc<Datagrams>| unsafe {
            (*one.qp).qp_num == number && (*one.qp).context == context
        };
        qps.iter().flat_map(HashMap::values).find(is_it).cloned()
    };
    // What was flushed of a QP that is gone concerns nobody.
    found.is_some_and(|found| found.deliver(adapter, wc))
}
