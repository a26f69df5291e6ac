//! An open device.

use super::error::{Result, check};
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

#[derive(Debug)]
pub(super) struct Inner {
    pub ptr: NonNull<sys::ibv_context>,
    pub name: String,
    pub is_owned: bool,
}

// SAFETY: verbs on a context are thread-safe.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.is_owned {
            // SAFETY: this was opened for us and everything made from it holds this `Inner`.
            let answer = unsafe { sys::ibv_close_device(self.ptr.as_ptr()) };
            super::log_failure(check("ibv_close_device", &self.name, answer));
        }
    }
}

/// An open device. A clone is the same one.
#[derive(Clone, Debug)]
pub struct Context {
    pub(super) inner: Arc<Inner>,
}

/// What a port's link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// InfiniBand, with LIDs and a subnet manager.
    InfiniBand,
    /// Ethernet.
    Ethernet,
    /// The provider does not say, as that of Amazon's EFA.
    Unspecified,
}

/// What a device speaks, whatever its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// InfiniBand's transport: on Ethernet, that is RoCE.
    InfiniBand,
    /// iWARP: connections over TCP, without datagrams.
    Iwarp,
    /// Cisco's usNIC: datagrams alone.
    Usnic,
    /// The vendor's own, as of Amazon's EFA.
    Unspecified,
}

/// A port's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its number, from 1.
    pub number: u8,
    /// Whether the link is up and configured.
    pub is_active: bool,
    /// What its link is.
    pub link_layer: LinkLayer,
    /// Largest packet payload in bytes.
    pub mtu: usize,
    /// Its active rate in Mb/s, over all lanes; none where the provider tells a code that nobody here knows.
    pub rate: Option<u32>,
    /// Its LID; 0 on Ethernet.
    pub lid: u16,
    /// Entries of its GID table, filled or not.
    pub gid_table_len: u32,
}

/// What a device says of itself, with the names of ibv_query_device(3).
pub type DeviceAttributes = sys::ibv_device_attr;

impl Context {
    pub(super) fn owned(ptr: NonNull<sys::ibv_context>, name: String) -> Self {
        Context { inner: Arc::new(Inner { ptr, name, is_owned: true }) }
    }

    /// Uses a context that the caller has opened, and will close.
    ///
    /// # Safety
    /// `ptr` is a live context and stays open while this value, or anything made from it, lives.
    pub unsafe fn from_raw(ptr: NonNull<sys::ibv_context>) -> Self {
        // SAFETY: a live context names its device, which has a name.
        let name = unsafe { CStr::from_ptr(sys::ibv_get_device_name((*ptr.as_ptr()).device)) };
        let name = name.to_string_lossy().into_owned();
        Context { inner: Arc::new(Inner { ptr, name, is_owned: false }) }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What the device speaks.
    pub fn protocol(&self) -> Protocol {
        // SAFETY: a live context names its device, which lives as long.
        unsafe { protocol_of((*self.inner.ptr.as_ptr()).device) }
    }

    /// The device's limits.
    ///
    /// # Errors
    /// If the provider cannot tell.
    pub fn limits(&self) -> Result<DeviceAttributes> {
        // SAFETY: the attributes are plain numbers, for which zero is valid.
        let mut attr: sys::ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is live and `attr` writable.
        let answer = unsafe { sys::ibv_query_device(self.inner.ptr.as_ptr(), &mut attr) };
        check("ibv_query_device", self.name(), answer)?;
        Ok(attr)
    }

    /// A port's state.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn port(&self, number: u8) -> Result<Port> {
        // SAFETY: the attributes are plain numbers, for which zero is valid.
        let mut attr: sys::ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is live and `attr` writable.
        let answer =
            unsafe { sys::inline::ibv_query_port(self.inner.ptr.as_ptr(), number, &mut attr) };
        check("ibv_query_port", &format!("{} port {number}", self.name()), answer)?;
        Ok(Port {
            number,
            is_active: attr.state == sys::IBV_PORT_ACTIVE,
            link_layer: link_layer(attr.link_layer, self.protocol()),
            // IBV_MTU_256 is 1, and each step doubles.
            mtu: 128 << attr.active_mtu,
            rate: rate(attr.active_width, attr.active_speed),
            lid: attr.lid,
            gid_table_len: attr.gid_tbl_len.try_into().unwrap_or(0),
        })
    }
}

/// What a device speaks.
///
/// # Safety
/// The device is in a live list, or of a live context.
pub(super) unsafe fn protocol_of(device: *const sys::ibv_device) -> Protocol {
    // SAFETY: promised by the caller.
    match unsafe { (*device).transport_type } {
        sys::IBV_TRANSPORT_IB => Protocol::InfiniBand,
        sys::IBV_TRANSPORT_IWARP => Protocol::Iwarp,
        sys::IBV_TRANSPORT_USNIC | sys::IBV_TRANSPORT_USNIC_UDP => Protocol::Usnic,
        _ => Protocol::Unspecified,
    }
}

fn link_layer(code: u8, protocol: Protocol) -> LinkLayer {
    match (u32::from(code), protocol) {
        (sys::IBV_LINK_LAYER_ETHERNET, _) => LinkLayer::Ethernet,
        // To those that speak InfiniBand, a link layer that is not told means that (ibv_query_port(3)).
        (sys::IBV_LINK_LAYER_INFINIBAND, _) | (_, Protocol::InfiniBand) => LinkLayer::InfiniBand,
        _ => LinkLayer::Unspecified,
    }
}

/// Mb/s of a link of this width and speed, with what the kernel calls a lane's rate
/// (`ib_port_attr_to_speed_info` and `rate_show` in drivers/infiniband/core).
fn rate(width: u8, speed: u8) -> Option<u32> {
    let lanes = match width {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => return None,
    };
    let lane = match speed {
        1 => 2_500,
        2 => 5_000,
        4 | 8 => 10_000,
        16 => 14_000,
        32 => 25_000,
        64 => 50_000,
        128 => 100_000,
        _ => return None,
    };
    Some(lanes * lane)
}

pub(super) fn set_nonblocking(fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_lanes_times_speed() {
        for (width, speed, expected) in [
            (2, 128, Some(400_000)),
            (2, 64, Some(200_000)),
            (1, 32, Some(25_000)),
            (16, 64, Some(100_000)),
            (8, 4, Some(120_000)),
            (2, 0, None),
            (0, 32, None),
        ] {
            assert_eq!(rate(width, speed), expected, "width {width}, speed {speed}");
        }
    }

    #[test]
    fn a_link_layer_that_is_not_told_is_infiniband_only_for_those_that_speak_it() {
        for (code, protocol, expected) in [
            (0, Protocol::InfiniBand, LinkLayer::InfiniBand),
            (1, Protocol::InfiniBand, LinkLayer::InfiniBand),
            (2, Protocol::InfiniBand, LinkLayer::Ethernet),
            (2, Protocol::Iwarp, LinkLayer::Ethernet),
            (0, Protocol::Unspecified, LinkLayer::Unspecified),
        ] {
            assert_eq!(link_layer(code, protocol), expected, "{code}, {protocol:?}");
        }
    }
}
