//! What a switch does with a packet: lookup, room in output buffers, copies.

use super::engine::{Held, Links};
use super::event::Kind;
use super::fault::Fault;
use super::packet::{Group, To};
use super::parameters::Replication;
use crate::multicast::PortSet;

impl Links {
    /// The ports by which a packet leaves a switch.
    fn outputs(&self, switch: usize, port: u32, packet: u32) -> Result<PortSet, Fault> {
        Ok(match self.transits.get(packet).packet.to {
            To::Lid(lid) => {
                let stray = || Fault::Stray(self.wiring.place(port).node);
                std::iter::once(self.tables.port(switch, lid).ok_or_else(stray)?).collect()
            }
            To::Group(Group(group)) => {
                let ports = self.groups[group as usize].ports(switch);
                ports.without(self.wiring.number(port))
            }
        })
    }

    /// A packet's head comes to a port.
    pub(super) fn arrive(&mut self, port: u32, packet: u32) -> Result<(), Fault> {
        let links = self.wiring.len() as u32;
        let transit = self.transits.get_mut(packet);
        transit.crossed += 1;
        if transit.crossed > links {
            return Err(Fault::Circle);
        }
        let end = self.now + self.passing(packet);
        let Some(switch) = self.wiring.switch(port) else {
            self.put(end, Kind::End, port, packet);
            return Ok(());
        };
        let outputs = self.outputs(switch, port, packet)?;
        if outputs.is_empty() {
            self.put(end, Kind::End, port, packet);
            return Ok(());
        }
        self.transits.get_mut(packet).copies += outputs.len() - 1;
        let lane = self.lane_of(self.wiring.peer(port), packet);
        let (arrived, lacking) = (self.now, outputs.len());
        let held = self.held.insert(Held { packet, port, lane, arrived, lacking });
        for number in outputs.iter() {
            let stray = || Fault::Stray(self.wiring.place(port).node);
            let output = self.wiring.sibling(port, number).ok_or_else(stray)?;
            let lane = self.lane_of(output, packet);
            let state = self.lane(output, lane);
            if state.room > 0 {
                self.grant(held, output, lane);
            } else {
                state.waiting.push_back(held);
            }
        }
        Ok(())
    }

    /// Gives a packet a place in an output buffer.
    fn grant(&mut self, held: u32, output: u32, lane: u8) {
        self.lane(output, lane).room -= 1;
        let waits = self.held.get_mut(held);
        waits.lacking -= 1;
        let Held { packet, port, lacking, arrived, lane: from } = *waits;
        let routed = match self.parameters.overlapped {
            true => self.now.max(arrived + self.parameters.switch),
            false => self.now + self.parameters.switch,
        };
        match self.parameters.replication {
            Replication::Asynchronous => self.put(routed, Kind::Ready, output, packet),
            Replication::Synchronous if lacking > 0 => return,
            Replication::Synchronous => self.spread(routed, port, packet),
        }
        if lacking == 0 {
            self.held.remove(held);
            let crossed = routed + self.passing(packet);
            let sender = self.wiring.peer(port);
            self.put(crossed + self.parameters.credit, Kind::Credit, sender, u32::from(from));
        }
    }

    /// All copies of a packet come to their outputs.
    fn spread(&mut self, at: u64, port: u32, packet: u32) {
        let outputs = self.wiring.switch(port).map(|switch| self.outputs(switch, port, packet));
        for number in outputs.into_iter().flatten().flat_map(|ports| ports.iter()) {
            if let Some(output) = self.wiring.sibling(port, number) {
                self.put(at, Kind::Ready, output, packet);
            }
        }
    }

    /// A place in an output buffer is free: it goes to who has waited for longest.
    pub(super) fn free(&mut self, port: u32, lane: u8) {
        let state = self.lane(port, lane);
        state.room += 1;
        if let Some(held) = state.waiting.pop_front() {
            self.grant(held, port, lane);
        }
    }
}
