//! A multicast group that the port is in, and what keeps it there.

use super::address::AddressKind;
use super::order::PortSpeed;
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;
use verbcast_core::wire::GroupAddress;
use verbcast_verbs::{GroupPath, Membership, Service};

/// The Q_Key of datagrams where no group has its own.
pub const DEFAULT_QKEY: u32 = 0x0123_4567;

/// What keeps the port in a group: dropping it leaves. Only librdmacm tells when it ends otherwise; for the others, the
/// port's events must do.
#[derive(Debug)]
#[expect(dead_code, reason = "some are only kept")]
pub enum Held {
    /// A membership of librdmacm.
    Cm(Membership),
    /// One that the subnet administrator was asked for.
    #[cfg(feature = "umad")]
    Subnet(verbcast_umad::SaMembership),
    /// A socket's.
    Socket(UdpSocket),
}

impl Held {
    /// The descriptor that tells of the end, if one does.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Held::Cm(membership) => Some(membership.fd()),
            _ => None,
        }
    }

    /// Why the port is a member no more, if that has come to pass since this was last asked.
    pub fn take_end(&mut self) -> Option<String> {
        match self {
            Held::Cm(membership) => membership.take_end(),
            _ => None,
        }
    }
}

/// A group that the port has joined, and no QP is attached to: [`Joiner::join`](super::Joiner::join) makes it,
/// as often as there is need.
#[derive(Debug)]
pub struct Joined {
    pub(super) address: GroupAddress,
    pub(super) common: PortSpeed,
    pub(super) held: Held,
    pub(super) path: GroupPath,
}

impl Joined {
    /// The descriptor that tells of the end of the membership, if one does.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.held.fd()
    }

    /// The kind of its address.
    pub fn kind(&self) -> AddressKind {
        AddressKind::of(self.address)
    }

    /// The Q_Key of the group's datagrams.
    pub fn qkey(&self) -> u32 {
        self.path.qkey
    }

    /// The service level and traffic class of its datagrams.
    pub fn service(&self) -> Service {
        self.path.service()
    }
}
