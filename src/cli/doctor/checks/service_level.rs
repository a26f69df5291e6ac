//! 27: service level and traffic class.

use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::Lab;
use crate::doctor::site::Site;
use std::time::Duration;
use verbcast_verbs::{AddressHandle, LinkLayer, PathTo, Service};

pub const CHECK: Check = Check {
    number: 27,
    expected: "an address handle takes the service level and traffic class that are set",
    bound: Duration::from_secs(10),
    attempt,
};

/// irdma and SoftRoCE take the service level and do nothing with it.
const BY_CLASS: &str = "; on RoCE some adapters give the priority by the traffic class alone, whose upper six bits are \
    the DSCP";

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let service = Service {
        sl: site.settings.service_level.unwrap_or(0),
        traffic_class: site.settings.traffic_class.unwrap_or(0),
    };
    let (gid, lid, port, source_index) = (site.gid, site.lid, site.port, site.gid_index);
    let path = PathTo { gid, lid, port, source_index, service };
    let mut came = format!("service level {}, traffic class {}", service.sl, service.traffic_class);
    if site.link_layer == LinkLayer::Ethernet && site.settings.service_level.is_some() {
        came.push_str(BY_CLASS);
    }
    Ok(match AddressHandle::new(&lab.domain, &path) {
        Ok(_) => Tried::holds(came),
        Err(error) => Tried::broken(
            format!("{came}: {error}"),
            "check VERBCAST_SL and VERBCAST_TRAFFIC_CLASS",
        ),
    })
}
