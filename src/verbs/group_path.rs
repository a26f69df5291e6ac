//! Where datagrams to a multicast group go.

use super::address_handle::{AddressHandle, PathTo, Service};
use super::error::Result;
use super::pd::ProtectionDomain;
use std::net::Ipv6Addr;
use verbcast_sys as sys;

/// What the fabric answered to a join: where datagrams to the group go.
#[derive(Clone, Copy)]
pub struct GroupPath {
    attributes: sys::ibv_ah_attr,
    /// The Q_Key of the group's datagrams.
    pub qkey: u32,
}

impl std::fmt::Debug for GroupPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mgid, mlid) = (Ipv6Addr::from(self.mgid()), self.mlid());
        let Service { sl, traffic_class } = self.service();
        let qkey = self.qkey;
        write!(f, "MGID {mgid}, MLID {mlid:#x}, Q_Key {qkey:#x}, SL {sl}, class {traffic_class}")
    }
}

/// What a subnet administrator says of the way to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The group.
    pub mgid: [u8; 16],
    /// Where switches know it.
    pub mlid: u16,
    /// The Q_Key of its datagrams.
    pub qkey: u32,
    /// Their service level and traffic class.
    pub service: Service,
    /// Their flow label, 20 bits.
    pub flow_label: u32,
    /// Their hop limit.
    pub hop_limit: u8,
    /// The code of their rate (`enum ibv_rate`).
    pub rate_code: u8,
}

impl GroupPath {
    /// The way to a group that the subnet administrator was asked for, from a port and an entry of its GID table.
    pub fn of_record(record: &GroupRecord, port: u8, source_index: u8) -> Self {
        let GroupRecord { mgid: gid, mlid: lid, service, .. } = *record;
        let path = PathTo { gid, lid, port, source_index, service };
        let mut attributes = path.attributes();
        attributes.grh.flow_label = record.flow_label;
        attributes.grh.hop_limit = record.hop_limit;
        attributes.static_rate = record.rate_code;
        GroupPath { attributes, qkey: record.qkey }
    }

    /// The path that librdmacm told.
    pub(super) fn new(attributes: sys::ibv_ah_attr, qkey: u32) -> Self {
        GroupPath { attributes, qkey }
    }

    /// The way to a group that was joined by other means than librdmacm.
    pub fn direct(path: &PathTo, qkey: u32) -> Self {
        GroupPath { attributes: path.attributes(), qkey }
    }

    /// The group's MGID.
    pub fn mgid(&self) -> [u8; 16] {
        // SAFETY: every bit pattern of the union is a valid array of bytes.
        unsafe { self.attributes.grh.dgid.raw }
    }

    /// The group's MLID; 0 on Ethernet, 0xc000 and above on InfiniBand.
    pub fn mlid(&self) -> u16 {
        self.attributes.dlid
    }

    /// The service level and traffic class of its datagrams.
    pub fn service(&self) -> Service {
        let ibv_grh = self.attributes.grh;
        Service { sl: self.attributes.sl, traffic_class: ibv_grh.traffic_class }
    }

    /// The same way with another service level and traffic class.
    pub fn with_service(mut self, service: Service) -> Self {
        self.attributes.sl = service.sl;
        self.attributes.grh.traffic_class = service.traffic_class;
        self
    }

    /// The way to the group.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn handle(&self, domain: &ProtectionDomain) -> Result<AddressHandle> {
        AddressHandle::from_attributes(domain, self.attributes, || format!("{self:?}"))
    }
}
