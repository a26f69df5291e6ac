//! A communicator's multicast group: joined, attached, ready to be sent to.

use super::membership::{Held, Joined};
use super::order::{PortSpeed, deference};
use super::rejoin::Rejoin;
use super::renewal::Renewal;
use std::time::Duration;
use verbcast_core::time::Instant;
use verbcast_core::wire::GroupAddress;
use verbcast_verbs::{AddressHandle, Attachment, Error, GroupPath, ProtectionDomain, QueuePair};

/// When a process makes memberships anew.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Random, and another one in each process.
    pub spread: u64,
    /// The speed of its port.
    pub own: PortSpeed,
    /// How long it tries.
    pub patience: Duration,
}

/// A joined group. Fields are dropped in order: detach, then leave.
#[derive(Debug)]
pub struct Group {
    pub handle: AddressHandle,
    pub address: GroupAddress,
    /// What all its ports can.
    pub common: PortSpeed,
    path: GroupPath,
    /// Communicators that want to receive what is sent to it.
    listeners: usize,
    /// None while there are none, or the QP is restarted.
    attachment: Option<Attachment>,
    held: Held,
    /// While the membership is lost.
    renewal: Option<Renewal>,
}

impl Group {
    /// A group that the port has joined, to be sent to.
    pub fn new(joined: Joined, domain: &ProtectionDomain) -> Result<Self, String> {
        let Joined { address, common, held, path } = joined;
        let handle = path.handle(domain).map_err(|error| error.to_string())?;
        Ok(Group {
            handle,
            address,
            common,
            path,
            listeners: 0,
            attachment: None,
            held,
            renewal: None,
        })
    }

    /// Detaches the QP, which may have lost its place already.
    pub fn detach(&mut self) {
        if let Some(Err(error)) = self.attachment.take().map(Attachment::close) {
            tracing::debug!("group {}: {error}", self.address);
        }
    }

    /// A communicator wants to receive what is sent to it, by `qp`.
    pub fn listen(&mut self, qp: &QueuePair) -> Result<(), Error> {
        self.listeners += 1;
        let attached = if self.attachment.is_some() { Ok(()) } else { self.attach(qp) };
        self.listeners -= usize::from(attached.is_err());
        attached
    }

    /// A communicator does not want to any more; with the last one the QP is detached.
    pub fn unlisten(&mut self) {
        self.listeners -= 1;
        if self.listeners == 0 {
            self.detach();
        }
    }

    /// Attaches `qp` anew, if a communicator listens.
    pub fn attach(&mut self, qp: &QueuePair) -> Result<(), Error> {
        if self.listeners == 0 {
            return Ok(());
        }
        self.attachment = Some(Attachment::new(qp, self.path.mgid(), self.path.mlid())?);
        Ok(())
    }

    /// Why the membership has ended, if it has since this was last asked.
    pub fn take_end(&mut self) -> Option<String> {
        self.held.take_end()
    }

    /// The membership is lost, or may be; it is made anew at this pace.
    pub fn lose(&mut self, now: Instant, what: String, Pace { spread, own, patience }: Pace) {
        match &mut self.renewal {
            Some(renewal) => renewal.lose(what),
            None => {
                tracing::warn!("group {}: {what}; joining again", self.address);
                let deference = deference(own, self.common, patience);
                self.renewal = Some(Renewal::new(Rejoin::new(now, what, spread, deference)));
            }
        }
    }

    /// The membership that is being made anew, if one is.
    pub fn renewal(&mut self) -> Option<&mut Renewal> {
        self.renewal.as_mut()
    }

    /// Is a member by `joined` from now on, and attached to it with `qp`; what datagrams were sent by before.
    pub fn renew(
        &mut self,
        joined: Joined,
        domain: &ProtectionDomain,
        qp: &QueuePair,
    ) -> Result<AddressHandle, Error> {
        let Joined { held, path, .. } = joined;
        let handle = path.handle(domain)?;
        let is_moved = (path.mgid(), path.mlid()) != (self.path.mgid(), self.path.mlid());
        self.path = path;
        if is_moved && self.attachment.is_some() {
            // In this order, as an adapter may go by the MGID alone.
            self.detach();
            self.attach(qp)?;
        }
        // The former membership is left last, so that the group does not end meanwhile.
        (self.held, self.renewal) = (held, None);
        Ok(std::mem::replace(&mut self.handle, handle))
    }
}
