//! Fragments that come one behind the other, taken together, over real verbs.

use crate::{needs, ranks, stranger};
use std::ops::Range;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::clock::Clock;
use verbcast::rdma::{self, Agreed, RdmaTransport};
use verbcast_core::protocol::{Room, Run};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Park, Payload, Transport};
use verbcast_core::wire::{Compact, FreeTags, Header, Kind};

const PATIENCE: Duration = Duration::from_secs(60);
/// Until what was sent has most likely come. Each further attempt waits so much longer.
const PAUSE: Duration = Duration::from_millis(200);
const ATTEMPTS: u32 = 20;
const ROOT: Rank = Rank(0);
/// What is in the memory of a fragment that has not come.
const NOTHING: u8 = 0xee;

struct Member<'a> {
    bootstrap: &'a mut ranks::Threads,
    transport: RdmaTransport,
    agreed: Agreed,
    group: String,
    clock: Clock,
    op: OpId,
}

impl Member<'_> {
    fn barrier(&mut self) {
        self.bootstrap.all_gather(&[]).unwrap();
    }

    /// Multicasts a fragment that fills its datagram.
    fn multicast(&mut self, message: &[u8], fragment: u32, asks: bool) {
        let len = self.transport.packet_len();
        let payload = &message[fragment as usize * len..][..len];
        let header = Header {
            kind: Kind::Fragment,
            source: ROOT,
            key: self.agreed.key,
            op: self.op,
            fragment: Fragment(fragment),
            message_len: message.len() as u64,
            report: 0,
            asks,
        };
        let begun = self.clock.now();
        while self.transport.multicast_room() == 0 || !self.transport.is_idle(fragment) {
            let now = self.clock.now();
            assert!(self.transport.poll(now).unwrap().is_none(), "its own do not come to it");
            assert!(now - begun < PATIENCE);
        }
        let (header, payload) = (header.emit(payload, false), Payload::Bytes(payload));
        self.transport.retain(fragment, &header, payload.clone()).unwrap();
        self.transport.multicast_retained(fragment, &header, payload).unwrap();
        self.transport.submit().unwrap();
    }

    /// The next datagram is put into the message; which fragment it was.
    fn next(&mut self, message: &mut [u8]) -> u32 {
        let begun = self.clock.now();
        loop {
            let now = self.clock.now();
            if let Some(Arrival::Packet { buffer, .. }) = self.transport.poll(now).unwrap() {
                let packet = self.transport.packet(&buffer, self.agreed.key).unwrap();
                let (fragment, payload) = (packet.header().fragment, packet.payload());
                let start = fragment.index() * payload.len();
                message[start..start + payload.len()].copy_from_slice(payload);
                self.transport.recycle(buffer).unwrap();
                return fragment.0;
            }
            assert!(now - begun < PATIENCE, "{:?}", self.transport.counters());
            self.transport.park(now - begun, PATIENCE).unwrap();
        }
    }

    /// Takes what has come together from one on, up to the last but one; how many.
    fn take_run(&mut self, message: &mut [u8], first: u32) -> u32 {
        let fragment_len = self.transport.packet_len();
        let count = (message.len() / fragment_len) as u32 - 1 - first;
        let run = Run { op: self.op, source: ROOT, first: Fragment(first), count, fragment_len };
        if count == 0 {
            0
        } else {
            self.transport.take_run(&run, Some(&mut message[run.range()])).unwrap()
        }
    }

    /// Receives all from one on, in runs where there are any; which they were.
    fn receive_all(&mut self, message: &mut [u8], mut next: u32) -> Vec<Range<u32>> {
        let (fragments, mut runs) = ((message.len() / self.transport.packet_len()) as u32, vec![]);
        while next < fragments {
            let count = self.take_run(message, next);
            if count == 0 {
                assert_eq!(
                    self.next(message),
                    next,
                    "on one device nothing is lost, nor overtaken"
                );
                next += 1;
            } else {
                runs.push(next..next + count);
                next += count;
            }
        }
        runs
    }
}

/// Runs rank 0, which multicasts a message of so many fragments, and rank 1, which receives it and says whether they were taken
/// together as they should be. It is tried again where they were not: they may have come late, one after the other.
fn run(
    fragments: usize,
    sends: impl Fn(&mut Member<'_>, &[u8]) + Sync,
    receives: impl Fn(&mut Member<'_>, &mut [u8]) -> bool + Sync,
) {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut settings = ranks::flat().device;
        settings.devices = devices.clone();
        let me = bootstrap.rank();
        let (transport, agreed, description) =
            rdma::establish(bootstrap, &settings, &[], None).unwrap();
        let group = description.group.unwrap();
        let (clock, op) = (Clock::of_process(), OpId(7));
        let mut member = Member { bootstrap, transport, agreed, group, clock, op };
        let message = ranks::message(3, fragments * member.transport.packet_len());
        let as_it_should = (1..=ATTEMPTS).any(|attempt| {
            member.op.0 += 1;
            member.transport.begin(member.op, member.transport.packet_len());
            member.barrier();
            let mut is_good = false;
            if me == ROOT {
                sends(&mut member, &message);
                member.barrier();
            } else {
                member.barrier();
                std::thread::sleep(PAUSE * attempt);
                let mut received = vec![NOTHING; message.len()];
                is_good = receives(&mut member, &mut received);
                assert!(received == message);
            }
            let said = member.bootstrap.all_gather(&[u8::from(is_good)]).unwrap();
            said.iter().any(|said| said[0] != 0)
        });
        assert!(as_it_should, "in none of {ATTEMPTS} attempts");
    });
}

#[test]
fn fragments_in_order_are_taken_together() {
    const FRAGMENTS: u32 = 100;
    run(
        FRAGMENTS as usize,
        |member, message| {
            (0..FRAGMENTS).for_each(|fragment| member.multicast(message, fragment, false));
        },
        |member, message| {
            let in_runs: u32 =
                member.receive_all(message, 0).iter().map(|run| run.end - run.start).sum();
            println!("{in_runs} of {FRAGMENTS} in runs");
            in_runs > FRAGMENTS / 2
        },
    );
}

#[test]
fn a_fragment_that_asks_ends_a_run() {
    run(
        6,
        |member, message| {
            (0..6).for_each(|fragment| member.multicast(message, fragment, fragment == 3));
        },
        |member, message| {
            assert_eq!(member.next(message), 0);
            let runs = member.receive_all(message, 1);
            assert!(!runs.iter().any(|run| run.contains(&3) || run.contains(&5)), "{runs:?}");
            runs == [1..3, 4..5]
        },
    );
}

#[test]
fn a_fragment_that_is_missing_ends_a_run() {
    run(
        6,
        |member, message| {
            [0, 1, 3, 4, 5, 2]
                .iter()
                .for_each(|fragment| member.multicast(message, *fragment, false));
        },
        |member, message| {
            assert_eq!(member.next(message), 0);
            let count = member.take_run(message, 1);
            if count == 0 {
                assert_eq!(member.next(message), 1);
            }
            assert_eq!(member.take_run(message, 2), 0);
            let later: Vec<u32> = (0..4).map(|_| member.next(message)).collect();
            assert_eq!(later, [3, 4, 5, 2]);
            count == 1
        },
    );
}

/// Its header says what is expected next, but it comes from elsewhere.
#[test]
fn a_fragment_of_a_stranger_is_none_of_a_run() {
    run(
        6,
        |member, message| {
            (0..3).for_each(|fragment| member.multicast(message, fragment, false));
            let tag = FreeTags::choose([FreeTags::ALL], member.agreed.key).unwrap();
            stranger::forge_fragment(&member.group, Compact::plain(tag, member.op, Fragment(3)));
            (3..6).for_each(|fragment| member.multicast(message, fragment, false));
        },
        |member, message| {
            let foreign = member.transport.counters().foreign;
            assert_eq!(member.next(message), 0);
            let count = member.take_run(message, 1);
            let len = member.transport.packet_len();
            assert!(
                message[3 * len..].iter().all(|byte| *byte == NOTHING),
                "what it sent is nowhere"
            );
            member.receive_all(message, 1 + count);
            assert_eq!(member.transport.counters().foreign, foreign + 1);
            count == 2
        },
    );
}
