//! What a port knows of its subnet.

use super::context::Context;
use super::error::{Result, check};
use verbcast_sys as sys;

/// The subnet manager that a port answers to, as the port knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubnetManager {
    /// Its LID; 0 where there is none, as on Ethernet.
    pub lid: u16,
    /// The service level of packets to it.
    pub sl: u8,
}

impl Context {
    /// The subnet manager of a port.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn subnet_manager(&self, port: u8) -> Result<SubnetManager> {
        // SAFETY: the attributes are plain numbers, for which zero is valid.
        let mut attr: sys::ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is live and `attr` writable.
        let answer =
            unsafe { sys::inline::ibv_query_port(self.inner.ptr.as_ptr(), port, &mut attr) };
        check("ibv_query_port", &format!("{} port {port}", self.name()), answer)?;
        Ok(SubnetManager { lid: attr.sm_lid, sl: attr.sm_sl })
    }
}
