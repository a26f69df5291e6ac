//! Ranks that hand each other their packets at once, without bytes, wires or time: what is left is the
//! work of the protocols' cores.

use std::collections::VecDeque;
use std::time::Duration;
use verbcast_core::protocol::options::Options;
use verbcast_core::protocol::suite::Suite;
use verbcast_core::protocol::{
    Core, Counter, Disposition, Event, Incoming, Piece, Room, Target, Token, Transmit, Via,
};
use verbcast_core::rank::Rank;
use verbcast_core::time::Instant;
use verbcast_sim::Plan;

/// Broadcasts after which everything has the size that it keeps.
const WARM_UP: u32 = 1000;

/// A transport that takes everything.
struct Roomy;

impl Room for Roomy {
    fn multicast_room(&self) -> usize {
        1
    }

    fn reliable_room(&self, _to: Rank) -> usize {
        1
    }

    fn report_room(&self, _to: Rank) -> usize {
        1
    }

    fn fetch_room(&self, _from: Rank) -> usize {
        1
    }

    fn is_idle(&self, _slot: u32) -> bool {
        true
    }
}

/// What comes to a core.
enum Input {
    Packet(Incoming),
    Delivered(Rank, Token),
    Report(Rank, Counter, u64),
    WriteAcked(Rank, Counter),
}

/// A rank: its core, and what the slots of its ring hold.
struct Member {
    core: Suite,
    ring: Vec<Option<(Piece, usize)>>,
}

/// All ranks of a communicator.
pub struct Ranks {
    members: Vec<Member>,
    inputs: VecDeque<(Rank, Input)>,
    now: Instant,
}

impl Ranks {
    /// `size` ranks that have done many broadcasts of `len` bytes already.
    ///
    /// # Panics
    /// If there is no such algorithm.
    pub fn warmed_up(algorithm: &str, size: u32, len: u64) -> Ranks {
        let mut options = Options::default();
        options.set("algorithm", algorithm).unwrap();
        let plan = Plan::new(size, Vec::new());
        let members = (0..size).map(Rank).map(|rank| {
            let ring = vec![None; plan.depths.ring as usize];
            Member { core: options.suite(&plan.parameters(rank).suite).unwrap(), ring }
        });
        let members = members.collect();
        let mut ranks = Ranks { members, inputs: VecDeque::new(), now: Instant::ZERO };
        for _ in 0..WARM_UP {
            ranks.broadcast(len);
        }
        ranks
    }

    /// A broadcast of `len` bytes by rank 0, from the first call to the last acknowledgement.
    ///
    /// # Panics
    /// If it does not end at every rank.
    pub fn broadcast(&mut self, len: u64) {
        self.now = self.now + Duration::from_micros(1);
        for member in &mut self.members {
            member.core.start(self.now, Rank(0), len).unwrap();
        }
        let mut complete = 0;
        for at in 0..self.members.len() {
            complete += self.drain(at);
        }
        while let Some((rank, input)) = self.inputs.pop_front() {
            self.handle(rank, input);
            complete += self.drain(rank.index());
        }
        assert_eq!(complete, self.members.len());
    }

    fn handle(&mut self, rank: Rank, input: Input) {
        let core = &mut self.members[rank.index()].core;
        match input {
            Input::Packet(packet) => {
                let disposition = core.handle_packet(self.now, &packet);
                let is_lost = matches!(disposition, Disposition::Hold | Disposition::Reject);
                assert!(!is_lost, "{rank} {disposition:?}");
            }
            Input::Delivered(to, token) => core.handle_delivered(self.now, to, token),
            Input::Report(from, counter, value) => {
                core.handle_report(self.now, from, counter, value);
            }
            Input::WriteAcked(to, counter) => core.handle_write_acked(self.now, to, counter),
        }
    }

    /// Takes what a core wants done; how many broadcasts are complete there now.
    fn drain(&mut self, at: usize) -> usize {
        let me = Rank(at as u32);
        while let Some(transmit) = self.members[at].core.poll_transmit(&Roomy) {
            match transmit {
                Transmit::Send { target, piece, range } => {
                    self.send(me, target, piece, range.len())
                }
                Transmit::Retain { packets, is_multicast } => {
                    for (slot, piece, range) in packets.iter() {
                        self.members[at].ring[slot as usize] = Some((piece, range.len()));
                        if is_multicast {
                            self.send(me, Target::Group, piece, range.len());
                        }
                    }
                }
                Transmit::Resend { to, slot, .. } => {
                    let (piece, len) = self.members[at].ring[slot as usize].unwrap();
                    self.send(me, Target::Rank(to), piece, len);
                }
                Transmit::Report { to, counter, value } => {
                    self.inputs.push_back((to, Input::Report(me, counter, value)));
                    self.inputs.push_back((me, Input::WriteAcked(to, counter)));
                }
                Transmit::Fetch { .. } => panic!("nothing is lost"),
                Transmit::Offer { .. } | Transmit::Write { .. } => panic!("no message is long"),
            }
        }
        let core = &mut self.members[at].core;
        core.take_partners();
        std::iter::from_fn(|| core.poll_event())
            .filter(|event| matches!(event, Event::Complete { .. }))
            .count()
    }

    fn send(&mut self, me: Rank, target: Target, piece: Piece, payload_len: usize) {
        let Piece { kind, op, fragment, message_len, report, asks } = piece;
        let packet = |via| {
            let source = me;
            Incoming {
                via,
                source,
                kind,
                op,
                fragment,
                message_len,
                payload_len,
                report,
                asks,
                memory: None,
            }
        };
        match target {
            Target::Group => {
                let all = (0..self.members.len() as u32).map(Rank);
                let packet = |rank| (rank, Input::Packet(packet(Via::Multicast)));
                self.inputs.extend(all.filter(|rank| *rank != me).map(packet));
            }
            Target::Rank(to) => {
                self.inputs.push_back((to, Input::Packet(packet(Via::Reliable))));
                self.inputs.push_back((me, Input::Delivered(to, piece.token())));
            }
        }
    }
}
