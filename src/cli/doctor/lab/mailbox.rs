//! A UD QP with memory of its own: datagrams out and in.

use super::{Joined, Lab};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};
use verbcast_verbs::{
    Access, Attachment, CompletionQueue, Error, Outcome, Pool, PortPartition, ProtectionDomain,
    QueuePair, Shared,
};

/// Bytes in front of the payload of a received datagram.
pub const GRH: usize = 40;
/// The QP number of all QPs that are attached to a group.
const MULTICAST_QPN: u32 = 0xff_ffff;
/// Sends under way at most.
const SENDS: u64 = 32;
/// Marks the numbers of sends.
const SEND: u64 = 1 << 63;
/// How long a send may take to complete.
const PATIENCE: Duration = Duration::from_secs(3);

/// What came of a receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// All that was received, from the place of the GRH on.
    Datagram(Vec<u8>),
    /// The receive of this place was flushed.
    Flushed(u32),
    /// It failed, in the library's words.
    Failed(String),
}

pub struct Mailbox {
    pub qp: QueuePair,
    pub cq: CompletionQueue,
    at: PortPartition,
    qkey: u32,
    depth: u32,
    inbox: Shared,
    /// Bytes of a place in the inbox.
    pub place: usize,
    outbox: Shared,
    payload: usize,
    domain: ProtectionDomain,
    sent: u64,
    acknowledged: u64,
    arrived: VecDeque<(u32, Arrival)>,
    pool: Pool,
}

impl Mailbox {
    /// One whose QP is ready and has no receives yet.
    pub fn new(lab: &Lab, qkey: u32, depth: u32) -> Result<Mailbox, String> {
        Self::make(lab, qkey, depth).map_err(|error| error.to_string())
    }

    fn make(lab: &Lab, qkey: u32, depth: u32) -> Result<Mailbox, Error> {
        let payload = lab.site.mtu;
        let place = (GRH + payload).next_multiple_of(64);
        let cq = CompletionQueue::new(&lab.context, depth + SENDS as u32)?;
        let (pool, _) = Pool::new(&lab.domain, 1, 64)?;
        let sends = (&pool, SENDS as u32);
        let mut qp = QueuePair::datagram(&lab.domain, &cq, sends, (&pool, depth))?;
        qp.ready_datagrams(lab.at, qkey)?;
        Ok(Mailbox {
            qp,
            cq,
            at: lab.at,
            qkey,
            depth,
            inbox: Shared::new(&lab.domain, depth as usize * place, Access::None)?,
            place,
            outbox: Shared::new(&lab.domain, SENDS as usize * payload, Access::None)?,
            payload,
            domain: lab.domain.clone(),
            sent: 0,
            acknowledged: 0,
            arrived: VecDeque::new(),
            pool,
        })
    }

    pub fn attach(&self, joined: &Joined) -> Result<Attachment, String> {
        let (mgid, mlid) = (joined.path.mgid(), joined.path.mlid());
        Attachment::new(&self.qp, mgid, mlid).map_err(|error| error.to_string())
    }

    /// Makes the QP ready again by a reset; why the adapter refuses, if it does.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.qp.reset()?;
        self.qp.ready_datagrams(self.at, self.qkey)
    }

    /// Takes a new QP, which is in no group.
    pub fn replace(&mut self) -> Result<(), String> {
        let (sends, receives) = ((&self.pool, SENDS as u32), (&self.pool, self.depth));
        let qp = QueuePair::datagram(&self.domain, &self.cq, sends, receives);
        self.qp = qp.map_err(|error| error.to_string())?;
        self.qp.ready_datagrams(self.at, self.qkey).map_err(|error| error.to_string())
    }

    /// Posts the first `count` places.
    pub fn post(&mut self, count: u32) -> Result<(), String> {
        (0..count.min(self.depth)).try_for_each(|place| self.post_place(place, self.place))?;
        self.qp.submit_receives().map_err(|error| error.to_string())
    }

    /// Posts the first `len` bytes of a place, with what is posted next.
    pub fn post_place(&mut self, place: u32, len: usize) -> Result<(), String> {
        let span = self.inbox.span(place as usize * self.place, len);
        self.qp.post_receive_into(&span, place.into()).map_err(|error| error.to_string())
    }

    /// Multicasts a datagram, as soon as there is room for it.
    pub fn send(&mut self, joined: &Joined, payload: &[u8]) -> Result<(), String> {
        self.until_sent(self.sent.saturating_sub(SENDS - 1))?;
        let offset = (self.sent % SENDS) as usize * self.payload;
        self.outbox.write(offset, payload);
        let span = self.outbox.span(offset, payload.len());
        let to = (MULTICAST_QPN, self.qkey);
        self.qp
            .send_datagram_from(&[span], SEND | self.sent, &joined.handle, to)
            .and_then(|()| self.qp.submit())
            .map_err(|error| error.to_string())?;
        self.sent += 1;
        Ok(())
    }

    /// Waits until everything is sent.
    pub fn settle(&mut self) -> Result<(), String> {
        self.until_sent(self.sent)
    }

    fn until_sent(&mut self, count: u64) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while self.acknowledged < count {
            if Instant::now() >= until {
                return Err(format!("a send did not complete within {PATIENCE:?}"));
            }
            self.poll()?;
        }
        Ok(())
    }

    /// The next thing that comes, if it comes in time. The place of a datagram is posted again.
    pub fn receive(&mut self, within: Duration) -> Result<Option<Arrival>, String> {
        let arrived = self.take(within)?;
        if let Some((place, Arrival::Datagram(_))) = &arrived {
            self.post_place(*place, self.place)?;
            self.qp.submit_receives().map_err(|error| error.to_string())?;
        }
        Ok(arrived.map(|(_, arrival)| arrival))
    }

    /// The next thing that comes, with its place, which is not posted again.
    pub fn take(&mut self, within: Duration) -> Result<Option<(u32, Arrival)>, String> {
        let until = Instant::now() + within;
        loop {
            if let Some(arrived) = self.arrived.pop_front() {
                return Ok(Some(arrived));
            }
            if !self.poll()? && Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// The payload of the next datagram that `wanted` accepts, if it comes in time.
    pub fn expect(
        &mut self,
        within: Duration,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Vec<u8>>, String> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                None => return Ok(None),
                Some(Arrival::Datagram(bytes)) if bytes.len() > GRH && wanted(&bytes[GRH..]) => {
                    return Ok(Some(bytes[GRH..].to_vec()));
                }
                Some(Arrival::Failed(what)) => return Err(format!("a receive failed: {what}")),
                Some(_) => {}
            }
        }
    }

    fn poll(&mut self) -> Result<bool, String> {
        let mut failure = None;
        let (arrived, acknowledged) = (&mut self.arrived, &mut self.acknowledged);
        let (inbox, place) = (&self.inbox, self.place);
        let any = self.cq.poll(|completion| match (completion.id & SEND, completion.outcome) {
            (0, outcome) => {
                let at = completion.id as u32;
                arrived.push_back((at, arrival(inbox, at, place, outcome)));
            }
            // A flushed send went with a QP that was given up.
            (_, Outcome::Done(_) | Outcome::Flushed) => {
                *acknowledged = (*acknowledged).max((completion.id & !SEND) + 1);
            }
            (_, Outcome::Failed(what)) => failure = Some(format!("a send failed: {what}")),
        });
        let any = any.map_err(|error| error.to_string())?;
        if !any {
            thread::yield_now();
        }
        failure.map_or(Ok(any), Err)
    }
}

fn arrival(inbox: &Shared, at: u32, place: usize, outcome: Outcome) -> Arrival {
    match outcome {
        Outcome::Done(len) => {
            let mut bytes = vec![0; len.min(place)];
            inbox.copy(at as usize * place, &mut bytes);
            Arrival::Datagram(bytes)
        }
        Outcome::Flushed => Arrival::Flushed(at),
        Outcome::Failed(what) => Arrival::Failed(what.to_owned()),
    }
}
