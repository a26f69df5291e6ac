//! Address handles: the way to where a datagram goes.

use super::error::{Error, Result, check};
use super::pd::{self, ProtectionDomain};
use std::ptr::NonNull;
use std::sync::Arc;
use verbcast_sys as sys;

/// How switches and routers are to treat packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The service level on InfiniBand, from 0 to 15; on RoCE some adapters take it for the priority.
    pub sl: u8,
    /// The traffic class of the GRH; on RoCE v2 the IP header's, whose upper six bits are the DSCP.
    pub traffic_class: u8,
}

/// A destination within reach of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathTo {
    /// The destination's GID.
    pub gid: [u8; 16],
    /// The destination's LID; 0 on Ethernet.
    pub lid: u16,
    /// The own port.
    pub port: u8,
    /// The own entry of the port's GID table.
    pub source_index: u8,
    /// The service level and traffic class of what is sent there.
    pub service: Service,
}

impl PathTo {
    pub(super) fn attributes(&self) -> sys::ibv_ah_attr {
        // SAFETY: the attributes are plain numbers, for which zero is valid.
        let mut attr: sys::ibv_ah_attr = unsafe { std::mem::zeroed() };
        attr.grh.dgid = sys::ibv_gid { raw: self.gid };
        attr.grh.sgid_index = self.source_index;
        attr.grh.hop_limit = 64;
        attr.grh.traffic_class = self.service.traffic_class;
        attr.sl = self.service.sl;
        attr.dlid = self.lid;
        attr.is_global = 1;
        attr.port_num = self.port;
        attr
    }
}

#[derive(Debug)]
pub(super) struct Inner {
    pub ptr: NonNull<sys::ibv_ah>,
    pd: Arc<pd::Inner>,
}

// SAFETY: an address handle is only read after its creation.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: made by `ibv_create_ah`, destroyed once; providers copy what posted requests need.
        let answer = unsafe { sys::ibv_destroy_ah(self.ptr.as_ptr()) };
        super::log_failure(check("ibv_destroy_ah", &self.pd.context.name, answer));
    }
}

/// The way to a destination of datagrams.
#[derive(Debug)]
pub struct AddressHandle {
    pub(super) inner: Arc<Inner>,
}

impl AddressHandle {
    /// The way to a port.
    ///
    /// # Errors
    /// If the destination cannot be resolved.
    pub fn new(domain: &ProtectionDomain, path: &PathTo) -> Result<Self> {
        Self::from_attributes(domain, path.attributes(), || format!("path to {path:?}"))
    }

    pub(super) fn from_attributes(
        domain: &ProtectionDomain,
        mut attr: sys::ibv_ah_attr,
        object: impl FnOnce() -> String,
    ) -> Result<Self> {
        let pd = Arc::clone(&domain.inner);
        // SAFETY: the domain is live and the attributes valid.
        let ptr = unsafe { sys::ibv_create_ah(pd.ptr.as_ptr(), &mut attr) };
        let ptr = NonNull::new(ptr).ok_or_else(|| Error::last("ibv_create_ah", object()))?;
        Ok(AddressHandle { inner: Arc::new(Inner { ptr, pd }) })
    }
}
