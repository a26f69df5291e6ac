//! What a communicator can ask of the device now.

use super::RdmaTransport;
use verbcast_core::protocol::Room;
use verbcast_core::rank::Rank;

impl Room for RdmaTransport {
    fn multicast_room(&self) -> usize {
        match self.group {
            // They go to memory, which takes any number; yet the driver is to look around now and then.
            None if self.is_one_node => self.settings.depths.send as usize,
            None => 0,
            Some(_) => self.endpoint.see().datagrams.room(),
        }
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        let endpoint = self.endpoint.see();
        let room = endpoint.connections.room();
        // Nobody takes what another one needs: where some receiver is busy, this is what remains.
        match endpoint.channels.open_count() {
            0 | 1 => room,
            _ => room.saturating_sub(endpoint.connections.sends_of(self.channel)),
        }
    }

    fn report_room(&self, to: Rank) -> usize {
        self.memory.reports.room(to)
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        self.endpoint.see().connections.fetch_room()
    }

    fn is_in_reach(&self, from: Rank) -> bool {
        let process = self.process(from);
        let endpoint = self.endpoint.see();
        let is_sound = !endpoint.connections.is_broken(process);
        is_sound && endpoint.connections.is_connected(process) && !self.peers.has_departed(from)
    }

    fn is_idle(&self, slot: u32) -> bool {
        self.memory.ring.is_idle(slot)
    }
}
