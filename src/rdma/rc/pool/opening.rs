//! Making connections: what begins them, and the handshakes that finish them.

use super::{ConnectionPool, Local, Process};
use crate::rdma::ids::ProcessId;
use crate::rdma::rc::connection::Connection;
use crate::rdma::rc::group_turns::GroupTurns;
use crate::rdma::rc::handshake::{Handshake, Reaction};
use crate::rdma::settings::REPORTS_AT_ONCE;
use verbcast_core::time::Instant;
use verbcast_core::wire::handshake::{End, Ends, Message, Step};
use verbcast_core::wire::{DatagramQp, ProcessAddress};
use verbcast_verbs::{PathTo, QueuePair, Result, Service};

impl ConnectionPool {
    /// Begins a connection, unless there is one.
    pub fn open(&mut self, now: Instant, process: ProcessId) -> Result<()> {
        if self.exists(process) {
            return Ok(());
        }
        self.make_room()?;
        let make = |depth| {
            let Local { domain, cq, at, .. } = &self.local;
            let pools = (self.sends.pool(), self.fetches.pool());
            let mut qp = QueuePair::connection(domain, cq, pools, depth, &self.srq)?;
            qp.bind(*at)?;
            let end = End { qpn: qp.number(), psn: random_psn() };
            Ok((qp, end))
        };
        let (messages, messages_end) = make(self.requests)?;
        let (probes, probes_end) = make(1)?;
        let mtu = self.mtu(process);
        let own = Ends { messages: messages_end, probes: probes_end, mtu };
        let turns = GroupTurns::new(now, self.processes.len(), random());
        let most = (self.requests, self.ring_sends, REPORTS_AT_ONCE);
        let connection = Connection::new((messages, probes), own, Handshake::new(now, turns), most);
        self.processes[process.0 as usize].connection = Some(connection);
        self.count += 1;
        self.opening.push(process);
        Ok(())
    }

    /// Handshake messages that are due, and whether to all groups too.
    pub fn poll_handshakes(&mut self, now: Instant) -> Vec<(ProcessId, Message, bool)> {
        let mut due = Vec::new();
        let own = self.local.address;
        let ConnectionPool { opening, processes, .. } = self;
        opening.retain(|process| {
            let connection = &mut processes[process.0 as usize].connection;
            let Some(connection) = connection else { return false };
            if let Some((step, is_for_all)) = connection.handshake.poll(now) {
                due.push((*process, tell(&own, step, connection.own), is_for_all));
            }
            !connection.is_ready()
        });
        due
    }

    /// A process that is to hear over its connection that this side is done with the handshake.
    pub fn to_confirm(&self) -> Option<(ProcessId, Message)> {
        self.opening.iter().find_map(|process| {
            let connection = self.get(*process).filter(|connection| connection.owes_confirm)?;
            Some((*process, tell(&self.local.address, Step::Confirm, connection.own)))
        })
    }

    /// It was sent.
    pub fn confirmed(&mut self, process: ProcessId) {
        if let Some(connection) = self.get_mut(process) {
            connection.owes_confirm = false;
        }
    }

    /// The UD QP of this process, if it is another one now.
    pub fn set_datagrams(&mut self, datagrams: DatagramQp) {
        self.local.address.datagrams = datagrams;
    }

    /// Takes a handshake message; the answer to send, if there is one. Where the kernel has not found the other side's address,
    /// there is none, and the other side repeats it.
    pub fn handle_handshake(
        &mut self,
        now: Instant,
        process: ProcessId,
        message: &Message,
    ) -> Result<Option<Message>> {
        if message.step == Step::Confirm && !self.exists(process) {
            return Ok(None);
        }
        self.open(now, process)?;
        let (patience, path) = (self.patience, self.path(process));
        let own = self.local.address;
        let Process { address, connection, .. } = &mut self.processes[process.0 as usize];
        address.datagrams.learn(message.datagrams);
        let Some(connection) = connection else { return Ok(None) };
        let was_connected = connection.handshake.is_connected();
        let Reaction { connect, answer } = connection.handshake.handle(now, message);
        if let Some(other) = connect {
            let reads = own.reads.min(address.reads);
            match connection.connect(&path, other, patience, reads) {
                Ok(()) => connection.unresolved = None,
                Err(error) if error.is_unresolved() => {
                    tracing::debug!("{error}");
                    connection.unresolved = Some(error.to_string());
                    connection.handshake.postpone();
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        connection.owes_confirm |= !was_connected && answer == Some(Step::Confirm);
        let ends = connection.own;
        self.start(process)?;
        Ok(answer.map(|step| tell(&own, step, ends)))
    }

    /// Why the address of a process was not found, if it was not when it was to be connected with last.
    pub fn unresolved(&self, process: ProcessId) -> Option<&str> {
        self.get(process)?.unresolved.as_deref()
    }

    /// Makes the completion queue larger where it has no room for a further connection.
    fn make_room(&mut self) -> Result<()> {
        if self.count == self.room.now as usize {
            // Beyond what the device can, it is the queue that says so.
            let now = (2 * self.room.now).min(self.room.most).max(self.room.now + 1);
            let ring_sends = self.ring_sends as u32;
            self.local.cq.resize(self.settings.completions_of(now, ring_sends))?;
            self.room.now = now;
        }
        Ok(())
    }

    /// A message came over the connection with `process`.
    pub fn heard(&mut self, process: ProcessId) -> Result<()> {
        if let Some(connection) = self.get_mut(process) {
            connection.handshake.heard();
        }
        self.start(process)
    }

    /// The path to a process carries packets of no more than `mtu` bytes: connections to come take no longer ones.
    pub fn limit_mtu(&mut self, process: ProcessId, mtu: usize) {
        let known = &mut self.processes[process.0 as usize].path_mtu;
        *known = mtu.min(*known);
    }

    /// Most bytes of a packet to a process, as far as this side knows.
    pub(super) fn mtu(&self, process: ProcessId) -> usize {
        let path_mtu = self.processes[process.0 as usize].path_mtu;
        path_mtu.min(self.local.address.packet_len)
    }

    /// Uses this service level and traffic class for connections to come.
    pub fn set_service(&mut self, service: Service) {
        self.service = service;
    }

    /// The way to the port of a process.
    pub fn path(&self, process: ProcessId) -> PathTo {
        let ProcessAddress { gid, lid, .. } = self.address(process);
        let Local { at, gid_index: source_index, .. } = self.local;
        PathTo { gid, lid, port: at.port, source_index, service: self.service }
    }
}

/// What a process says of its ends.
fn tell(own: &ProcessAddress, step: Step, ends: Ends) -> Message {
    Message { from: own.incarnation, datagrams: own.datagrams, step, ends }
}

/// A packet sequence number that packets of a former connection are unlikely to have.
fn random_psn() -> u32 {
    random() as u32 & 0xff_ffff
}

fn random() -> u64 {
    getrandom::u64().unwrap_or(std::process::id().into())
}
