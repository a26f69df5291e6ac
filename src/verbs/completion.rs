//! Completion queues, and waiting for them.

use super::context::{self, Context};
use super::error::{Error, Result, check};
use std::ffi::CStr;
use std::fmt;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

#[derive(Debug)]
pub(super) struct Inner {
    pub ptr: NonNull<sys::ibv_cq>,
    channel: NonNull<sys::ibv_comp_channel>,
    context: Arc<context::Inner>,
}

// SAFETY: verbs on a completion queue are thread-safe.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: queue pairs that complete here hold this `Inner`, and every event was
        // acknowledged when it was taken; the channel goes after its only queue.
        unsafe {
            let answer = sys::ibv_destroy_cq(self.ptr.as_ptr());
            super::log_failure(check("ibv_destroy_cq", &self.context.name, answer));
            let answer = sys::ibv_destroy_comp_channel(self.channel.as_ptr());
            super::log_failure(check("ibv_destroy_comp_channel", &self.context.name, answer));
        }
    }
}

/// How a work request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well; for a receive, with this many bytes.
    Done(usize),
    /// Because its QP had failed before.
    Flushed,
    /// Badly, in the library's words.
    Failed(&'static str),
}

/// A work request that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that was given along.
    pub id: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The number that came along with what was received, if one did.
    pub immediate: Option<u32>,
    /// Where what was received well comes from, if that is a datagram.
    pub origin: Origin,
}

/// What a completion tells of where a datagram comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The QP that has sent it.
    pub qpn: u32,
    /// It has a GRH; where it has none, the 40 bytes in front of it are what they were before (ibv_post_recv(3)). On RoCE each has a
    /// network header there, and not every provider says so.
    pub has_grh: bool,
}

/// Which completions the channel tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// All.
    Any,
    /// Receives of what was sent solicited: each message and datagram to one process, and the last datagram to a group of
    /// each [burst](super::QueuePair::submit). Failures too, at adapters that do as the specification says; rxe does not
    /// tell of sends that fail.
    Solicited,
}

/// Completions that are taken from a queue at a time, at most.
pub const MAX_POLLED: usize = 16;

/// Completions that were taken together, in the order in which they came. Each is looked at where the device has written it.
pub struct Polled {
    entries: [sys::ibv_wc; MAX_POLLED],
    next: usize,
    /// How many the device has written.
    count: usize,
}

impl fmt::Debug for Polled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Polled").field("left", &self.len()).finish_non_exhaustive()
    }
}

impl Default for Polled {
    fn default() -> Self {
        Self::new()
    }
}

impl Polled {
    /// None.
    pub fn new() -> Self {
        // SAFETY: a completion is plain numbers, for which zero is valid. A device may write but a part of one.
        Polled { entries: unsafe { std::mem::zeroed() }, next: 0, count: 0 }
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.count - self.next
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.next == self.count
    }

    /// Takes the next one if it is as wanted.
    #[inline]
    pub fn next_if(&mut self, is_wanted: impl FnOnce(&Completion) -> bool) -> Option<Completion> {
        let completion = self.peek().filter(is_wanted)?;
        self.next += 1;
        Some(completion)
    }

    #[inline]
    fn peek(&self) -> Option<Completion> {
        let wc = self.entries[..self.count].get(self.next)?;
        let outcome = match wc.status {
            sys::IBV_WC_SUCCESS => Outcome::Done(wc.byte_len as usize),
            sys::IBV_WC_WR_FLUSH_ERR => Outcome::Flushed,
            status => Outcome::Failed(status_text(status)),
        };
        // Where it ended otherwise, nothing else in it is filled in (ibv_poll_cq(3)).
        let (immediate, origin) = match outcome {
            Outcome::Done(_) => (immediate(wc), origin(wc)),
            Outcome::Flushed | Outcome::Failed(_) => (None, Origin::default()),
        };
        Some(Completion { id: wc.wr_id, outcome, immediate, origin })
    }
}

impl Iterator for Polled {
    type Item = Completion;

    #[inline]
    fn next(&mut self) -> Option<Completion> {
        self.next_if(|_| true)
    }
}

/// What to do where completion queues stay as they were made.
const CANNOT_RESIZE: &str = "the adapter cannot resize completion queues, so that a process connects with no more \
    processes than its first communicator has: make the largest communicator first, or see whether newer firmware or a \
    newer rdma-core can";
/// What to do where the device does not take one so deep.
const TOO_DEEP: &str = "a process with fewer connections, or with a smaller VERBCAST_RING_DEPTH, needs less (max_completions \
    of `verbcast info --json` is the device's limit)";

/// A completion queue with a channel of its own. A clone is the same queue.
#[derive(Clone, Debug)]
pub struct CompletionQueue {
    pub(super) inner: Arc<Inner>,
}

impl CompletionQueue {
    /// Makes a queue for `depth` completions.
    ///
    /// # Errors
    /// If the device cannot.
    pub fn new(context: &Context, depth: u32) -> Result<Self> {
        let context = Arc::clone(&context.inner);
        let device = context.ptr.as_ptr();
        // SAFETY: the context is live.
        let channel = unsafe { sys::ibv_create_comp_channel(device) };
        let channel = NonNull::new(channel)
            .ok_or_else(|| Error::last("ibv_create_comp_channel", &*context.name))?;
        // SAFETY: the context and the channel are live; no context pointer is stored.
        let ptr = unsafe {
            sys::ibv_create_cq(device, depth as i32, std::ptr::null_mut(), channel.as_ptr(), 0)
        };
        let Some(ptr) = NonNull::new(ptr) else {
            let object = format!("{} ({depth} entries)", context.name);
            let error = Error::last("ibv_create_cq", object);
            // SAFETY: made above, and nothing uses it.
            unsafe { sys::ibv_destroy_comp_channel(channel.as_ptr()) };
            return Err(error);
        };
        let queue = CompletionQueue { inner: Arc::new(Inner { ptr, channel, context }) };
        context::set_nonblocking(queue.fd())
            .map_err(|errno| Error::new("fcntl", "completion channel", errno.raw_os_error()))?;
        Ok(queue)
    }

    /// Makes room for `depth` completions.
    ///
    /// # Errors
    /// If the device cannot.
    pub fn resize(&self, depth: u32) -> Result<()> {
        // SAFETY: the queue is live.
        let answer = unsafe { sys::ibv_resize_cq(self.inner.ptr.as_ptr(), depth as i32) };
        let object = || format!("{} ({depth} entries)", self.inner.context.name);
        check("ibv_resize_cq", &object(), answer).map_err(|error| {
            let hint = resize_hint(&error);
            error.with_hint(hint)
        })
    }

    /// Takes up to [`MAX_POLLED`] completions; whether there were any.
    ///
    /// # Errors
    /// If the queue overran or the device failed.
    pub fn poll(&self, each: impl FnMut(Completion)) -> Result<bool> {
        let mut polled = Polled::new();
        let any = self.poll_into(&mut polled)?;
        // By a reference: it is large, and would be copied for each look.
        polled.by_ref().for_each(each);
        Ok(any)
    }

    /// As [`poll`](Self::poll), into memory that is used again; completions that are left in it are forgotten.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    #[inline]
    pub fn poll_into(&self, polled: &mut Polled) -> Result<bool> {
        (polled.next, polled.count) = (0, 0);
        let (room, entries) = (MAX_POLLED as i32, polled.entries.as_mut_ptr());
        // SAFETY: the queue is live and there is the room told.
        let count = unsafe { sys::inline::ibv_poll_cq(self.inner.ptr.as_ptr(), room, entries) };
        polled.count = usize::try_from(count).map_err(|_| self.not_polled())?;
        Ok(count > 0)
    }

    /// Any negative number says that it failed, and no more.
    #[cold]
    fn not_polled(&self) -> Error {
        Error::new("ibv_poll_cq", &*self.inner.context.name, libc::EIO)
    }

    /// Asks for the channel to become readable at the next completion of the kind. One that came before is not
    /// told, so poll again before waiting.
    ///
    /// # Errors
    /// If the device failed.
    pub fn arm(&self, told: Told) -> Result<()> {
        let solicited_only = i32::from(told == Told::Solicited);
        // SAFETY: the queue is live.
        let answer =
            unsafe { sys::inline::ibv_req_notify_cq(self.inner.ptr.as_ptr(), solicited_only) };
        check("ibv_req_notify_cq", &self.inner.context.name, answer)
    }

    /// Takes the events off the channel.
    pub fn take_events(&self) {
        let mut queue = std::ptr::null_mut();
        let mut data = std::ptr::null_mut();
        // SAFETY: the channel is live and does not block; it serves this queue alone, whose event
        // is acknowledged at once.
        unsafe {
            while sys::ibv_get_cq_event(self.inner.channel.as_ptr(), &mut queue, &mut data) == 0 {
                sys::ibv_ack_cq_events(queue, 1);
            }
        }
    }

    /// The channel's descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is live and its descriptor open as long.
        unsafe { BorrowedFd::borrow_raw((*self.inner.channel.as_ptr()).fd) }
    }
}

/// What to do where a queue was not resized.
fn resize_hint(error: &Error) -> &'static str {
    let cannot = error.is_unsupported() || error.errno() == libc::ENOSYS;
    if cannot { CANNOT_RESIZE } else { TOO_DEEP }
}

#[inline]
fn immediate(wc: &sys::ibv_wc) -> Option<u32> {
    // rxe sets the flag for the sender too.
    let is_receive = wc.opcode & sys::IBV_WC_RECV != 0;
    let comes_along = is_receive && wc.wc_flags & sys::IBV_WC_WITH_IMM != 0;
    // SAFETY: every bit pattern of the union is a valid number.
    comes_along.then(|| u32::from_be(unsafe { wc.__bindgen_anon_1.imm_data }))
}

#[inline]
fn origin(wc: &sys::ibv_wc) -> Origin {
    Origin { qpn: wc.src_qp, has_grh: wc.wc_flags & sys::IBV_WC_GRH != 0 }
}

#[cold]
fn status_text(status: sys::ibv_wc_status) -> &'static str {
    // SAFETY: the library returns a static C string for any number.
    let text: &'static CStr = unsafe { CStr::from_ptr(sys::ibv_wc_status_str(status)) };
    text.to_str().unwrap_or("a status whose name is not text")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest is of whatever was polled into the same memory before.
    #[test]
    fn of_what_has_not_ended_well_nothing_is_told_but_that() {
        let mut polled = Polled::new();
        let (wc, imm_data) = (&mut polled.entries[0], 7_u32.to_be());
        (wc.wr_id, wc.status, wc.byte_len) = (5, sys::IBV_WC_SUCCESS, 100);
        (wc.opcode, wc.wc_flags, wc.src_qp) =
            (sys::IBV_WC_RECV, sys::IBV_WC_WITH_IMM | sys::IBV_WC_GRH, 77);
        wc.__bindgen_anon_1.imm_data = imm_data;
        polled.count = 1;
        let done = Completion {
            id: 5,
            outcome: Outcome::Done(100),
            immediate: Some(7),
            origin: Origin { qpn: 77, has_grh: true },
        };
        assert_eq!(polled.next(), Some(done));
        (polled.entries[0].wr_id, polled.entries[0].status) = (6, sys::IBV_WC_WR_FLUSH_ERR);
        polled.next = 0;
        let flushed = Completion {
            id: 6,
            outcome: Outcome::Flushed,
            immediate: None,
            origin: Origin::default(),
        };
        assert_eq!(polled.next(), Some(flushed));
        assert_eq!(polled.next(), None);
    }

    #[test]
    fn lower_depths_help_only_where_queues_can_be_resized() {
        let hint = |errno| resize_hint(&Error::new("ibv_resize_cq", "mlx5_0", errno));
        for cannot in [libc::ENOSYS, libc::EOPNOTSUPP] {
            assert_eq!(hint(cannot), CANNOT_RESIZE);
        }
        for too_deep in [libc::EINVAL, libc::ENOMEM] {
            assert_eq!(hint(too_deep), TOO_DEEP);
        }
    }
}
