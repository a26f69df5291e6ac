//! Partitions of a port: its table of P_Keys.

use super::context::Context;
use super::error::{Result, check};
use verbcast_sys as sys;

/// A port, and the partition in which a queue pair uses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortPartition {
    /// The port's number, from 1.
    pub port: u8,
    /// The partition's place in the port's table of P_Keys.
    pub pkey_index: u16,
}

impl Context {
    /// The P_Keys of a port, by their index; those that are 0 are not in use.
    ///
    /// # Errors
    /// If the port cannot be queried.
    pub fn pkeys(&self, port: u8) -> Result<Vec<u16>> {
        let object = || format!("{} port {port}", self.name());
        // SAFETY: the attributes are plain numbers, for which zero is valid.
        let mut attr: sys::ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is live and `attr` writable.
        let answer =
            unsafe { sys::inline::ibv_query_port(self.inner.ptr.as_ptr(), port, &mut attr) };
        check("ibv_query_port", &object(), answer)?;
        let mut pkeys = Vec::new();
        for index in 0..attr.pkey_tbl_len {
            let mut pkey = 0;
            // SAFETY: the context is live and `pkey` writable.
            let answer = unsafe {
                sys::ibv_query_pkey(self.inner.ptr.as_ptr(), port, index.into(), &mut pkey)
            };
            check("ibv_query_pkey", &object(), answer)?;
            pkeys.push(u16::from_be(pkey));
        }
        Ok(pkeys)
    }
}
