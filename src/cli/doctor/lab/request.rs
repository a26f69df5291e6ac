//! Joining a group by asking the subnet administrator.

use super::Lab;
use crate::doctor::group::Group;
use std::time::Duration;
use verbcast_umad::{MemberRecord, NewGroup, SaError, SaMembership, SubnetAdministrator};
use verbcast_verbs::{GroupPath, GroupRecord, Service};

/// The Q_Key that is asked for.
pub const QKEY: u32 = 0x0123_4567;

impl Lab {
    /// Asks for a group with the settings of the site.
    pub fn request(&self, group: Group, patience: Duration) -> Result<SaMembership, SaError> {
        let site = &self.site;
        let new = NewGroup {
            qkey: QKEY,
            pkey: self.pkey,
            sl: site.settings.service_level.unwrap_or(0),
            traffic_class: site.settings.traffic_class.unwrap_or(0),
            mtu: site.mtu,
            rate: 0,
        };
        SubnetAdministrator::open(&site.device, site.port)?.join(group.0, new, patience)
    }

    /// The way to a group that was joined so.
    pub(super) fn path_of(&self, group: Group, membership: &SaMembership) -> GroupPath {
        let MemberRecord {
            mlid, qkey, flow_label, hop_limit, rate_code, sl, traffic_class, ..
        } = *membership.record();
        let service = Service { sl, traffic_class };
        let mgid = group.0;
        let record = GroupRecord { mgid, mlid, qkey, service, flow_label, hop_limit, rate_code };
        GroupPath::of_record(&record, self.site.port, self.site.gid_index)
    }
}
