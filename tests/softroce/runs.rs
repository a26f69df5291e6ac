//! Fragments that come one behind the other, taken together, over real verbs.

use crate::{needs, ranks, stranger};
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::clock::Clock;
use verbcast::rdma::{self, Agreed, RdmaTransport, Settings};
use verbcast_core::protocol::{Room, Run};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Park, Payload, Transport};
use verbcast_core::wire::{Compact, FreeTags, Header, Kind};

const PATIENCE: Duration = Duration::from_secs(60);
/// Until what was sent has come.
const PAUSE: Duration = Duration::from_millis(300);
const OP: OpId = OpId(7);
const ROOT: Rank = Rank(0);
/// What is in the memory of a fragment that has not come.
const NOTHING: u8 = 0xee;

struct Member<'a> {
    bootstrap: &'a mut ranks::Threads,
    transport: RdmaTransport,
    agreed: Agreed,
    group: String,
    clock: Clock,
}

impl Member<'_> {
    fn barrier(&mut self) {
        self.bootstrap.all_gather(&[]).unwrap();
    }

    /// Waits until what the root multicasts before the barrier has come.
    fn until_all_came(&mut self) {
        self.barrier();
        std::thread::sleep(PAUSE);
    }

    /// Multicasts a fragment that fills its datagram.
    fn multicast(&mut self, message: &[u8], fragment: u32, asks: bool) {
        let len = self.transport.packet_len();
        let payload = &message[fragment as usize * len..][..len];
        let header = Header {
            kind: Kind::Fragment,
            source: ROOT,
            key: self.agreed.key,
            op: OP,
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
        self.transport
            .retain(fragment, &header.emit(payload, false), Payload::Bytes(payload))
            .unwrap();
        self.transport.multicast_retained(fragment).unwrap();
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

    /// Takes the fragments from one on, up to the last but one, as far as they have come together; how many.
    fn take_run(&mut self, message: &mut [u8], first: u32) -> u32 {
        let fragment_len = self.transport.packet_len();
        let count = (message.len() / fragment_len) as u32 - 1 - first;
        let run = Run { op: OP, source: ROOT, first: Fragment(first), count, fragment_len };
        if count == 0 {
            0
        } else {
            self.transport.take_run(&run, Some(&mut message[run.range()])).unwrap()
        }
    }
}

/// Runs rank 0, which multicasts a message of so many fragments, and rank 1, which receives it. They meet at barriers.
fn run(
    fragments: usize,
    sends: impl Fn(&mut Member<'_>, &[u8]) + Sync,
    receives: impl Fn(&mut Member<'_>, &mut [u8]) + Sync,
) {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut settings = Settings::default();
        settings.devices = devices.clone();
        let me = bootstrap.rank();
        let (mut transport, agreed, description) =
            rdma::establish(bootstrap, &settings, &[], None).unwrap();
        transport.begin(OP, transport.packet_len());
        let group = description.group.unwrap();
        let mut member = Member { bootstrap, transport, agreed, group, clock: Clock::of_process() };
        let message = ranks::message(3, fragments * member.transport.packet_len());
        member.barrier();
        if me == ROOT {
            sends(&mut member, &message);
        } else {
            let mut received = vec![NOTHING; message.len()];
            receives(&mut member, &mut received);
            assert!(received == message);
        }
        member.barrier();
    });
}

/// Receives all fragments from one on, in runs where there are any; how many came so.
fn receive_all(member: &mut Member<'_>, message: &mut [u8], mut next: u32) -> u32 {
    let (fragments, mut in_runs) = ((message.len() / member.transport.packet_len()) as u32, 0);
    while next < fragments {
        let count = member.take_run(message, next);
        in_runs += count;
        next += count;
        if count == 0 {
            assert_eq!(member.next(message), next, "on one device nothing is lost, nor overtaken");
            next += 1;
        }
    }
    in_runs
}

#[test]
fn fragments_in_order_are_taken_together() {
    const FRAGMENTS: u32 = 100;
    run(
        FRAGMENTS as usize,
        |member, message| {
            (0..FRAGMENTS).for_each(|fragment| member.multicast(message, fragment, false));
            member.barrier();
        },
        |member, message| {
            member.until_all_came();
            let in_runs = receive_all(member, message, 0);
            println!("{in_runs} of {FRAGMENTS} in runs");
            assert!(in_runs > FRAGMENTS / 2);
        },
    );
}

#[test]
fn a_fragment_that_asks_ends_a_run() {
    run(
        6,
        |member, message| {
            (0..6).for_each(|fragment| member.multicast(message, fragment, fragment == 3));
            member.barrier();
        },
        |member, message| {
            member.until_all_came();
            assert_eq!(member.next(message), 0);
            assert_eq!(member.take_run(message, 1), 2);
            assert_eq!(member.take_run(message, 3), 0);
            assert_eq!(member.next(message), 3);
            assert_eq!(member.take_run(message, 4), 1, "the last is none of a run");
            assert_eq!(member.next(message), 5);
        },
    );
}

#[test]
fn a_fragment_that_is_missing_ends_a_run() {
    run(
        6,
        |member, message| {
            [0, 1, 3, 4, 5].iter().for_each(|fragment| member.multicast(message, *fragment, false));
            member.barrier();
            member.multicast(message, 2, false);
        },
        |member, message| {
            member.until_all_came();
            assert_eq!(member.next(message), 0);
            assert_eq!(member.take_run(message, 1), 1);
            assert_eq!(member.take_run(message, 2), 0);
            let later: Vec<u32> = (0..4).map(|_| member.next(message)).collect();
            assert_eq!(later, [3, 4, 5, 2]);
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
            stranger::forge_fragment(&member.group, Compact::plain(tag, OP, Fragment(3)));
            (3..6).for_each(|fragment| member.multicast(message, fragment, false));
            member.barrier();
        },
        |member, message| {
            member.until_all_came();
            assert_eq!(member.next(message), 0);
            assert_eq!(member.take_run(message, 1), 2);
            let len = member.transport.packet_len();
            assert!(
                message[3 * len..].iter().all(|byte| *byte == NOTHING),
                "what it sent is nowhere"
            );
            receive_all(member, message, 3);
            assert_eq!(member.transport.counters().foreign, 1);
        },
    );
}
