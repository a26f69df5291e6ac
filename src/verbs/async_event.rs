//! What a device tells of itself, outside any work request.

use super::context::{Context, set_nonblocking};
use super::error::{Error, Result};
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use verbcast_sys as sys;

/// Something happened to a device outside any work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsyncEvent {
    /// What, in the library's words.
    pub what: String,
    /// What it concerns.
    pub kind: AsyncKind,
}

/// What an [`AsyncEvent`] concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsyncKind {
    /// The device, or a queue that all of it shares: nothing works any more.
    Fatal,
    /// A port, by its number from 1.
    Port(u8, PortChange),
    /// The queue pair of this number has failed.
    QueuePair(u32),
    /// Something else, which needs no answer.
    Other,
}

/// What has changed at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChange {
    /// Its link went down.
    Down,
    /// Its link is up and configured.
    Up,
    /// Its LID.
    Lid,
    /// An entry of its GID table.
    Gid,
    /// An entry of its P_Key table.
    Pkey,
    /// The subnet manager that is in charge.
    SubnetManager,
    /// The subnet manager asks for all subscriptions and memberships anew.
    Reregister,
}

impl AsyncKind {
    /// What an event concerns.
    ///
    /// # Safety
    /// The event was told by the library, and not acknowledged yet.
    unsafe fn of(event: &sys::ibv_async_event) -> Self {
        let change = match event.event_type {
            sys::IBV_EVENT_DEVICE_FATAL | sys::IBV_EVENT_CQ_ERR | sys::IBV_EVENT_SRQ_ERR => {
                return AsyncKind::Fatal;
            }
            sys::IBV_EVENT_QP_FATAL | sys::IBV_EVENT_QP_REQ_ERR | sys::IBV_EVENT_QP_ACCESS_ERR => {
                // SAFETY: these events name a queue pair, which cannot be destroyed before they are acknowledged.
                return AsyncKind::QueuePair(unsafe { (*event.element.qp).qp_num });
            }
            sys::IBV_EVENT_PORT_ERR => PortChange::Down,
            sys::IBV_EVENT_PORT_ACTIVE => PortChange::Up,
            sys::IBV_EVENT_LID_CHANGE => PortChange::Lid,
            sys::IBV_EVENT_GID_CHANGE => PortChange::Gid,
            sys::IBV_EVENT_PKEY_CHANGE => PortChange::Pkey,
            sys::IBV_EVENT_SM_CHANGE => PortChange::SubnetManager,
            sys::IBV_EVENT_CLIENT_REREGISTER => PortChange::Reregister,
            _ => return AsyncKind::Other,
        };
        // SAFETY: these events name a port.
        AsyncKind::Port(unsafe { event.element.port_num } as u8, change)
    }
}

impl Context {
    /// The descriptor that becomes readable when there is an [`AsyncEvent`]; none where the context
    /// is the program's own, and so are its events.
    pub fn async_fd(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the context is live and its descriptor open as long.
        let fd = unsafe { BorrowedFd::borrow_raw((*self.inner.ptr.as_ptr()).async_fd) };
        self.inner.is_owned.then_some(fd)
    }

    /// Takes the next event if one is there. Does not wait after
    /// [`unblock_async_events`](Self::unblock_async_events).
    pub fn take_async_event(&self) -> Option<AsyncEvent> {
        self.async_fd()?;
        // SAFETY: an event is plain data, for which zero is valid.
        let mut event: sys::ibv_async_event = unsafe { std::mem::zeroed() };
        // SAFETY: the context is live and `event` writable; the event is acknowledged at once, so
        // that destroying what it names cannot wait for it.
        let kind = unsafe {
            if sys::ibv_get_async_event(self.inner.ptr.as_ptr(), &mut event) != 0 {
                return None;
            }
            let kind = AsyncKind::of(&event);
            sys::ibv_ack_async_event(&mut event);
            kind
        };
        // SAFETY: the library returns a static C string for any number.
        let what = unsafe { CStr::from_ptr(sys::ibv_event_type_str(event.event_type)) };
        Some(AsyncEvent { what: what.to_string_lossy().into_owned(), kind })
    }

    /// Makes [`take_async_event`](Self::take_async_event) return at once where there is none.
    ///
    /// # Errors
    /// If the descriptor's flags cannot be set.
    pub fn unblock_async_events(&self) -> Result<()> {
        let Some(fd) = self.async_fd() else { return Ok(()) };
        set_nonblocking(fd).map_err(|errno| Error::new("fcntl", self.name(), errno.raw_os_error()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(event_type: sys::ibv_event_type, port_num: i32) -> AsyncKind {
        let element = sys::ibv_async_event__bindgen_ty_1 { port_num };
        // SAFETY: no event that names a queue pair is asked for.
        unsafe { AsyncKind::of(&sys::ibv_async_event { element, event_type }) }
    }

    #[test]
    fn an_event_tells_what_it_concerns() {
        let down = kind_of(sys::IBV_EVENT_PORT_ERR, 2);
        assert_eq!(down, AsyncKind::Port(2, PortChange::Down));
        let asked = kind_of(sys::IBV_EVENT_CLIENT_REREGISTER, 1);
        assert_eq!(asked, AsyncKind::Port(1, PortChange::Reregister));
        assert_eq!(kind_of(sys::IBV_EVENT_DEVICE_FATAL, 0), AsyncKind::Fatal);
        assert_eq!(kind_of(sys::IBV_EVENT_SRQ_LIMIT_REACHED, 0), AsyncKind::Other);
    }

    #[test]
    fn a_failed_queue_pair_is_named() {
        // SAFETY: a queue pair is plain data, for which zero is valid.
        let mut qp: sys::ibv_qp = unsafe { std::mem::zeroed() };
        qp.qp_num = 77;
        let element = sys::ibv_async_event__bindgen_ty_1 { qp: &mut qp };
        let event = sys::ibv_async_event { element, event_type: sys::IBV_EVENT_QP_FATAL };
        // SAFETY: the queue pair is live.
        assert_eq!(unsafe { AsyncKind::of(&event) }, AsyncKind::QueuePair(77));
    }
}
