//! A communicator's multicast group: joined, attached, ready to be sent to.

use std::net::UdpSocket;
use verbcast_core::wire::GroupAddress;
use verbcast_verbs::{
    AddressHandle, Attachment, Error, GroupPath, Membership, ProtectionDomain, QueuePair, Service,
};

/// The Q_Key of datagrams where no group has its own.
pub const DEFAULT_QKEY: u32 = 0x0123_4567;

/// A joined group. Fields are dropped in order: detach, then leave.
#[derive(Debug)]
pub struct Group {
    pub handle: AddressHandle,
    pub address: GroupAddress,
    _attachment: Attachment,
    _held: Held,
}

/// What keeps the port in a group: dropping it leaves.
#[derive(Debug)]
#[expect(dead_code, reason = "they are only kept")]
pub enum Held {
    /// A membership of librdmacm.
    Cm(Membership),
    /// One that the subnet administrator was asked for.
    #[cfg(feature = "umad")]
    Subnet(verbcast_umad::SaMembership),
    /// A socket's.
    Socket(UdpSocket),
}

/// A group that the port has joined, and no QP is attached to: [`Joiner::join`](super::Joiner::join) makes it,
/// as often as there is need.
#[derive(Debug)]
pub struct Joined {
    pub(super) address: GroupAddress,
    pub(super) held: Held,
    pub(super) path: GroupPath,
}

impl Joined {
    /// The Q_Key of the group's datagrams.
    pub fn qkey(&self) -> u32 {
        self.path.qkey
    }

    /// The service level and traffic class of its datagrams.
    pub fn service(&self) -> Service {
        self.path.service()
    }

    /// Attaches `qp` to the group.
    pub fn attach(self, domain: &ProtectionDomain, qp: &QueuePair) -> Result<Group, String> {
        let Joined { address, held, path } = self;
        let named = |error: Error| format!("group {address}: {error}");
        let attachment = Attachment::new(qp, path.mgid(), path.mlid()).map_err(named)?;
        Ok(Group {
            handle: path.handle(domain).map_err(named)?,
            address,
            _attachment: attachment,
            _held: held,
        })
    }
}
