//! A port's GID table.

use super::context::{Context, Port};
use std::ffi::CString;
use std::fs;
use verbcast_sys as sys;

/// Which packets a GID stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidKind {
    /// InfiniBand.
    InfiniBand,
    /// RoCE version 1 (Ethernet frames, not routable).
    RoceV1,
    /// RoCE version 2 (UDP over IP).
    RoceV2,
}

/// An entry of a port's GID table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GidEntry {
    /// Its place in the table.
    pub index: u8,
    /// The GID, in network order.
    pub gid: [u8; 16],
    /// Which packets it stands for.
    pub kind: GidKind,
    /// Index of the network interface it belongs to; 0 for none.
    pub interface: u32,
}

impl GidEntry {
    fn new(index: u8, entry: &sys::ibv_gid_entry) -> Self {
        let kind = match entry.gid_type {
            sys::IBV_GID_TYPE_ROCE_V1 => GidKind::RoceV1,
            sys::IBV_GID_TYPE_ROCE_V2 => GidKind::RoceV2,
            _ => GidKind::InfiniBand,
        };
        // SAFETY: every bit pattern of the union is a valid array of bytes.
        let gid = unsafe { entry.gid.raw };
        GidEntry { index, gid, kind, interface: entry.ndev_ifindex }
    }
}

/// Entries of a port that are looked at, at most.
const MAX_ENTRIES: u32 = 256;
/// Entries of all ports of a device that are read at once, at most.
const MAX_OF_DEVICE: usize = 1024;

impl Context {
    /// The filled entries of a port's GID table.
    pub fn gids(&self, port: &Port) -> Vec<GidEntry> {
        let one_by_one = || {
            let indices = 0..port.gid_table_len.min(MAX_ENTRIES);
            indices.filter_map(|index| self.gid(port.number, index as u8)).collect()
        };
        self.gids_at_once(port.number).unwrap_or_else(one_by_one)
    }

    /// The filled entries of a port in one call of the kernel, as a table may have hundreds of empty ones; none where it
    /// cannot tell them so.
    fn gids_at_once(&self, port: u8) -> Option<Vec<GidEntry>> {
        // SAFETY: an entry is plain numbers, for which zero is valid.
        let empty: sys::ibv_gid_entry = unsafe { std::mem::zeroed() };
        let mut entries = vec![empty; MAX_OF_DEVICE];
        let (context, room) = (self.inner.ptr.as_ptr(), entries.len());
        // SAFETY: the context is live, and there are so many entries to be written.
        let count =
            unsafe { sys::inline::ibv_query_gid_table(context, entries.as_mut_ptr(), room) };
        entries.truncate(usize::try_from(count).ok()?);
        let own = entries.iter().filter(|entry| entry.port_num == u32::from(port));
        let told = |entry: &sys::ibv_gid_entry| {
            Some(GidEntry::new(u8::try_from(entry.gid_index).ok()?, entry))
        };
        Some(own.filter_map(told).collect())
    }

    /// An entry; none where it is empty, which is an error to the library.
    fn gid(&self, port: u8, index: u8) -> Option<GidEntry> {
        // SAFETY: an entry is plain numbers, for which zero is valid.
        let mut entry: sys::ibv_gid_entry = unsafe { std::mem::zeroed() };
        let (context, number) = (self.inner.ptr.as_ptr(), u32::from(index));
        // SAFETY: the context is live and `entry` writable.
        match unsafe { sys::inline::ibv_query_gid_ex(context, port.into(), number, &mut entry) } {
            0 => {}
            libc::ENOSYS => return self.gid_by_sysfs(port, index),
            _ => return None,
        }
        Some(GidEntry::new(index, &entry))
    }

    /// As rdma-core before version 32 has it: the GID by a verb, and what it means from sysfs.
    fn gid_by_sysfs(&self, port: u8, index: u8) -> Option<GidEntry> {
        let mut gid = sys::ibv_gid { raw: [0; 16] };
        // SAFETY: the context is live and `gid` writable.
        let answer =
            unsafe { sys::ibv_query_gid(self.inner.ptr.as_ptr(), port, index.into(), &mut gid) };
        // SAFETY: every bit pattern of the union is a valid array of bytes.
        let gid = unsafe { gid.raw };
        let is_filled = gid[8..].iter().any(|byte| *byte != 0);
        if answer != 0 || !is_filled {
            return None;
        }
        let folder = format!("/sys/class/infiniband/{}/ports/{port}/gid_attrs", self.name());
        let read = |what| fs::read_to_string(format!("{folder}/{what}/{index}")).ok();
        let kind = kind_of(&read("types")?);
        // InfiniBand's GIDs have no interface.
        let interface = read("ndevs").and_then(|name| CString::new(name.trim()).ok());
        // SAFETY: the name is a C string.
        let interface = interface.map_or(0, |name| unsafe { libc::if_nametoindex(name.as_ptr()) });
        Some(GidEntry { index, gid, kind, interface })
    }
}

/// What sysfs calls it (`cache_gid_type_str` in drivers/infiniband/core); version 1 and InfiniBand have one name.
fn kind_of(text: &str) -> GidKind {
    match text.trim() {
        "RoCE v2" => GidKind::RoceV2,
        _ => GidKind::InfiniBand,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysfs_names_only_version_2() {
        assert_eq!(kind_of("RoCE v2\n"), GidKind::RoceV2);
        assert_eq!(kind_of("IB/RoCE v1\n"), GidKind::InfiniBand);
    }
}
