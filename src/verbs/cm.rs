//! Membership in multicast groups through librdmacm, which asks InfiniBand's subnet administrator
//! or joins by IGMP on RoCE.

use super::context::set_nonblocking;
use super::error::{Error, Result, check};
use super::group_path::GroupPath;
use super::socket_address::SocketAddress;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use verbcast_sys as sys;

/// The group to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MulticastGroup {
    /// By an IP multicast address.
    Ip(IpAddr),
    /// By an MGID.
    Mgid([u8; 16]),
}

impl std::fmt::Display for MulticastGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MulticastGroup::Ip(address) => address.fmt(f),
            MulticastGroup::Mgid(mgid) => write!(f, "MGID {}", Ipv6Addr::from(*mgid)),
        }
    }
}

/// A membership in a multicast group; dropping it leaves.
#[derive(Debug)]
pub struct Membership {
    channel: NonNull<sys::rdma_event_channel>,
    id: NonNull<sys::rdma_cm_id>,
    group: Option<SocketAddress>,
}

// SAFETY: the channel and the id are used by this value alone.
unsafe impl Send for Membership {}
// SAFETY: nothing is done through a shared reference.
unsafe impl Sync for Membership {}

impl Drop for Membership {
    fn drop(&mut self) {
        // SAFETY: both are live and used by nobody else; every event was acknowledged.
        unsafe {
            if let Some(group) = &mut self.group {
                let answer = sys::rdma_leave_multicast(self.id.as_ptr(), group.as_ptr());
                super::log_failure(check("rdma_leave_multicast", "group", answer));
            }
            let answer = sys::rdma_destroy_id(self.id.as_ptr());
            super::log_failure(check("rdma_destroy_id", "group", answer));
            sys::rdma_destroy_event_channel(self.channel.as_ptr());
        }
    }
}

impl Membership {
    /// Joins `group` by the port whose network interface has the IP address `source`; at most for
    /// `patience`. On InfiniBand that is an IPoIB interface: the kernel takes the group's partition, service
    /// level and traffic class from it, and a port that is named by its GID cannot join.
    ///
    /// # Errors
    /// If the source is not an RDMA port's, or the fabric refuses or does not answer.
    pub fn join(
        source: SocketAddr,
        group: MulticastGroup,
        patience: Duration,
    ) -> Result<(Self, GroupPath)> {
        let deadline = Instant::now() + patience;
        let mut membership = Self::open()?;
        let id = membership.id.as_ptr();
        let mut own = SocketAddress::ip(source);
        // SAFETY: the id is live and the address valid during the call.
        let answer = unsafe { sys::rdma_bind_addr(id, own.as_ptr()) };
        check("rdma_bind_addr", &source.ip().to_string(), answer)?;
        let mut address = match group {
            MulticastGroup::Ip(address) => SocketAddress::ip(SocketAddr::new(address, 0)),
            MulticastGroup::Mgid(mgid) => SocketAddress::ib(mgid),
        };
        // SAFETY: the id is live and the address valid during the call.
        let answer =
            unsafe { sys::rdma_join_multicast(id, address.as_ptr(), std::ptr::null_mut()) };
        check("rdma_join_multicast", &group.to_string(), answer)?;
        let path = membership.joined(deadline, &group.to_string())?;
        membership.group = Some(address);
        Ok((membership, path))
    }

    /// The descriptor that becomes readable when there is [news](Self::take_end) of the membership.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel is live and its descriptor open as long.
        unsafe { BorrowedFd::borrow_raw((*self.channel.as_ptr()).fd) }
    }

    /// Why the membership has ended, if it has since this was last asked. Does not wait.
    pub fn take_end(&mut self) -> Option<String> {
        let mut event = std::ptr::null_mut();
        // SAFETY: the channel is live and does not block, and `event` is writable; the event is valid until it is
        // acknowledged, and copied before.
        let (kind, status) = unsafe {
            if sys::rdma_get_cm_event(self.channel.as_ptr(), &mut event) != 0 {
                return None;
            }
            let copy = ((*event).event, (*event).status);
            sys::rdma_ack_cm_event(event);
            copy
        };
        // SAFETY: the library returns a static C string for any number.
        let what = unsafe { CStr::from_ptr(sys::rdma_event_str(kind)) }.to_string_lossy();
        Some(match status {
            0 => what.into_owned(),
            _ => format!("{what}: {}", std::io::Error::from_raw_os_error(status.abs())),
        })
    }

    fn open() -> Result<Self> {
        // SAFETY: the call has no precondition.
        let channel = unsafe { sys::rdma_create_event_channel() };
        let channel = NonNull::new(channel).ok_or_else(|| {
            Error::last("rdma_create_event_channel", "this host")
                .with_hint("is the module rdma_ucm loaded, and /dev/infiniband/rdma_cm accessible?")
        })?;
        let mut id = std::ptr::null_mut();
        // SAFETY: the channel is live and `id` writable.
        let answer = unsafe {
            let port_space = sys::RDMA_PS_UDP;
            sys::rdma_create_id(channel.as_ptr(), &mut id, std::ptr::null_mut(), port_space)
        };
        let created = check("rdma_create_id", "this host", answer);
        match (created, NonNull::new(id)) {
            (Ok(()), Some(id)) => Ok(Membership { channel, id, group: None }),
            (created, _) => {
                // SAFETY: made above, and nothing uses it.
                unsafe { sys::rdma_destroy_event_channel(channel.as_ptr()) };
                Err(created.err().unwrap_or_else(|| Error::last("rdma_create_id", "this host")))
            }
        }
    }

    /// Waits for the answer to the join.
    fn joined(&self, deadline: Instant, group: &str) -> Result<GroupPath> {
        // SAFETY: the channel is live and its descriptor open as long.
        let fd = unsafe { BorrowedFd::borrow_raw((*self.channel.as_ptr()).fd) };
        let failed = |errno: i32| Error::new("rdma_join_multicast", group, errno);
        set_nonblocking(fd).map_err(|errno| failed(errno.raw_os_error()))?;
        loop {
            let mut event = std::ptr::null_mut();
            // SAFETY: the channel is live and `event` writable.
            if unsafe { sys::rdma_get_cm_event(self.channel.as_ptr(), &mut event) } == 0 {
                // SAFETY: the event is valid until it is acknowledged, and copied before.
                let (kind, status, param) = unsafe {
                    let copy = ((*event).event, (*event).status, (*event).param.ud);
                    sys::rdma_ack_cm_event(event);
                    copy
                };
                if kind == sys::RDMA_CM_EVENT_MULTICAST_JOIN {
                    return Ok(GroupPath::new(param.ah_attr, param.qkey));
                }
                // SAFETY: the library returns a static C string for any number.
                let what = unsafe { CStr::from_ptr(sys::rdma_event_str(kind)) };
                let errno = if status == 0 { libc::EIO } else { status.abs() };
                return Err(failed(errno).with_hint(what.to_string_lossy()));
            }
            let error = Error::last("rdma_get_cm_event", group);
            if ![libc::EAGAIN, libc::EINTR].contains(&error.errno()) {
                return Err(error);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(failed(libc::ETIMEDOUT));
            }
            let mut fds = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
            let timeout = rustix::event::Timespec::try_from(left).ok();
            match rustix::event::poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(failed(errno.raw_os_error())),
            }
        }
    }
}
