//! A transport that only takes notes.

use super::*;

/// Reports what a test puts in, and notes what is asked of it.
#[derive(Default)]
pub struct Notes {
    pub arrivals: VecDeque<Arrival>,
    pub packets: Vec<Vec<u8>>,
    pub probed: Vec<Rank>,
    pub fetched: Vec<(Rank, Token)>,
    pub reported: Vec<Rank>,
    pub told: Vec<Rank>,
    pub disconnected: Vec<Rank>,
    pub recycled: usize,
    /// What was asked for and may still wait.
    pub waiting: usize,
    pub submitted: usize,
    /// There is no room for datagrams.
    pub is_congested: bool,
    /// Connections take until a test ends them.
    pub is_slow: bool,
    pub connecting: Vec<Rank>,
    /// Others have left no receives for what may still come.
    pub is_full: bool,
    /// Others wait for what this rank hands on.
    pub has_mates: bool,
    /// Receive buffers are needed at once.
    pub is_scarce: bool,
    pub reserved: Option<(u64, OpId)>,
    pub polls: usize,
    /// Fragments that are here in order, and the runs that were asked for.
    pub in_order: u32,
    pub runs: Vec<(Fragment, u32)>,
    /// The only fragment of the next message is here.
    pub has_only: bool,
    /// It knows when there is nothing to do.
    pub knows_quiet: bool,
    pub expects_reports: bool,
    /// Reports are where they belong at once.
    pub tells_at_once: bool,
}

impl Notes {
    pub fn arrives(&mut self, packet: Vec<u8>) -> Buffer {
        self.packets.push(packet);
        Buffer { index: self.packets.len() as u32 - 1 }
    }
}

impl Room for Notes {
    fn multicast_room(&self) -> usize {
        usize::from(!self.is_congested)
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

type Done = Result<(), TransportError>;
type Sent = Result<Transfer, TransportError>;

impl Liveness for Notes {
    fn connect(&mut self, peer: Rank) -> Done {
        self.connecting.extend(self.is_slow.then_some(peer));
        Ok(())
    }

    fn is_connected(&self, peer: Rank) -> bool {
        !self.connecting.contains(&peer)
    }

    fn connected(&self) -> Vec<Rank> {
        Vec::new()
    }

    fn probe(&mut self, peer: Rank) -> Done {
        self.probed.push(peer);
        Ok(())
    }

    fn disconnect(&mut self, _: Instant, peer: Rank) {
        self.disconnected.push(peer);
    }
}

impl LentMessages for Notes {}

impl Transport for Notes {
    type Messages = Self;

    fn messages(&self) -> &Self {
        self
    }

    fn messages_mut(&mut self) -> &mut Self {
        self
    }

    fn multicast(&mut self, _: &[u8; HEADER_LEN], _: Payload<'_>) -> Sent {
        self.waiting += 1;
        Ok(Transfer::Copied)
    }

    fn reliable(&mut self, to: Rank, _: &[u8; HEADER_LEN], _: Payload<'_>, _: Token) -> Sent {
        self.told.push(to);
        self.waiting += 1;
        Ok(Transfer::Copied)
    }

    fn retain(&mut self, _: u32, _: &[u8; HEADER_LEN], _: Payload<'_>) -> Done {
        Ok(())
    }

    fn multicast_retained(&mut self, _: u32, _: &[u8; HEADER_LEN], _: Payload<'_>) -> Done {
        self.waiting += 1;
        Ok(())
    }

    fn reliable_retained(&mut self, _: Rank, _: u32, _: Token) -> Done {
        Ok(())
    }

    fn report(&mut self, to: Rank, _: Counter, _: u64) -> Result<bool, TransportError> {
        self.reported.push(to);
        Ok(self.tells_at_once)
    }

    fn fetch(&mut self, from: Rank, _: u32, token: Token) -> Done {
        self.fetched.push((from, token));
        Ok(())
    }

    fn reserve(&mut self, messages: u64, next: OpId) -> bool {
        self.reserved = Some((messages, next));
        !self.is_full
    }

    fn submit(&mut self) -> Done {
        self.waiting = 0;
        self.submitted += 1;
        Ok(())
    }

    fn poll(&mut self, _: Instant) -> Result<Option<Arrival>, TransportError> {
        self.polls += 1;
        Ok(self.arrivals.pop_front())
    }

    fn take_run(&mut self, run: &Run, into: Option<&mut [u8]>) -> Result<u32, TransportError> {
        let count = run.count.min(self.in_order);
        self.runs.push((run.first, run.count));
        self.in_order -= count;
        if let Some(bytes) = into {
            bytes[..count as usize * run.fragment_len].fill(7);
        }
        Ok(count)
    }

    fn take_only(&mut self, run: &Run, into: &mut [u8]) -> Result<bool, TransportError> {
        let is_here = std::mem::take(&mut self.has_only);
        if is_here {
            into.fill(run.op.0 as u8);
        }
        Ok(is_here)
    }

    fn packet(&self, buffer: &Buffer, key: Key) -> Result<Packet<'_>, Malformed> {
        Packet::parse(&self.packets[buffer.index as usize], key)
    }

    fn is_quiet(&mut self, _: Instant) -> bool {
        self.knows_quiet && self.arrivals.is_empty()
    }

    fn expect_reports(&mut self, are_expected: bool) {
        self.expects_reports = are_expected;
    }

    fn may_wait(&self) -> bool {
        !self.has_mates
    }

    fn may_stay(&self, _: &Buffer) -> bool {
        !self.is_scarce
    }

    fn recycle(&mut self, _: Buffer) -> Done {
        self.recycled += 1;
        Ok(())
    }
}
