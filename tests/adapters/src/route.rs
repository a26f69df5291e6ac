//! InfiniBand's addresses as SoftRoCE's: a LID is a device's IPv4 address, and an MGID an IPv4 group.

use crate::adapter::Adapter;
use crate::node::Device;
use std::net::Ipv4Addr;
use verbcast_sys::{ibv_ah_attr, ibv_gid};

/// The first multicast LID (InfiniBand Architecture Specification, 4.1.3), and how many follow it.
const FIRST_MLID: u16 = 0xc000;
const MLIDS: u64 = 0x3fff;
/// SoftRoCE's packets cross no router here.
const HOP_LIMIT: u8 = 64;
/// Of packets that have no GRH on InfiniBand, and so none. The kernel sets the hop limit itself.
const TRAFFIC_CLASS_WITHOUT_GRH: u8 = 0xfc;
/// Where it is in the IPv4 header at the end of the GRH's place.
const TRAFFIC_CLASS_AT: usize = 21;

/// FNV-1a: the same in every process.
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The IPv4 group that carries a group's datagrams.
pub fn group_ipv4(mgid: &[u8; 16]) -> Ipv4Addr {
    let [.., high, middle, low] = hash(mgid).to_be_bytes();
    Ipv4Addr::new(239, 1 + high % 254, middle, low)
}

/// The same as SoftRoCE names it.
pub fn group_gid(mgid: &[u8; 16]) -> ibv_gid {
    ibv_gid { raw: group_ipv4(mgid).to_ipv6_mapped().octets() }
}

/// The MLID that the subnet manager has given to a group.
pub fn mlid(mgid: &[u8; 16]) -> u16 {
    FIRST_MLID + ((hash(mgid) >> 32) % MLIDS) as u16
}

pub fn is_multicast(lid: u16) -> bool {
    (FIRST_MLID..u16::MAX).contains(&lid)
}

/// Whether a packet with this in front would have a GRH.
pub fn has_grh(front: &[u8]) -> bool {
    front[TRAFFIC_CLASS_AT] != TRAFFIC_CLASS_WITHOUT_GRH
}

/// The way that packets of `own` really take; an error if they would come to nobody.
pub fn real_way(
    adapter: &Adapter,
    own: &Device,
    attr: &ibv_ah_attr,
) -> Result<ibv_ah_attr, String> {
    let mut real = *attr;
    real.dlid = 0;
    real.static_rate = 0;
    real.is_global = 1;
    real.grh.sgid_index = own.real_index;
    real.grh.hop_limit = HOP_LIMIT;
    if attr.is_global == 0 {
        real.grh.traffic_class = TRAFFIC_CLASS_WITHOUT_GRH;
        real.grh.flow_label = 0;
    } else if attr.grh.sgid_index != 0 {
        return Err(format!("the port has no GID of index {}", attr.grh.sgid_index));
    }
    // SAFETY: every bit pattern of the union is a valid array of bytes.
    let gid = unsafe { attr.grh.dgid.raw };
    if is_multicast(attr.dlid) {
        if attr.is_global == 0 || gid[0] != 0xff {
            return Err("a datagram to an MLID needs a GRH with the MGID".into());
        }
        if attr.dlid != mlid(&gid) {
            return Err(format!("MLID {:#x} is not the group's {:#x}", attr.dlid, mlid(&gid)));
        }
        real.grh.dgid = group_gid(&gid);
        return Ok(real);
    }
    let other = adapter.node.with_lid(attr.dlid);
    let other = other.ok_or_else(|| format!("no port has LID {:#x}", attr.dlid))?;
    if attr.is_global != 0 && gid != other.gid {
        return Err(format!("the port with LID {:#x} has another GID", attr.dlid));
    }
    real.grh.dgid = ibv_gid { raw: other.real_gid };
    Ok(real)
}

/// Says on standard error why a call is refused; what a program does wrong on an adapter is to be seen.
pub fn refused(call: &str, why: &str) -> i32 {
    eprintln!("imitated adapter: {call}: {why}");
    crate::adapter::errno(libc::EINVAL)
}
