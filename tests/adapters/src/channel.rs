//! Event channels of the connection manager, to which imagined events can come.
//!
//! The program gets a channel whose descriptor is an epoll set of the real one's and of a timer. Events that are held back,
//! or that never were, wait here until they are due.

use crate::adapter::{adapter, errno};
use crate::{ids, real};
use libc::{c_int, c_void};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use verbcast_sys::{
    rdma_cm_event, rdma_cm_event_type, rdma_cm_id, rdma_event_channel, rdma_port_space,
};

/// An event that the program is to be told of when it is due.
struct Pending {
    due: Instant,
    event: *mut rdma_cm_event,
}

// SAFETY: an event belongs to who holds it.
unsafe impl Send for Pending {}

/// A channel, under the address that the program knows.
struct Channel {
    /// What the program sees.
    shown: Box<rdma_event_channel>,
    real: *mut rdma_event_channel,
    _epoll: OwnedFd,
    timer: OwnedFd,
    pending: Mutex<Vec<Pending>>,
}

// SAFETY: librdmacm's channels are thread-safe, and the rest is behind a lock or never changes.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

/// By the address that the program knows.
static CHANNELS: Mutex<Option<HashMap<usize, Arc<Channel>>>> = Mutex::new(None);
/// Events that were made here.
static MADE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known(channel: *mut rdma_event_channel) -> Option<Arc<Channel>> {
    lock(&CHANNELS).as_ref()?.get(&channel.addr()).cloned()
}

/// The library's channel behind one that the program knows.
fn real_channel(channel: *mut rdma_event_channel) -> *mut rdma_event_channel {
    known(channel).map_or(channel, |known| known.real)
}

impl Channel {
    fn new(real: *mut rdma_event_channel) -> std::io::Result<Channel> {
        let owned = |descriptor: c_int| match descriptor {
            -1 => Err(std::io::Error::last_os_error()),
            // SAFETY: made by the call before, and nobody else's.
            _ => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        };
        // SAFETY: these take no memory.
        let (epoll, timer) = unsafe {
            (
                owned(libc::epoll_create1(libc::EPOLL_CLOEXEC))?,
                owned(libc::timerfd_create(
                    libc::CLOCK_MONOTONIC,
                    libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
                ))?,
            )
        };
        // SAFETY: the channel is live; its descriptor must not block, as others may take its events.
        unsafe {
            let real_fd = (*real).fd;
            libc::fcntl(
                real_fd,
                libc::F_SETFL,
                libc::fcntl(real_fd, libc::F_GETFL) | libc::O_NONBLOCK,
            );
            for descriptor in [real_fd, timer.as_raw_fd()] {
                let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
                libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event);
            }
        }
        let shown = Box::new(rdma_event_channel { fd: epoll.as_raw_fd() });
        Ok(Channel { shown, real, _epoll: epoll, timer, pending: Mutex::default() })
    }

    /// Tells the program of an event later.
    fn hold(&self, pending: Pending) {
        let mut held = lock(&self.pending);
        held.push(pending);
        self.set_timer(&held);
    }

    /// The first event that is due.
    fn due(&self) -> Option<*mut rdma_cm_event> {
        let mut held = lock(&self.pending);
        let now = Instant::now();
        let first = held.iter().position(|pending| pending.due <= now)?;
        let event = held.remove(first).event;
        self.set_timer(&held);
        Some(event)
    }

    /// Makes the descriptor readable when the next event is due, and not before.
    fn set_timer(&self, held: &[Pending]) {
        let left = held.iter().map(|pending| pending.due).min().map(|due| {
            // A timer of zero never ends.
            due.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1))
        });
        let left = left.unwrap_or_default();
        let value = libc::timespec {
            tv_sec: left.as_secs() as libc::time_t,
            tv_nsec: left.subsec_nanos().into(),
        };
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::itimerspec { it_interval: none, it_value: value };
        // SAFETY: the timer is open, and the value valid.
        unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), 0, &raw const value, std::ptr::null_mut())
        };
    }

    /// Takes what the library has to tell.
    fn take_real(&self) {
        let mut event = std::ptr::null_mut();
        // SAFETY: the channel is live, its descriptor does not block, and an event is valid until it is acknowledged.
        unsafe {
            while real::rdma_get_cm_event(self.real, &raw mut event) == 0 {
                let due = Instant::now() + ids::imitate(event);
                self.hold(Pending { due, event });
            }
        }
    }

    fn blocks(&self) -> bool {
        // SAFETY: the descriptor is open.
        unsafe { libc::fcntl(self.shown.fd, libc::F_GETFL) & libc::O_NONBLOCK == 0 }
    }

    fn wait(&self) {
        let mut fd = libc::pollfd { fd: self.shown.fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&raw mut fd, 1, -1) };
    }
}

/// Nobody will be told of what has happened to `id`: the library waits for its events to be acknowledged.
pub fn forget(id: *mut rdma_cm_id) {
    let held: Vec<_> = lock(&CHANNELS).iter().flat_map(HashMap::values).cloned().collect();
    for channel in held {
        channel.take_real();
        let mut pending = lock(&channel.pending);
        // SAFETY: a held event is not yet acknowledged.
        let gone: Vec<_> =
            pending.extract_if(.., |pending| unsafe { (*pending.event).id } == id).collect();
        channel.set_timer(&pending);
        drop(pending);
        for Pending { event, .. } in gone {
            // SAFETY: as above.
            unsafe { rdma_ack_cm_event(event) };
        }
    }
}

/// Tells the program of something that has happened to `id`, after a while.
///
/// # Safety
/// `id` is live.
pub unsafe fn report(
    id: *mut rdma_cm_id,
    (event, status): (rdma_cm_event_type, c_int),
    context: *mut c_void,
    after: Duration,
) {
    // SAFETY: an event is numbers and pointers, for which zero is valid.
    let mut made: Box<rdma_cm_event> = unsafe { Box::new(std::mem::zeroed()) };
    made.id = id;
    made.event = event;
    made.status = status;
    made.param.ud.private_data = context;
    let event = Box::into_raw(made);
    lock(&MADE).push(event.addr());
    // SAFETY: the caller says that it is live.
    let real = unsafe { (*id).channel };
    let channels = lock(&CHANNELS);
    let found = channels.iter().flat_map(HashMap::values).find(|channel| channel.real == real);
    if let Some(channel) = found {
        channel.hold(Pending { due: Instant::now() + after, event });
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_create_event_channel() -> *mut rdma_event_channel {
    // SAFETY: the call has no condition.
    let real = unsafe { real::rdma_create_event_channel() };
    if adapter().is_none() || real.is_null() {
        return real;
    }
    match Channel::new(real) {
        Ok(channel) => {
            let shown = std::ptr::from_ref(&*channel.shown).cast_mut();
            lock(&CHANNELS).get_or_insert_default().insert(shown.addr(), Arc::new(channel));
            shown
        }
        Err(error) => crate::adapter::die(&format!("no descriptor for an event channel: {error}")),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_destroy_event_channel(channel: *mut rdma_event_channel) {
    let known = lock(&CHANNELS).get_or_insert_default().remove(&channel.addr());
    // SAFETY: the caller's promise.
    unsafe { real::rdma_destroy_event_channel(known.map_or(channel, |known| known.real)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_create_id(
    channel: *mut rdma_event_channel,
    id: *mut *mut rdma_cm_id,
    context: *mut c_void,
    space: rdma_port_space,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { real::rdma_create_id(real_channel(channel), id, context, space) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_migrate_id(
    id: *mut rdma_cm_id,
    channel: *mut rdma_event_channel,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { real::rdma_migrate_id(id, real_channel(channel)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_get_cm_event(
    channel: *mut rdma_event_channel,
    event: *mut *mut rdma_cm_event,
) -> c_int {
    let Some(known) = known(channel) else {
        // SAFETY: the caller's promise.
        return unsafe { real::rdma_get_cm_event(channel, event) };
    };
    loop {
        known.take_real();
        if let Some(due) = known.due() {
            // SAFETY: the caller's promise.
            unsafe { *event = due };
            return 0;
        }
        if !known.blocks() {
            errno(libc::EAGAIN);
            return -1;
        }
        known.wait();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rdma_ack_cm_event(event: *mut rdma_cm_event) -> c_int {
    let mut made = lock(&MADE);
    if let Some(at) = made.iter().position(|made| *made == event.addr()) {
        made.swap_remove(at);
        // SAFETY: it was made here, and is acknowledged once.
        drop(unsafe { Box::from_raw(event) });
        return 0;
    }
    drop(made);
    // SAFETY: the caller's promise.
    unsafe { real::rdma_ack_cm_event(event) }
}
