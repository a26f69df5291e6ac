//! A communicator's transport as a member of its group.

use super::RdmaTransport;
use crate::rdma::endpoint::failed;
use crate::rdma::group::{DEFAULT_QKEY, Heard, Member};
use crate::rdma::memory::Source;
use crate::rdma::packet::own_header;
use std::time::Duration;
use verbcast_core::transport::TransportError;
use verbcast_core::wire::{GroupAddress, Kind};

impl Member for RdmaTransport {
    fn join(&mut self, address: GroupAddress, patience: Duration) -> Result<(), String> {
        let mut endpoint = self.endpoint.hold();
        self.group = endpoint.datagrams.share(address);
        let joiner = endpoint.site.joiner.clone();
        drop(endpoint);
        if self.group.is_some() {
            return Ok(());
        }
        // Others may use the endpoint while the fabric is asked.
        let joined = joiner.join(address, patience);
        let joined = joined.map_err(|error| format!("group {address}: {error}"))?;
        self.group = Some(self.endpoint.hold().attach(joined)?);
        Ok(())
    }

    fn leave(&mut self) {
        if let Some(group) = self.group.take() {
            self.endpoint.hold().datagrams.leave(group);
        }
    }

    fn go_without(&mut self) -> Result<(), String> {
        self.leave();
        self.endpoint.hold().set_qkey(DEFAULT_QKEY)
    }

    fn send_probe(&mut self) -> Result<(), TransportError> {
        let header = own_header(Kind::Probe, self.seat.key, self.seat.rank, &[]);
        if let Some(group) = self.group {
            let nothing = Source::Bytes(&[]);
            self.endpoint.hold().datagrams.multicast(group, &header, nothing).map_err(failed)?;
        }
        Ok(())
    }

    fn heard(&mut self) -> &mut Heard {
        &mut self.heard
    }

    fn foreign(&self) -> u64 {
        self.endpoint.see().channels.foreign() - self.foreign_before
    }
}
