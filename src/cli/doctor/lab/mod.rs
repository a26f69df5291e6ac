//! An open device to try things with.

mod line;
mod mailbox;
mod request;

pub use line::{Line, LineEnd};
pub use mailbox::{Arrival, GRH, Mailbox};
pub use request::QKEY;

use super::group::Group;
use super::site::Site;
use std::net::Ipv6Addr;
use std::time::{Duration, Instant};
use verbcast_umad::SaMembership;
use verbcast_verbs::{
    AddressHandle, Attachment, Context, GroupPath, LinkLayer, Membership, MulticastGroup,
    PortPartition, ProtectionDomain, devices,
};

/// How long a join may take.
const JOIN: Duration = Duration::from_secs(10);

/// A device, opened for one check.
pub struct Lab {
    pub site: Site,
    pub context: Context,
    pub domain: ProtectionDomain,
    /// The port, and the partition that is used.
    pub at: PortPartition,
    /// Its P_Key.
    pub pkey: u16,
}

/// A group that was joined; dropping it leaves.
pub struct Joined {
    pub path: GroupPath,
    pub handle: AddressHandle,
    pub took: Duration,
    _held: Held,
}

/// What keeps a group joined.
enum Held {
    Address { _membership: Membership },
    Request { _membership: SaMembership },
}

impl Lab {
    pub fn open(site: &Site) -> Result<Lab, String> {
        let all = devices().map_err(|error| error.to_string())?;
        let device = all.iter().find(|device| device.name() == site.device);
        let device = device.ok_or_else(|| format!("{} is gone", site.device))?;
        let context = device.open().map_err(|error| error.to_string())?;
        let domain = ProtectionDomain::new(&context).map_err(|error| error.to_string())?;
        let (at, pkey) = (site.at(&context)?, site.partition(&context)?.pkey);
        Ok(Lab { site: site.clone(), context, domain, at, pkey })
    }

    /// Joins a group by the port's address; on InfiniBand else by request.
    pub fn join(&self, group: Group) -> Result<Joined, String> {
        let refused = match self.join_by_address(group) {
            Err(why) if self.site.link_layer == LinkLayer::InfiniBand => why,
            joined => return joined,
        };
        let begun = Instant::now();
        let Ok(membership) = self.request(group, JOIN) else { return Err(refused) };
        let path = self.path_of(group, &membership);
        let handle = path.handle(&self.domain).map_err(|error| error.to_string())?;
        let held = Held::Request { _membership: membership };
        Ok(Joined { path, handle, took: begun.elapsed(), _held: held })
    }

    /// Joins a group by the port's address.
    pub fn join_by_address(&self, group: Group) -> Result<Joined, String> {
        let source = self.site.address(&self.context)?;
        let address = Ipv6Addr::from(group.0);
        let to = match (self.site.link_layer, address.to_ipv4_mapped()) {
            (LinkLayer::InfiniBand, _) => MulticastGroup::Mgid(group.0),
            (_, Some(v4)) => MulticastGroup::Ip(v4.into()),
            (_, None) => MulticastGroup::Ip(address.into()),
        };
        let begun = Instant::now();
        let named = |error: verbcast_verbs::Error| format!("group {group}: {error}");
        let joined = Membership::join(source, to, JOIN);
        let (membership, path) = joined.map_err(|error| {
            let is_silent = error.errno() == rustix::io::Errno::TIMEDOUT.raw_os_error()
                && self.site.link_layer == LinkLayer::InfiniBand;
            let who = if is_silent { "the subnet administrator does not answer: " } else { "" };
            format!("{who}{}", named(error))
        })?;
        let took = begun.elapsed();
        let handle = path.handle(&self.domain).map_err(named)?;
        Ok(Joined { path, handle, took, _held: Held::Address { _membership: membership } })
    }

    /// A mailbox that is attached to a group.
    pub fn member(&self, joined: &Joined, depth: u32) -> Result<(Mailbox, Attachment), String> {
        let mailbox = Mailbox::new(self, joined.path.qkey, depth)?;
        let attachment = mailbox.attach(joined)?;
        Ok((mailbox, attachment))
    }
}
