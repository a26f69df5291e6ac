//! Opened devices: the operations that headers call without a symbol are replaced in them, and events of the device can be
//! imagined.

use crate::adapter::{Adapter, adapter, errno};
use crate::node::Device;
use crate::{datagrams, happening, port, real};
use libc::c_int;
use std::collections::{HashMap, VecDeque};
use std::ffi::CStr;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verbcast_sys::*;

/// The provider's operations that are replaced.
#[derive(Clone, Copy, Default)]
pub struct Operations {
    pub query_port:
        Option<unsafe extern "C" fn(*mut ibv_context, u8, *mut ibv_port_attr, usize) -> c_int>,
    pub post_recv:
        Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
    pub poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
}

/// An opened device.
pub struct Opened {
    pub operations: Operations,
    events: Option<Events>,
}

/// Events of a device, real and imagined, behind one descriptor.
struct Events {
    real: c_int,
    epoll: OwnedFd,
    /// An eventfd that counts what is in `imagined`.
    bell: OwnedFd,
    imagined: Mutex<VecDeque<Event>>,
}

#[derive(Clone, Copy)]
struct Event(ibv_async_event);

// SAFETY: an event is a number and a pointer that nobody follows here.
unsafe impl Send for Event {}

/// What an event names.
#[derive(Clone, Copy)]
pub enum Element {
    Port(c_int),
    /// The address of a queue pair.
    Qp(usize),
}

static OPEN: Mutex<Option<HashMap<usize, Arc<Opened>>>> = Mutex::new(None);
/// Imagined events that the program has not acknowledged, by what they name.
static TOLD: Mutex<Vec<(ibv_event_type, usize)>> = Mutex::new(Vec::new());
static IS_PORT_DOWN: AtomicBool = AtomicBool::new(false);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of a device that the program has opened.
pub fn opened(context: *mut ibv_context) -> Option<Arc<Opened>> {
    lock(&OPEN).as_ref()?.get(&context.addr()).cloned()
}

/// The link of the port comes up, or goes down.
pub fn set_port_up(is_up: bool) {
    IS_PORT_DOWN.store(!is_up, Ordering::Relaxed);
}

pub fn is_port_up() -> bool {
    !IS_PORT_DOWN.load(Ordering::Relaxed)
}

/// Tells of something at every opened device.
pub fn tell(kind: ibv_event_type, element: Element) {
    // SAFETY: an event is numbers and a pointer, for which zero is valid.
    let mut event: ibv_async_event = unsafe { zeroed() };
    event.event_type = kind;
    match element {
        Element::Port(number) => event.element.port_num = number,
        Element::Qp(address) => event.element.qp = address as *mut ibv_qp,
    }
    for opened in lock(&OPEN).iter().flat_map(HashMap::values) {
        let Some(events) = &opened.events else { continue };
        lock(&events.imagined).push_back(Event(event));
        let one = 1_u64.to_ne_bytes();
        // SAFETY: the eventfd is open, and takes eight bytes.
        unsafe { libc::write(events.bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

/// The device of a context.
///
/// # Safety
/// `context` is live.
pub unsafe fn device_of(adapter: &Adapter, context: *mut ibv_context) -> Option<&Device> {
    // SAFETY: a live context names its device, whose name is a C string.
    let name = unsafe { CStr::from_ptr(real::ibv_get_device_name((*context).device)) };
    adapter.node.named(&name.to_string_lossy())
}

impl Events {
    fn new(real: c_int) -> Events {
        // SAFETY: these take no memory but the event, and make descriptors of our own.
        unsafe {
            let epoll = OwnedFd::from_raw_fd(libc::epoll_create1(libc::EPOLL_CLOEXEC));
            let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE;
            let bell = OwnedFd::from_raw_fd(libc::eventfd(0, flags));
            for descriptor in [real, bell.as_raw_fd()] {
                let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
                libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event);
            }
            Events { real, epoll, bell, imagined: Mutex::default() }
        }
    }

    fn take(&self) -> Option<Event> {
        let event = lock(&self.imagined).pop_front()?;
        let mut count = [0; 8];
        // SAFETY: the eventfd is open, and gives eight bytes.
        unsafe { libc::read(self.bell.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        Some(event)
    }
}

/// Calls with the library's own descriptor in the context, which it hands to the kernel with every queue that it makes.
///
/// # Safety
/// `context` is live.
pub unsafe fn with_own_descriptor<T>(context: *mut ibv_context, call: impl FnOnce() -> T) -> T {
    let known = opened(context);
    let events = known.as_ref().and_then(|known| known.events.as_ref());
    let set = |descriptor: c_int| {
        // SAFETY: the caller's promise.
        unsafe { (*context).async_fd = descriptor }
    };
    events.inspect(|events| set(events.real));
    let answer = call();
    events.inspect(|events| set(events.epoll.as_raw_fd()));
    answer
}

/// Waits for a descriptor to be readable; for ever if `timeout` is -1.
fn is_readable(descriptor: c_int, timeout: c_int) -> bool {
    let mut fd = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor, which is open.
    unsafe { libc::poll(&raw mut fd, 1, timeout) == 1 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_open_device(device: *mut ibv_device) -> *mut ibv_context {
    // SAFETY: the caller's promise.
    let context = unsafe { real::ibv_open_device(device) };
    let Some(adapter) = adapter().filter(|_| !context.is_null()) else { return context };
    let mut operations = Operations::default();
    let mut events = None;
    // SAFETY: the context was opened above, and nobody else knows it yet.
    unsafe {
        let extended = verbs_get_ctx(context);
        let reach = size_of::<verbs_context>() - offset_of!(verbs_context, query_port);
        if !extended.is_null() && (*extended).sz >= reach {
            operations.query_port = (*extended).query_port.replace(port::query_port);
        }
        if adapter.profile.meddles_with_datagrams() {
            operations.post_recv = (*context).ops.post_recv.replace(datagrams::post_recv);
            operations.poll_cq = (*context).ops.poll_cq.replace(datagrams::poll_cq);
        }
        if !adapter.profile.happenings.is_empty() {
            let made = Events::new((*context).async_fd);
            (*context).async_fd = made.epoll.as_raw_fd();
            events = Some(made);
        }
    }
    let opened = Arc::new(Opened { operations, events });
    lock(&OPEN).get_or_insert_default().insert(context.addr(), opened);
    happening::begin(&adapter.profile.happenings);
    context
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_close_device(context: *mut ibv_context) -> c_int {
    let opened = adapter().and_then(|_| lock(&OPEN).as_mut()?.remove(&context.addr()));
    if let Some(events) = opened.as_ref().and_then(|opened| opened.events.as_ref()) {
        // SAFETY: the caller's promise; the library closes its own descriptor.
        unsafe { (*context).async_fd = events.real };
    }
    // SAFETY: the caller's promise.
    unsafe { real::ibv_close_device(context) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_get_async_event(
    context: *mut ibv_context,
    event: *mut ibv_async_event,
) -> c_int {
    let known = opened(context);
    let Some(events) = known.as_ref().and_then(|known| known.events.as_ref()) else {
        // SAFETY: the caller's promise.
        return unsafe { real::ibv_get_async_event(context, event) };
    };
    loop {
        if let Some(Event(imagined)) = events.take() {
            // SAFETY: the caller's promise; the element's largest member covers all others.
            unsafe {
                lock(&TOLD).push((imagined.event_type, imagined.element.qp.addr()));
                *event = imagined;
            }
            return 0;
        }
        // SAFETY: the caller's promise.
        unsafe {
            if is_readable(events.real, 0) {
                return with_own_descriptor(context, || real::ibv_get_async_event(context, event));
            }
            let flags = libc::fcntl(events.epoll.as_raw_fd(), libc::F_GETFL);
            if flags & libc::O_NONBLOCK != 0 {
                errno(libc::EAGAIN);
                return -1;
            }
        }
        is_readable(events.epoll.as_raw_fd(), -1);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ibv_ack_async_event(event: *mut ibv_async_event) {
    // SAFETY: the caller's promise; as above.
    let it = unsafe { ((*event).event_type, (*event).element.qp.addr()) };
    let mut told = lock(&TOLD);
    match told.iter().position(|told| *told == it) {
        Some(at) => drop(told.swap_remove(at)),
        None => {
            drop(told);
            // SAFETY: the caller's promise.
            unsafe { real::ibv_ack_async_event(event) }
        }
    }
}
