//! Joining without IPoIB: by asking the subnet administrator oneself.
//!
//! It takes read and write access to `/dev/infiniband/umad*`, which is root's by default, and the feature `umad`, as
//! libibumad is a library of its own: the command has it, and the library that is preloaded under MPI programs does
//! not.

use super::join_error::JoinError;
use super::membership::Held;
use super::order::PortSpeed;
use std::time::Duration;
use verbcast_verbs::{GroupPath, Service};

/// Which port joins, and what a group is like that it makes.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "umad"), expect(dead_code, reason = "nobody can be asked"))]
pub struct Request<'a> {
    pub device: &'a str,
    pub port: u8,
    /// The place of the port's GID in its table.
    pub gid_index: u8,
    pub pkey: u16,
    pub service: Service,
    /// What all ports can that are to join.
    pub common: PortSpeed,
}

/// Joins, where the join through IPoIB was not possible for this reason.
#[cfg(feature = "umad")]
pub fn join(
    request: &Request<'_>,
    mgid: [u8; 16],
    patience: Duration,
    why: &str,
) -> Result<(Held, GroupPath), JoinError> {
    use super::membership::DEFAULT_QKEY;
    use verbcast_umad::{MemberRecord, NewGroup, SaError, SubnetAdministrator};
    use verbcast_verbs::GroupRecord;

    let (Service { sl, traffic_class }, PortSpeed { mtu, rate }) =
        (request.service, request.common);
    let new = NewGroup { qkey: DEFAULT_QKEY, pkey: request.pkey, sl, traffic_class, mtu, rate };
    let administrator = SubnetAdministrator::open(request.device, request.port);
    match administrator.and_then(|one| one.join(mgid, new, patience)) {
        // Longer packets would be sent, and never arrive.
        Ok(membership) if membership.record().mtu() < mtu => Err(JoinError::NotYet(format!(
            "the group's MTU is {}, but packets have up to {mtu} bytes: another port has made it",
            membership.record().mtu()
        ))),
        Ok(membership) => {
            tracing::debug!("joined by asking the subnet administrator, as {why}");
            let MemberRecord { mlid, qkey, flow_label, hop_limit, rate_code, .. } =
                *membership.record();
            let MemberRecord { sl, traffic_class, .. } = *membership.record();
            let service = Service { sl, traffic_class };
            let record =
                GroupRecord { mgid, mlid, qkey, service, flow_label, hop_limit, rate_code };
            let path = GroupPath::of_record(&record, request.port, request.gid_index);
            Ok((Held::Subnet(membership), path))
        }
        Err(error @ SaError::Unusable(_)) => Err(JoinError::Never(format!(
            "{why}; or let this process use /dev/infiniband/umad*, to ask the subnet administrator \
             itself ({error})"
        ))),
        Err(error) => Err(JoinError::NotYet(format!("{error}, and {why}"))),
    }
}

/// As it is without libibumad: what is missing for a join through IPoIB is missing.
#[cfg(not(feature = "umad"))]
pub fn join(
    _request: &Request<'_>,
    _mgid: [u8; 16],
    _patience: Duration,
    why: &str,
) -> Result<(Held, GroupPath), JoinError> {
    Err(JoinError::Never(why.to_owned()))
}
