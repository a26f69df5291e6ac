//! A transport of the benchmark's own, on the endpoint that all contenders share.

use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Config, Endpoint};
use verbcast::rdma::{Agreed, Description, Multicast, NodeSharing, RdmaTransport, establish_on};

/// Makes it, with a group or without. What it sends goes over the device, whoever shares a host. Collective.
pub fn open_transport(
    bootstrap: &mut dyn Bootstrap,
    endpoint: &Endpoint,
    config: &Config,
    multicast: Multicast,
) -> Result<(RdmaTransport, Agreed, Description), String> {
    let mut settings = config.device.clone();
    settings.multicast = multicast;
    settings.nodes = NodeSharing::Flat;
    establish_on(bootstrap, endpoint, &settings, &[]).map_err(|error| error.to_string())
}
