//! Work requests that are handed to a device together: one doorbell for all of them.

use super::address_handle;
use std::array;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use verbcast_sys as sys;

/// Most work requests that are handed over at once.
pub const MOST_TOGETHER: usize = 8;
/// Parts of a request: a slot, and leased memory.
pub(super) const MOST_PARTS: usize = 2;

/// The memory of a request: its scatter-gather entries, the unused ones empty.
type Parts = [sys::ibv_sge; MOST_PARTS];

/// Send requests that wait to be handed over. Only the last of them is signalled.
pub(super) struct Sends {
    requests: [sys::ibv_send_wr; MOST_TOGETHER],
    parts: [Parts; MOST_TOGETHER],
    /// What the providers read while they take the requests.
    handles: [Option<Arc<address_handle::Inner>>; MOST_TOGETHER],
    count: usize,
}

// SAFETY: its pointers lead to address handles that it holds, and to its own arrays once it is linked.
unsafe impl Send for Sends {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Sends {}

impl fmt::Debug for Sends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sends").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Sends {
    pub fn new() -> Box<Self> {
        // SAFETY: requests and their parts are plain data, for which zero is valid.
        let (requests, parts) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        Box::new(Sends { requests, parts, handles: array::from_fn(|_| None), count: 0 })
    }

    /// Whether one more would have no room.
    pub fn is_full(&self) -> bool {
        self.count == MOST_TOGETHER
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a request, which reads from or writes to these parts of memory.
    ///
    /// # Panics
    /// If it is full, or there are too many parts.
    pub fn push(
        &mut self,
        request: sys::ibv_send_wr,
        parts: &[sys::ibv_sge],
        handle: Option<Arc<address_handle::Inner>>,
    ) {
        let at = self.count;
        self.requests[at] = request;
        self.requests[at].num_sge = parts.len() as i32;
        self.parts[at][..parts.len()].copy_from_slice(parts);
        self.handles[at] = handle;
        self.count += 1;
    }

    /// The first of the requests, which lead to each other; good until the batch is touched.
    pub fn link(&mut self) -> *mut sys::ibv_send_wr {
        let (requests, parts) = (self.requests.as_mut_ptr(), self.parts.as_mut_ptr());
        for at in 0..self.count {
            let is_last = at + 1 == self.count;
            // SAFETY: `at`, and `at + 1` where it is not the last, are inside both arrays, which nobody else
            // touches.
            unsafe {
                let request = &mut *requests.add(at);
                request.sg_list = parts.add(at).cast();
                request.next = if is_last { ptr::null_mut() } else { requests.add(at + 1) };
                request.send_flags |= if is_last { sys::IBV_SEND_SIGNALED } else { 0 };
            }
        }
        requests
    }

    /// Forgets the requests.
    pub fn clear(&mut self) {
        self.handles[..self.count].fill(None);
        self.count = 0;
    }
}

/// Receive requests that wait to be handed over.
#[derive(Debug)]
pub(super) struct Receives {
    requests: [sys::ibv_recv_wr; MOST_TOGETHER],
    parts: [Parts; MOST_TOGETHER],
    count: usize,
}

// SAFETY: its pointers lead to its own arrays.
unsafe impl Send for Receives {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Receives {}

impl Receives {
    pub fn new() -> Box<Self> {
        // SAFETY: requests and their parts are plain data, for which zero is valid.
        let (requests, parts) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        Box::new(Receives { requests, parts, count: 0 })
    }

    /// Whether one more would have no room.
    pub fn is_full(&self) -> bool {
        self.count == MOST_TOGETHER
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a request into these parts of memory.
    ///
    /// # Panics
    /// If it is full, or there are too many parts.
    pub fn push(&mut self, id: u64, parts: &[sys::ibv_sge]) {
        let at = self.count;
        self.requests[at].wr_id = id;
        self.requests[at].num_sge = parts.len() as i32;
        self.parts[at][..parts.len()].copy_from_slice(parts);
        self.count += 1;
    }

    /// The first of the requests, which lead to each other; good until the batch is touched.
    pub fn link(&mut self) -> *mut sys::ibv_recv_wr {
        let (requests, parts) = (self.requests.as_mut_ptr(), self.parts.as_mut_ptr());
        for at in 0..self.count {
            let is_last = at + 1 == self.count;
            // SAFETY: `at`, and `at + 1` where it is not the last, are inside both arrays, which nobody else
            // touches.
            unsafe {
                let request = &mut *requests.add(at);
                request.sg_list = parts.add(at).cast();
                request.next = if is_last { ptr::null_mut() } else { requests.add(at + 1) };
            }
        }
        requests
    }

    /// Forgets the requests.
    pub fn clear(&mut self) {
        self.count = 0;
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
        let mut sends = Sends::new();
        for round in 0..2 {
            for id in 0..3 {
                // SAFETY: the request is plain data, for which zero is valid.
                let mut request: sys::ibv_send_wr = unsafe { std::mem::zeroed() };
                request.wr_id = 10 * round + id;
                sends.push(request, &[part(id), part(100 + id)], None);
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
    fn receives_lead_to_each_other() {
        let mut receives = Receives::new();
        (0..MOST_TOGETHER as u64).for_each(|id| receives.push(id, &[part(id)]));
        assert!(receives.is_full());
        let (mut at, mut ids) = (receives.link(), Vec::new());
        while !at.is_null() {
            // SAFETY: what was linked just now leads to requests with one part each.
            let (request, part) = unsafe { (*at, *(*at).sg_list) };
            assert_eq!(part.addr, request.wr_id);
            ids.push(request.wr_id);
            at = request.next;
        }
        assert_eq!(ids, (0..MOST_TOGETHER as u64).collect::<Vec<_>>());
    }
}
