//! Work requests that are handed to a device together: one doorbell for all of them.

use super::address_handle;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use verbcast_sys as sys;

/// Most work requests that are handed over at once.
pub const MAX_TOGETHER: usize = 16;
/// Parts of a send: a slot, and leased memory.
pub(super) const SEND_PARTS: usize = 2;
/// Parts of a receive: the same, and more of the slot.
pub(super) const RECEIVE_PARTS: usize = 3;

/// A work request as the verbs have it: part of a chain.
pub(super) trait Request: Copy {
    /// What the provider reads besides while it takes the request.
    type Handle: Default;

    /// One that does nothing yet.
    fn new(id: u64) -> Self;

    /// Leads to its memory and to the next request, null for the last.
    fn link(&mut self, parts: *mut sys::ibv_sge, count: usize, next: *mut Self);
}

impl Request for sys::ibv_send_wr {
    type Handle = Option<Arc<address_handle::Inner>>;

    fn new(wr_id: u64) -> Self {
        // SAFETY: the request is plain data, for which zero is valid.
        Self { wr_id, ..unsafe { std::mem::zeroed() } }
    }

    /// Only the last of a chain is signalled.
    fn link(&mut self, parts: *mut sys::ibv_sge, count: usize, next: *mut Self) {
        (self.sg_list, self.num_sge, self.next) = (parts, count as i32, next);
        self.send_flags |= if next.is_null() { sys::IBV_SEND_SIGNALED } else { 0 };
    }
}

impl Request for sys::ibv_recv_wr {
    type Handle = ();

    #[inline]
    fn new(wr_id: u64) -> Self {
        Self { wr_id, next: ptr::null_mut(), sg_list: ptr::null_mut(), num_sge: 0 }
    }

    fn link(&mut self, parts: *mut sys::ibv_sge, count: usize, next: *mut Self) {
        (self.sg_list, self.num_sge, self.next) = (parts, count as i32, next);
    }
}

/// Requests that wait to be handed over.
pub(super) struct Batch<R: Request> {
    requests: [R; MAX_TOGETHER],
    /// Their scatter-gather entries, and how many each has.
    parts: [([sys::ibv_sge; RECEIVE_PARTS], usize); MAX_TOGETHER],
    /// What the provider reads while it takes the requests.
    handles: [R::Handle; MAX_TOGETHER],
    count: usize,
}

// SAFETY: its pointers lead to address handles that it holds, and to its own arrays once it is linked.
unsafe impl<R: Request> Send for Batch<R> {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl<R: Request> Sync for Batch<R> {}

impl<R: Request> fmt::Debug for Batch<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<R: Request> Batch<R> {
    pub fn new() -> Box<Self> {
        let (requests, parts) = ([R::new(0); MAX_TOGETHER], Default::default());
        Box::new(Batch { requests, parts, handles: Default::default(), count: 0 })
    }

    /// Whether one more would have no room.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count == MAX_TOGETHER
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a request for these parts of memory.
    ///
    /// # Panics
    /// If it is full, or there are too many parts.
    #[inline]
    pub fn push(&mut self, request: R, parts: &[sys::ibv_sge], handle: R::Handle) {
        let at = self.count;
        self.requests[at] = request;
        let (all, count) = &mut self.parts[at];
        assert!(parts.len() <= RECEIVE_PARTS, "{} parts", parts.len());
        // They are few: a call that copies would take longer.
        all.iter_mut().zip(parts).for_each(|(to, part)| *to = *part);
        *count = parts.len();
        self.handles[at] = handle;
        self.count += 1;
    }

    /// The first of the requests, which lead to each other; good until the batch is touched.
    pub fn link(&mut self) -> *mut R {
        let requests = self.requests.as_mut_ptr();
        for (at, (parts, count)) in self.parts[..self.count].iter_mut().enumerate() {
            let is_last = at + 1 == self.count;
            // SAFETY: `at`, and `at + 1` where it is not the last, are inside the array, which nobody else
            // touches.
            unsafe {
                let next = if is_last { ptr::null_mut() } else { requests.add(at + 1) };
                (*requests.add(at)).link(parts.as_mut_ptr(), *count, next);
            }
        }
        requests
    }

    /// Forgets the requests.
    pub fn clear(&mut self) {
        self.handles[..self.count].fill_with(R::Handle::default);
        self.count = 0;
    }
}

impl Batch<sys::ibv_send_wr> {
    /// Has the last request wake the receivers that sleep, if it is a send; what else there is wakes nobody.
    pub fn solicit(&mut self) {
        if let Some(last) = self.requests[..self.count].last_mut()
            && matches!(last.opcode, sys::IBV_WR_SEND | sys::IBV_WR_SEND_WITH_IMM)
        {
            last.send_flags |= sys::IBV_SEND_SOLICITED;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(addr: u64) -> sys::ibv_sge {
        sys::ibv_sge { addr, length: 1, lkey: 0 }
    }

    #[test]
    fn only_the_last_send_is_signalled() {
        let mut sends: Box<Batch<sys::ibv_send_wr>> = Batch::new();
        for round in 0..2 {
            for id in 0..3 {
                sends.push(Request::new(10 * round + id), &[part(id), part(100 + id)], None);
            }
            let mut at = sends.link();
            for id in 0..3 {
                // SAFETY: what was linked just now leads to three requests, each with two parts.
                let (request, parts) =
                    unsafe { (*at, std::slice::from_raw_parts((*at).sg_list, 2)) };
                assert_eq!((request.wr_id, request.num_sge), (10 * round + id, 2));
                assert_eq!((parts[0].addr, parts[1].addr), (id, 100 + id));
                assert_eq!(request.send_flags == sys::IBV_SEND_SIGNALED, id == 2);
                at = request.next;
            }
            assert!(at.is_null());
            sends.clear();
            assert!(sends.is_empty());
        }
    }

    #[test]
    fn only_a_send_that_is_the_last_is_solicited() {
        for (last, expected) in [(sys::IBV_WR_SEND, true), (sys::IBV_WR_RDMA_READ, false)] {
            let mut sends: Box<Batch<sys::ibv_send_wr>> = Batch::new();
            for opcode in [sys::IBV_WR_SEND, sys::IBV_WR_SEND, last] {
                let request = sys::ibv_send_wr { opcode, ..Request::new(0) };
                sends.push(request, &[part(0)], None);
            }
            sends.solicit();
            let is_solicited = |one: &sys::ibv_send_wr| one.send_flags == sys::IBV_SEND_SOLICITED;
            assert_eq!(sends.requests.map(|one| is_solicited(&one))[..3], [false, false, expected]);
        }
    }

    #[test]
    fn receives_lead_to_each_other() {
        let mut receives: Box<Batch<sys::ibv_recv_wr>> = Batch::new();
        for id in 0..MAX_TOGETHER as u64 {
            receives.push(Request::new(id), &[part(id)], ());
        }
        assert!(receives.is_full());
        let (mut at, mut ids) = (receives.link(), Vec::new());
        while !at.is_null() {
            // SAFETY: what was linked just now leads to requests with one part each.
            let (request, part) = unsafe { (*at, *(*at).sg_list) };
            assert_eq!(part.addr, request.wr_id);
            ids.push(request.wr_id);
            at = request.next;
        }
        assert_eq!(ids, (0..MAX_TOGETHER as u64).collect::<Vec<_>>());
    }
}
