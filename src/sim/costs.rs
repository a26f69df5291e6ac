//! What everything takes: overheads of the host, latencies and gaps of the wire, in the manner of
//! LogGP.

use verbcast_core::model::Parameters;
use verbcast_core::wire::HEADER_LEN;

/// Times in nanoseconds, and times per byte in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// CPU: copying a packet into or out of a buffer.
    pub copy: u64,
    /// CPU: the same, per byte, in picoseconds.
    pub copy_per_byte: u64,
    /// CPU: posting a datagram.
    pub post_datagram: u64,
    /// CPU: posting a reliable send.
    pub post_reliable: u64,
    /// CPU: posting a report or a fetch.
    pub post_one_sided: u64,
    /// CPU: taking a received packet from its queue.
    pub take: u64,
    /// CPU: noticing and processing a report of another rank, by RDMA write or by message.
    pub acknowledgement: u64,
    /// Wire: from a multicast's departure to its arrival at every rank.
    pub multicast_latency: u64,
    /// Wire: from the departure of anything for one rank to its arrival, one way.
    pub unicast_latency: u64,
    /// Wire: the adapter's time per byte sent, in picoseconds; packets leave one after another.
    pub wire_per_byte: u64,
    /// Wire: a random addition to every latency, up to this.
    pub jitter: u64,
}

impl Costs {
    /// Costs that add up to the model's times for short messages: one copy is T_cc, posting a datagram
    /// T_ud, a multicast T_mc, processing a report T_pack, and one hop over RC T_pp. Posting a reliable
    /// send from a slot is T_um without its copy.
    pub fn of(model: &Parameters) -> Self {
        let post_reliable = model.t_um - model.t_cc;
        Costs {
            copy: model.t_cc,
            copy_per_byte: 0,
            post_datagram: model.t_ud,
            post_reliable,
            post_one_sided: 0,
            take: 0,
            acknowledgement: model.t_pack,
            multicast_latency: model.t_mc,
            unicast_latency: model.t_pp - 2 * model.t_cc - post_reliable,
            wire_per_byte: 0,
            jitter: 0,
        }
    }

    /// The model's times for a message of so many bytes in one packet: what [`of`](Self::of) takes apart,
    /// with the time that the bytes take.
    pub fn model(&self, bytes: usize) -> Parameters {
        let t_cc = self.copying(bytes);
        let wire = self.on_the_wire(HEADER_LEN + bytes);
        let t_um = t_cc + self.post_reliable;
        Parameters {
            t_cc,
            t_ud: self.post_datagram,
            t_mc: self.multicast_latency + wire,
            t_pp: t_um + wire + self.unicast_latency + t_cc,
            t_um,
            t_pack: self.acknowledgement,
        }
    }

    pub(super) fn copying(&self, bytes: usize) -> u64 {
        // What carries no bytes is not copied.
        let base = if bytes > 0 { self.copy } else { 0 };
        base + self.copy_per_byte * bytes as u64 / 1000
    }

    pub(super) fn on_the_wire(&self, bytes: usize) -> u64 {
        self.wire_per_byte * bytes as u64 / 1000
    }
}

impl Default for Costs {
    /// The paper's cluster, with a wire of 10 Gbit/s and copies at 1 GB/s.
    fn default() -> Self {
        let base = Costs::of(&Parameters::paper());
        Costs { copy_per_byte: 1000, wire_per_byte: 800, ..base }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_times_come_back() {
        let paper = Parameters::paper();
        assert_eq!(Costs::of(&paper).model(8), paper);
    }

    #[test]
    fn bytes_are_copied_twice_and_sent_once() {
        let added = Costs::default().model(1000).single_root() - Parameters::paper().single_root();
        // At 1 ns to copy a byte and 0.8 ns to send it.
        assert_eq!(added, 2 * 1000 + (1000 + HEADER_LEN as u64) * 4 / 5);
    }
}
