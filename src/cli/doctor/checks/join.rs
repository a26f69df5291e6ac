//! 1: a group of our own is joined by the port's address.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::net::Ipv6Addr;
use std::time::Duration;
use verbcast_verbs::LinkLayer;

pub const CHECK: Check = Check {
    number: 1,
    expected: "a group is joined through rdma_cm from the port's IP address",
    bound: Duration::from_secs(15),
    attempt,
};

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    if site.link_layer == LinkLayer::InfiniBand {
        let manager = lab.context.subnet_manager(site.port).map_err(|error| error.to_string())?;
        if manager.lid == 0 {
            return Ok(Tried::broken(
                "the port knows no subnet manager",
                "start the subnet manager, or see why it does not reach this port (sminfo, ibdiagnet)",
            ));
        }
    }
    let joined = match lab.join_by_address(site.draw_group()) {
        Ok(joined) => joined,
        Err(error) => return Ok(Tried::broken(error, advice(site))),
    };
    let (path, took) = (&joined.path, joined.took);
    let (mgid, mlid) = (Ipv6Addr::from(path.mgid()), path.mlid());
    let qkey = path.qkey;
    Ok(Tried::holds(format!("after {took:.1?}: MGID {mgid}, MLID {mlid:#06x}, Q_Key {qkey:#010x}")))
}

fn advice(site: &Site) -> &'static str {
    match site.link_layer {
        LinkLayer::InfiniBand => {
            "is IPoIB up on this port (ip link), in the partition that is used, and the subnet manager \
             running (sminfo)?"
        }
        _ => {
            "is the port's network interface up with an IP address, and the module rdma_ucm loaded?"
        }
    }
}
