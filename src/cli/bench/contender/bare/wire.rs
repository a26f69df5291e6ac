//! Packets of the floor: a part of the message each, and its number in the immediate.

use crate::doctor::lab::{GRH, Joined, Lab};
use verbcast_verbs::{
    Access, Attachment, CompletionQueue, Error, Outcome, Pool, QueuePair, Shared, Span,
};

/// Receives that are posted at most.
pub const DEPTH: u64 = 1024;
/// Sends under way at most.
const SENDS: u64 = 128;
/// The QP number of all QPs that are attached to a group.
const MULTICAST_QPN: u32 = 0xff_ffff;
/// Marks the numbers of sends.
const SEND: u64 = 1 << 63;

/// A UD QP in a group. Packets are numbered from 0 on, and packet `n` lands in place `n` of [`DEPTH`], all of it
/// behind the GRH.
pub struct Wire {
    // Dropped in this order.
    attachment: Attachment,
    qp: QueuePair,
    joined: Joined,
    cq: CompletionQueue,
    lab: Lab,
    mtu: usize,
    /// Where packets land.
    places: Shared,
    /// For each place, where the GRH goes, which nobody reads, and where the rest does.
    receives: Vec<[Span; 2]>,
    /// The message that is sent.
    message: Shared,
    /// Its packets.
    packets: Vec<Span>,
    sent: u64,
    done: u64,
    posted: u64,
    came: u64,
    _pool: Pool,
}

impl Wire {
    /// Without receives, so that what a root sends to itself ends at its adapter.
    pub fn open(lab: Lab, joined: Joined) -> Result<Wire, String> {
        Self::make(lab, joined).map_err(|error| error.to_string())
    }

    fn make(lab: Lab, joined: Joined) -> Result<Wire, Error> {
        let (domain, mtu) = (&lab.domain, lab.site.mtu);
        let cq = CompletionQueue::new(&lab.context, (DEPTH + SENDS) as u32)?;
        let (pool, _) = Pool::new(domain, 1, 64)?;
        let mut qp =
            QueuePair::datagram(domain, &cq, (&pool, SENDS as u32), (&pool, DEPTH as u32))?;
        qp.ready_datagrams(lab.at, joined.path.qkey)?;
        let attachment = Attachment::new(&qp, joined.path.mgid(), joined.path.mlid())?;
        let grh = Shared::new(domain, GRH, Access::None)?;
        let places = Shared::new(domain, DEPTH as usize * mtu, Access::None)?;
        let receive = |place| [grh.span(0, GRH), places.span(place * mtu, mtu)];
        Ok(Wire {
            attachment,
            qp,
            joined,
            cq,
            mtu,
            receives: (0..DEPTH as usize).map(receive).collect(),
            places,
            message: Shared::new(domain, 0, Access::None)?,
            packets: Vec::new(),
            sent: 0,
            done: 0,
            posted: 0,
            came: 0,
            lab,
            _pool: pool,
        })
    }

    /// Packets of a message of so many bytes.
    pub fn packets_of(&self, len: usize) -> u64 {
        len.div_ceil(self.mtu).max(1) as u64
    }

    /// Takes the message that is to be sent.
    pub fn load(&mut self, message: &[u8]) -> Result<(), String> {
        self.message = Shared::new(&self.lab.domain, message.len(), Access::None)
            .map_err(|error| error.to_string())?;
        self.message.write(0, message);
        let part = |at: u64| {
            let start = at as usize * self.mtu;
            self.message.span(start, self.mtu.min(message.len() - start))
        };
        self.packets = (0..self.packets_of(message.len())).map(part).collect();
        Ok(())
    }

    /// Copies the packets from `first` on to where the message is wanted, those that have not been overwritten; where
    /// in it they begin.
    pub fn unload(&self, first: u64, message: &mut [u8]) -> usize {
        let kept = first.max(self.came.saturating_sub(DEPTH));
        let begin = (kept - first) as usize * self.mtu;
        for (number, part) in (kept..).zip(message[begin..].chunks_mut(self.mtu)) {
            self.places.copy((number % DEPTH) as usize * self.mtu, part);
        }
        begin
    }

    /// Packets that have come.
    pub fn came(&self) -> u64 {
        self.came
    }

    /// Packets that were sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether all sends have ended.
    pub fn is_done(&self) -> bool {
        self.done == self.sent
    }

    /// Whether there is room for one more send.
    pub fn has_room(&self) -> bool {
        self.sent - self.done < SENDS
    }

    /// Sends a packet of the message, together with those before and after it.
    pub fn send(&mut self, packet: u64) -> Result<(), String> {
        let (number, span) = (self.sent, &self.packets[packet as usize]);
        self.sent += 1;
        let to = (MULTICAST_QPN, self.joined.path.qkey);
        self.qp
            .send_datagram_numbered((span, number as u32), SEND | number, &self.joined.handle, to)
            .map_err(|error| error.to_string())
    }

    /// Rings the doorbell for what was not sent yet.
    pub fn submit(&mut self) -> Result<(), String> {
        self.qp.submit().map_err(|error| error.to_string())
    }

    /// Posts the receives of all packets before `end`, whose places nobody needs.
    pub fn post_until(&mut self, end: u64) -> Result<(), String> {
        let posted = (self.posted..end).try_for_each(|number| {
            let [grh, place] = &self.receives[(number % DEPTH) as usize];
            self.qp.post_receive_scattered([grh, place], number)
        });
        self.posted = self.posted.max(end);
        posted.and_then(|()| self.qp.submit_receives()).map_err(|error| error.to_string())
    }

    /// Takes completions; whether there were any.
    pub fn poll(&mut self) -> Result<bool, String> {
        let (done, came) = (&mut self.done, &mut self.came);
        let mut failure = None;
        let any = self.cq.poll(|completion| match (completion.outcome, completion.immediate) {
            (Outcome::Done(_), None) => *done = (completion.id & !SEND) + 1,
            (Outcome::Done(_), Some(number)) if number == *came as u32 => *came += 1,
            (Outcome::Done(_), Some(number)) => {
                failure = Some(format!(
                    "packet {number} came where {came} was due: bare repairs nothing, and needs a network that loses \
                     nothing and keeps the order"
                ));
            }
            (Outcome::Flushed, _) => failure = Some("a request was flushed".to_owned()),
            (Outcome::Failed(what), _) => failure = Some(format!("a request failed: {what}")),
        });
        match (any, failure) {
            (_, Some(what)) => Err(what),
            (any, None) => any.map_err(|error| error.to_string()),
        }
    }

    /// Leaves the group.
    pub fn close(self) -> Result<(), String> {
        self.attachment.close().map_err(|error| error.to_string())
    }
}
