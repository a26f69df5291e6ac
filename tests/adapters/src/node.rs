//! The devices of this node, and what they are called on the imitated fabric.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;

const DEVICES: &str = "/sys/class/infiniband";
/// Of the imagined IPoIB interfaces, above those that a kernel gives.
const FIRST_INTERFACE: u32 = 0x0a00_0000;

/// A device of SoftRoCE with one port.
#[derive(Clone, Debug)]
pub struct Device {
    pub name: String,
    /// Its place among the devices of SoftRoCE, in natural order.
    pub index: usize,
    pub lid: u16,
    /// The GID that the imitated port has, which is SoftRoCE's link-local one.
    pub gid: [u8; 16],
    /// The GID that packets go to, and its index.
    pub real_gid: [u8; 16],
    pub real_index: u8,
    /// The address of its network interface.
    pub ipv4: Ipv4Addr,
}

impl Device {
    /// The imagined IPoIB interface's name.
    pub fn interface_name(&self) -> String {
        format!("ib{}", self.index)
    }

    pub fn interface(&self) -> u32 {
        FIRST_INTERFACE + self.index as u32
    }

    pub fn interface_ipv4(&self) -> Ipv4Addr {
        let [high, low] = (self.index as u16 + 1).to_be_bytes();
        Ipv4Addr::new(10, 77, high, low)
    }

    /// IPoIB makes it of the port's GUID (RFC 4391, section 8).
    pub fn interface_ipv6(&self) -> Ipv6Addr {
        let mut address = self.gid;
        address[8] |= 0x02;
        Ipv6Addr::from(address)
    }
}

/// All devices of SoftRoCE of this node, in natural order of their names.
#[derive(Debug)]
pub struct Node {
    pub devices: Vec<Device>,
}

impl Node {
    pub fn named(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }

    pub fn with_lid(&self, lid: u16) -> Option<&Device> {
        self.devices.iter().find(|device| device.lid == lid)
    }
}

/// Looks at the devices; the first gets `lid`.
pub fn read(lid: u16) -> Node {
    read_from(Path::new(DEVICES), lid)
}

/// Looks for devices in a folder. Others than SoftRoCE's, which have no IPv4 GID, are left out.
fn read_from(folder: &Path, lid: u16) -> Node {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| natural(name));
    let mut devices = Vec::new();
    for name in names {
        let index = devices.len();
        devices.extend(device(&folder.join(&name), name, index, lid + index as u16));
    }
    Node { devices }
}

fn device(folder: &Path, name: String, index: usize, lid: u16) -> Option<Device> {
    let gid = |index: u8| {
        let text = fs::read_to_string(folder.join("ports/1/gids").join(index.to_string())).ok()?;
        text.trim().parse::<Ipv6Addr>().ok()
    };
    let (real_index, ipv4) =
        (0..16).find_map(|index| Some((index, gid(index)?.to_ipv4_mapped()?)))?;
    let (gid, real_gid) = (gid(0)?.octets(), ipv4.to_ipv6_mapped().octets());
    Some(Device { name, index, lid, gid, real_gid, real_index, ipv4 })
}

/// Sorts a name's number as a number.
fn natural(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_comes_after_two() {
        assert!(natural("rxeV10") > natural("rxeV2"));
    }

    #[test]
    fn other_adapters_have_no_place() {
        let folder = std::env::temp_dir().join(format!("verbcast-node-{}", std::process::id()));
        for (name, gids) in [
            ("mlx5_0", &["fe80::1"][..]),
            ("rxe0", &["fe80::2", "::ffff:10.9.0.1"][..]),
            ("rxe1", &["fe80::3", "::ffff:10.9.0.2"][..]),
        ] {
            let table = folder.join(name).join("ports/1/gids");
            fs::create_dir_all(&table).unwrap();
            for (index, gid) in gids.iter().enumerate() {
                fs::write(table.join(index.to_string()), gid).unwrap();
            }
        }
        let node = read_from(&folder, 7);
        fs::remove_dir_all(&folder).unwrap();
        let found = node.devices.iter().map(|device| (&*device.name, device.lid));
        assert_eq!(found.collect::<Vec<_>>(), [("rxe0", 7), ("rxe1", 8)]);
        for (place, device) in node.devices.iter().enumerate() {
            assert_eq!(device.index, place);
        }
    }
}
