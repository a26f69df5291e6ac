//! Membership in multicast groups through librdmacm, which asks InfiniBand's subnet administrator
//! or joins by IGMP on RoCE.

use super::address_handle::{AddressHandle, PathTo};
use super::context::set_nonblocking;
use super::error::{Error, Result, check};
use super::pd::ProtectionDomain;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use verbcast_sys as sys;

/// The port that joins, by an address of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// By an IP address of its network interface.
    Ip(SocketAddr),
    /// By its GID.
    Gid([u8; 16]),
}

/// The group to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MulticastGroup {
    /// By an IP multicast address.
    Ip(SocketAddr),
    /// By an MGID.
    Mgid([u8; 16]),
}

/// What the fabric answered to a join: where datagrams to the group go.
#[derive(Clone, Copy)]
pub struct GroupPath {
    attributes: sys::ibv_ah_attr,
    /// The Q_Key of the group's datagrams.
    pub qkey: u32,
}

impl std::fmt::Debug for GroupPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GroupPath {{ mgid: {:x?}, mlid: {} }}", self.mgid(), self.mlid())
    }
}

impl GroupPath {
    /// The way to a group that was joined by other means than librdmacm.
    pub fn direct(path: &PathTo, qkey: u32) -> Self {
        GroupPath { attributes: path.attributes(), qkey }
    }

    /// The group's MGID.
    pub fn mgid(&self) -> [u8; 16] {
        // SAFETY: every bit pattern of the union is a valid array of bytes.
        unsafe { self.attributes.grh.dgid.raw }
    }

    /// The group's MLID; 0 on Ethernet, 0xc000 and above on InfiniBand.
    pub fn mlid(&self) -> u16 {
        self.attributes.dlid
    }

    /// The way to the group.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn handle(&self, domain: &ProtectionDomain) -> Result<AddressHandle> {
        AddressHandle::from_attributes(domain, self.attributes, || "multicast group".to_owned())
    }
}

/// A membership in a multicast group; dropping it leaves.
#[derive(Debug)]
pub struct Membership {
    channel: NonNull<sys::rdma_event_channel>,
    id: NonNull<sys::rdma_cm_id>,
    group: Option<Address>,
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
    /// Joins `group` by the port of `source`; at most for `patience`.
    ///
    /// # Errors
    /// If the source is no RDMA port's, or the fabric refuses or does not answer.
    pub fn join(
        source: Source,
        group: MulticastGroup,
        patience: Duration,
    ) -> Result<(Self, GroupPath)> {
        let deadline = Instant::now() + patience;
        let mut membership = Self::open()?;
        let id = membership.id.as_ptr();
        let mut own = Address::of_source(source);
        // SAFETY: the id is live and the address valid during the call.
        let answer = unsafe { sys::rdma_bind_addr(id, own.as_ptr()) };
        check("rdma_bind_addr", &format!("{source:?}"), answer)?;
        let mut address = Address::of_group(group);
        // SAFETY: the id is live and the address valid during the call.
        let answer =
            unsafe { sys::rdma_join_multicast(id, address.as_ptr(), std::ptr::null_mut()) };
        check("rdma_join_multicast", &format!("{group:?}"), answer)?;
        let path = membership.joined(deadline, &format!("{group:?}"))?;
        membership.group = Some(address);
        Ok((membership, path))
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
                    return Ok(GroupPath { attributes: param.ah_attr, qkey: param.qkey });
                }
                // SAFETY: the library returns a static C string for any number.
                let what = unsafe { CStr::from_ptr(sys::rdma_event_str(kind)) };
                let errno = if status == 0 { libc::EIO } else { status.abs() };
                return Err(failed(errno).with_hint(what.to_string_lossy()));
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

/// A socket address as C wants it.
#[derive(Clone, Copy)]
enum Address {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
    Ib(sys::sockaddr_ib),
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address")
    }
}

impl Address {
    fn of_source(source: Source) -> Self {
        match source {
            Source::Ip(address) => Address::ip(address),
            Source::Gid(gid) => Address::ib(gid),
        }
    }

    fn of_group(group: MulticastGroup) -> Self {
        match group {
            MulticastGroup::Ip(address) => Address::ip(address),
            MulticastGroup::Mgid(mgid) => Address::ib(mgid),
        }
    }

    fn ip(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Address::V4(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Address::V6(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    fn ib(gid: [u8; 16]) -> Self {
        // SAFETY: the address is plain numbers, for which zero is valid.
        let mut address: sys::sockaddr_ib = unsafe { std::mem::zeroed() };
        address.sib_family = sys::AF_IB as u16;
        address.sib_pkey = 0xffff_u16.to_be();
        // A service of the UDP port space, with a port of the kernel's choice.
        address.sib_sid = (u64::from(sys::RDMA_PS_UDP) << 16).to_be();
        address.sib_sid_mask = (!0xffff_u64).to_be();
        // SAFETY: both are sixteen bytes of plain data.
        address.sib_addr = unsafe { std::mem::transmute::<[u8; 16], sys::ib_addr>(gid) };
        Address::Ib(address)
    }

    fn as_ptr(&mut self) -> *mut libc::sockaddr {
        match self {
            Address::V4(address) => std::ptr::from_mut(address).cast(),
            Address::V6(address) => std::ptr::from_mut(address).cast(),
            Address::Ib(address) => std::ptr::from_mut(address).cast(),
        }
    }
}
