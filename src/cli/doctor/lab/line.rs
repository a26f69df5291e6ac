//! One end of a reliable connection, with memory that the other end may write and read.

use super::{Lab, Site};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};
use verbcast_core::wire::HEADER_LEN;
use verbcast_verbs::{
    Access, CompletionQueue, End, Error, Outcome, PathTo, Patience, Pool, QueuePair, Remote,
    Service, Shared, SharedReceiveQueue,
};

/// What the other end has to know.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LineEnd {
    qpn: u32,
    psn: u32,
    gid: [u8; 16],
    lid: u16,
    mtu: usize,
    write: (u64, u32),
    read: (u64, u32),
}

impl LineEnd {
    /// The memory there that may be written.
    pub fn write(&self) -> Remote {
        Remote { address: self.write.0, key: self.write.1 }
    }

    /// The memory there that may be read.
    pub fn read(&self) -> Remote {
        Remote { address: self.read.0, key: self.read.1 }
    }
}

pub struct Line {
    pub qp: QueuePair,
    cq: CompletionQueue,
    /// What the other end may write into.
    pub writable: Shared,
    /// What it may read.
    pub readable: Shared,
    /// Memory of the own requests.
    pub own: Shared,
    end: LineEnd,
    site: Site,
    next: u64,
    done: u64,
    _parts: (Pool, SharedReceiveQueue),
}

/// Bytes of each piece of memory, at least.
const MEMORY: usize = 8192;
/// Requests under way at most.
const REQUESTS: u32 = 64;

impl Line {
    pub fn new(lab: &Lab) -> Result<Line, String> {
        Self::make(lab).map_err(|error| error.to_string())
    }

    fn make(lab: &Lab) -> Result<Line, Error> {
        let domain = &lab.domain;
        let cq = CompletionQueue::new(&lab.context, REQUESTS)?;
        let (pool, _) = Pool::new(domain, 1, 64)?;
        let srq = SharedReceiveQueue::new(domain, &pool, 1)?;
        let mut qp = QueuePair::connection(domain, &cq, (&pool, &pool), REQUESTS, &srq)?;
        qp.bind(lab.at)?;
        let writable = Shared::new(domain, MEMORY, Access::Write)?;
        let readable = Shared::new(domain, MEMORY, Access::Read)?;
        let own = Shared::new(domain, MEMORY, Access::None)?;
        let place = |memory: &Shared| (memory.remote().address, memory.remote().key);
        let end = LineEnd {
            qpn: qp.number(),
            psn: 1,
            gid: lab.site.gid,
            lid: lab.site.lid,
            mtu: lab.site.mtu,
            write: place(&writable),
            read: place(&readable),
        };
        let site = lab.site.clone();
        let _parts = (pool, srq);
        Ok(Line { qp, cq, writable, readable, own, end, site, next: 0, done: 0, _parts })
    }

    pub fn end(&self) -> LineEnd {
        self.end
    }

    /// Connects with the other end, with so many RDMA reads at a time.
    pub fn connect(&mut self, other: &LineEnd, reads: u8) -> Result<(), String> {
        let Site { port, gid_index, .. } = self.site;
        let (gid, lid, source_index) = (other.gid, other.lid, gid_index);
        let service = Service {
            sl: self.site.settings.service_level.unwrap_or(0),
            traffic_class: self.site.settings.traffic_class.unwrap_or(0),
        };
        let path = PathTo { gid, lid, port, source_index, service };
        let mtu = self.end.mtu.min(other.mtu);
        let end = End { qpn: other.qpn, psn: other.psn };
        let patience = Patience::at_least(self.site.settings.ack_timeout);
        self.qp
            .connect(&path, mtu, self.end.psn, end, patience, reads)
            .map_err(|error| error.to_string())
    }

    /// The number of the next request.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Replaces the packet that the other end may read, as ranks do in their rings.
    pub fn keep(&mut self, packet: &[u8]) {
        self.readable.write(0, &[0; 8]);
        fence(Ordering::Release);
        self.readable.write(HEADER_LEN, &packet[HEADER_LEN..]);
        fence(Ordering::Release);
        self.readable.write(0, &packet[..HEADER_LEN]);
    }

    /// Reads a packet of `len` bytes that the other end keeps, and its header again, as ranks do.
    pub fn read_kept(
        &mut self,
        from: &LineEnd,
        len: usize,
        within: Duration,
    ) -> Result<Vec<u8>, String> {
        let payload_len = len - HEADER_LEN;
        let parts =
            [(0, HEADER_LEN, 0), (HEADER_LEN, payload_len, HEADER_LEN), (len, HEADER_LEN, 0)];
        for (into, len, at) in parts {
            let (span, id) = (self.own.span(into, len), self.number());
            let queued = self.qp.read_into(&span, from.read().at(at), id);
            queued.map_err(|error| error.to_string())?;
            self.settle(within)?;
        }
        let mut bytes = vec![0; len + HEADER_LEN];
        self.own.copy(0, &mut bytes);
        Ok(bytes)
    }

    /// Hands over what was queued and waits until all of it has completed; how long that took.
    pub fn settle(&mut self, within: Duration) -> Result<Duration, String> {
        let begun = Instant::now();
        self.qp.submit().map_err(|error| error.to_string())?;
        while self.done < self.next {
            let mut failure = None;
            let done = &mut self.done;
            let any = self.cq.poll(|completion| match completion.outcome {
                Outcome::Done(_) => *done = (*done).max(completion.id),
                Outcome::Flushed => failure = failure.take().or(Some("flushed".to_owned())),
                Outcome::Failed(what) => failure = Some(what.to_owned()),
            });
            if !any.map_err(|error| error.to_string())? {
                thread::yield_now();
            }
            if let Some(what) = failure {
                return Err(what);
            }
            if self.done < self.next && begun.elapsed() >= within {
                return Err(format!("no completion within {within:?}"));
            }
        }
        Ok(begun.elapsed())
    }
}
