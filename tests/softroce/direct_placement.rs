//! Receives into place, one by one, over real verbs.

use crate::needs;
use crate::ranks;
use std::ops::Range;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::clock::Clock;
use verbcast::rdma::{self, Claims, RdmaTransport};
use verbcast_core::driver::LentBytes;
use verbcast_core::protocol::{Room, Token, Via};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{
    Arrival, Buffer, LentMessages, Liveness, Origin, Park, Payload, Purpose, Transfer, Transport,
};
use verbcast_core::wire::{FailureKind, HEADER_LEN, Header, Key, Kind, MacKey, Notice};

const PATIENCE: Duration = Duration::from_secs(60);
const DEPTH: usize = 16;
/// Fragments between barriers. Receives that are posted again reach the device with the next look at it. So after a
/// barrier it lacks those of the last burst, and of the set-up's probes that came with it.
const BURST: usize = 4;
const FRAGMENTS: usize = 100;
const OP: OpId = OpId(7);

struct Member<'a> {
    bootstrap: &'a mut ranks::Threads,
    transport: RdmaTransport,
    key: Key,
    mac: Option<MacKey>,
    clock: Clock,
}

impl Member<'_> {
    fn barrier(&mut self) {
        self.bootstrap.all_gather(&[]).unwrap();
    }

    fn fragment_len(&self) -> usize {
        self.transport.packet_len() - HEADER_LEN
    }

    fn message(&self) -> Vec<u8> {
        ranks::message(3, FRAGMENTS * self.fragment_len())
    }

    /// Multicasts fragments, and waits until all have left.
    fn multicast(&mut self, message: &[u8], fragments: impl Iterator<Item = usize>) {
        self.multicast_with(message, fragments, |_| {});
    }

    /// The same with headers that `change` has changed.
    fn multicast_with(
        &mut self,
        message: &[u8],
        fragments: impl Iterator<Item = usize>,
        change: impl Fn(&mut [u8; HEADER_LEN]),
    ) {
        let room = self.transport.multicast_room();
        for fragment in fragments {
            self.wait_for_room(1);
            let len = self.fragment_len();
            let payload = &message[fragment * len..][..len];
            let header = Header {
                kind: Kind::Fragment,
                source: Rank(0),
                key: self.key,
                op: OP,
                fragment: Fragment(fragment as u32),
                message_len: message.len() as u64,
                report: 0,
                asks: false,
            };
            let mut header = header.emit_as(payload, true, self.mac.as_ref());
            change(&mut header);
            self.transport.multicast(&header, Payload::Bytes(payload)).unwrap();
        }
        self.wait_for_room(room);
    }

    /// Returns when so many datagrams can be sent.
    fn wait_for_room(&mut self, room: usize) {
        let begun = self.clock.now();
        while self.transport.multicast_room() < room {
            assert!(self.receive().is_none(), "its own fragments do not come to it");
            let now = self.clock.now();
            assert!(now - begun < PATIENCE);
            self.transport.park(now - begun, PATIENCE).unwrap();
        }
    }

    /// A datagram that has come; it is dropped.
    fn receive(&mut self) -> Option<()> {
        let arrival = self.transport.poll(self.clock.now()).unwrap()?;
        let Arrival::Packet { via: Via::Multicast, buffer } = arrival else { return None };
        self.transport.recycle(buffer).unwrap();
        Some(())
    }

    fn next(&mut self) -> Option<()> {
        let begun = self.clock.now();
        loop {
            if let Some(received) = self.receive() {
                return Some(received);
            }
            let now = self.clock.now();
            assert!(now - begun < PATIENCE);
            self.transport.park(now - begun, PATIENCE).unwrap();
        }
    }
}

/// The next datagram, and the fragment that it is.
fn next_fragment(transport: &mut RdmaTransport, clock: &Clock, key: Key) -> (usize, Buffer) {
    let begun = clock.now();
    loop {
        let now = clock.now();
        match transport.poll(now).unwrap() {
            Some(Arrival::Packet { buffer, .. }) => {
                let packet = transport.packet(&buffer, key).unwrap();
                return (packet.header().fragment.index(), buffer);
            }
            Some(_) => {}
            None => transport.park(now - begun, PATIENCE).unwrap(),
        }
        assert!(now - begun < PATIENCE, "{:?}", transport.counters());
    }
}

/// Takes `count` datagrams and puts them into the message; how many were there already.
fn place(transport: &mut RdmaTransport, clock: &Clock, key: Key, count: usize) -> usize {
    let len = transport.packet_len() - HEADER_LEN;
    let mut already = 0;
    for _ in 0..count {
        let (fragment, buffer) = next_fragment(transport, clock, key);
        let range = fragment * len..(fragment + 1) * len;
        let placed = transport.place(OP, range, Origin::Received(&buffer)).unwrap().unwrap();
        already += usize::from(placed == Transfer::InPlace);
        transport.recycle(buffer).unwrap();
    }
    already
}

/// Runs rank 0, which multicasts, and rank 1, which receives into a message that it lends. They meet at
/// barriers.
fn run(
    devices: &[String],
    sends: impl Fn(&mut Member<'_>, &[u8]) + Sync,
    receives: impl Fn(&mut Member<'_>, &[u8]) + Sync,
) {
    run_with(false, devices, sends, receives);
}

/// The same with authentication codes or without.
fn run_with(
    mac: bool,
    devices: &[String],
    sends: impl Fn(&mut Member<'_>, &[u8]) + Sync,
    receives: impl Fn(&mut Member<'_>, &[u8]) + Sync,
) {
    ranks::run(2, |bootstrap| {
        let mut settings = ranks::flat().device;
        settings.devices = devices.to_vec();
        settings.depths.receive = DEPTH as u32;
        settings.zero_copy = Some(1);
        settings.mac = mac;
        let me = bootstrap.rank();
        let (transport, agreed, _) = rdma::establish(bootstrap, &settings, &[], None).unwrap();
        let mut member = Member {
            bootstrap,
            transport,
            key: agreed.key,
            mac: agreed.mac,
            clock: Clock::of_process(),
        };
        let message = member.message();
        member.barrier();
        match me {
            Rank(0) => sends(&mut member, &message),
            _ => receives(&mut member, &message),
        }
        member.barrier();
    });
}

fn lend(member: &mut Member<'_>, message: &mut [u8], body: impl FnOnce(&mut Member<'_>)) {
    lend_for(Purpose::Receive, member, message, body);
}

fn lend_for(
    purpose: Purpose,
    member: &mut Member<'_>,
    message: &mut [u8],
    body: impl FnOnce(&mut Member<'_>),
) {
    // The closure cannot name the lifetime of `Member` otherwise.
    fn transport<'b>(member: &'b mut Member<'_>) -> &'b mut RdmaTransport {
        &mut member.transport
    }
    let message = match purpose {
        Purpose::Send => LentBytes::Send(message),
        Purpose::Receive => LentBytes::Receive(message),
    };
    rdma::lend(member, transport, OP, message, |member, refused| {
        assert!(refused.is_none());
        body(member);
    });
}

/// Rank 0's part: bursts, each after a barrier.
fn bursts(member: &mut Member<'_>, message: &[u8], fragments: &[usize]) {
    for burst in fragments.chunks(BURST) {
        member.barrier();
        member.multicast(message, burst.iter().copied());
    }
    member.barrier();
}

/// Rank 1's part.
fn take_bursts(member: &mut Member<'_>, fragments: &[usize]) -> usize {
    let mut already = 0;
    for burst in fragments.chunks(BURST) {
        member.barrier();
        already += place(&mut member.transport, &member.clock, member.key, burst.len());
    }
    member.barrier();
    already
}

#[test]
fn in_order_all_but_the_ends_are_received_in_place() {
    let Some(devices) = needs::devices() else { return };
    let all: Vec<_> = (0..FRAGMENTS).collect();
    run(
        &devices,
        |member, message| bursts(member, message, &all),
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            lend(member, &mut buffer, |member| {
                let already = take_bursts(member, &all);
                assert_eq!(member.transport.claims(OP), Claims::None);
                println!("{already} of {FRAGMENTS} fragments were received in place");
                assert!((FRAGMENTS - DEPTH - DEPTH / 4 - BURST..FRAGMENTS).contains(&already));
            });
            assert!(buffer == message);
            assert_eq!(member.transport.counters().receive_flushes, 0);
        },
    );
}

#[test]
fn after_losses_and_out_of_order_all_arrives() {
    let Some(devices) = needs::devices() else { return };
    // Some are lost at first and come last; two change places.
    let mut order: Vec<_> = (0..FRAGMENTS).filter(|n| ![30, 31, 50].contains(n)).collect();
    order.swap(60, 61);
    order.extend([50, 31, 30]);
    run(
        &devices,
        |member, message| bursts(member, message, &order),
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            lend(member, &mut buffer, |member| {
                let already = take_bursts(member, &order);
                let moved = member.transport.counters().moved;
                println!("{already} were received in place, {moved} moved");
                assert!(already > 0 && moved > 0);
            });
            assert!(buffer == message);
        },
    );
}

#[test]
fn what_comes_otherwise_first_survives_the_receive_for_its_place() {
    let Some(devices) = needs::devices() else { return };
    let (first, lost, last): (Vec<_>, _, Vec<_>) =
        ((0..40).collect(), 40..44, (44..FRAGMENTS).collect());
    run(
        &devices,
        |member, message| {
            bursts(member, message, &first);
            bursts(member, message, &last);
        },
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            lend(member, &mut buffer, |member| {
                take_bursts(member, &first);
                assert_eq!(member.transport.claims(OP), Claims::Receives);
                let len = member.fragment_len();
                for fragment in lost.clone().chain([45]) {
                    let range = fragment * len..(fragment + 1) * len;
                    let bytes = Origin::Bytes(&message[range.clone()]);
                    let placed = member.transport.place(OP, range.clone(), bytes).unwrap();
                    assert_eq!(placed, Some(Transfer::Copied));
                    // It can be sent on at once.
                    let lent = member.transport.lent(OP, range.clone());
                    assert_eq!(lent, Some(&message[range]));
                }
                take_bursts(member, &last);
                assert_eq!(member.transport.claims(OP), Claims::None, "the margin used them up");
            });
            assert!(buffer == message);
            assert!(member.transport.counters().moved > 0);
        },
    );
}

#[test]
fn a_flush_takes_receives_back_and_the_group_survives_it() {
    let Some(devices) = needs::devices() else { return };
    let (before, after): (Vec<_>, Vec<_>) = ((0..40).collect(), (40..FRAGMENTS).collect());
    run(
        &devices,
        |member, message| {
            bursts(member, message, &before);
            member.barrier();
            bursts(member, message, &after);
        },
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            lend(member, &mut buffer, |member| {
                take_bursts(member, &before);
                assert_eq!(member.transport.claims(OP), Claims::Receives);
            });
            assert_eq!(member.transport.counters().receive_flushes, 1);
            let len = member.fragment_len();
            assert!(buffer[..40 * len] == message[..40 * len]);
            // The memory is the caller's again: what comes now leaves it alone.
            buffer.fill(0x5a);
            member.barrier();
            for burst in after.chunks(BURST) {
                member.barrier();
                for _ in burst {
                    member.next().unwrap();
                }
            }
            member.barrier();
            assert!(buffer.iter().all(|byte| *byte == 0x5a));
            assert_eq!(member.transport.counters().receive_flushes, 1);
        },
    );
}

#[test]
fn a_packet_that_waits_in_a_message_can_be_read_after_it() {
    let Some(devices) = needs::devices() else { return };
    let all: Vec<_> = (0..40).collect();
    run(
        &devices,
        |member, message| bursts(member, message, &all),
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            let memory = buffer.as_ptr_range();
            let mut kept = None;
            lend(member, &mut buffer, |member| {
                take_bursts_but_one(member, &all, &memory, &mut kept);
            });
            buffer.fill(0);
            let (fragment, kept) = kept.expect("some packet is received in place");
            let packet = member.transport.packet(&kept, member.key).unwrap();
            assert!(!memory.contains(&packet.payload().as_ptr()));
            let len = member.fragment_len();
            assert!(packet.payload() == &message[fragment * len..][..len]);
            member.transport.recycle(kept).unwrap();
        },
    );
}

/// As [`take_bursts`], but keeps one packet whose payload is in the message.
fn take_bursts_but_one(
    member: &mut Member<'_>,
    fragments: &[usize],
    memory: &Range<*const u8>,
    kept: &mut Option<(usize, Buffer)>,
) {
    for burst in fragments.chunks(BURST) {
        member.barrier();
        for _ in burst {
            let (fragment, buffer) =
                next_fragment(&mut member.transport, &member.clock, member.key);
            let packet = member.transport.packet(&buffer, member.key).unwrap();
            let is_in_place = memory.contains(&packet.payload().as_ptr());
            match kept {
                None if is_in_place => *kept = Some((fragment, buffer)),
                _ => member.transport.recycle(buffer).unwrap(),
            }
        }
    }
    member.barrier();
}

/// Rank 1 lends a message and gets datagrams that are not to touch it.
fn comes_to_nothing(purpose: Purpose, change: impl Fn(&mut [u8; HEADER_LEN]) + Sync) {
    let Some(devices) = needs::devices() else { return };
    run(
        &devices,
        |member, message| {
            for burst in (0..FRAGMENTS).collect::<Vec<_>>().chunks(BURST) {
                member.barrier();
                member.multicast_with(message, burst.iter().copied(), &change);
            }
            member.barrier();
        },
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            lend_for(purpose, member, &mut buffer, |member| {
                for burst in (0..FRAGMENTS).collect::<Vec<_>>().chunks(BURST) {
                    member.barrier();
                    burst.iter().for_each(|_| member.next().unwrap());
                    assert_eq!(member.transport.claims(OP), Claims::None);
                }
                member.barrier();
            });
            assert!(buffer.iter().all(|byte| *byte == 0xee), "something was received into it");
        },
    );
}

#[test]
fn forged_fragments_are_not_received_into_a_message_that_is_sent() {
    comes_to_nothing(Purpose::Send, |_| {});
}

#[test]
fn damaged_fragments_foretell_nothing() {
    comes_to_nothing(Purpose::Receive, |header| header[HEADER_LEN - 1] ^= 1);
}

/// Returns when so many packets were dropped for their codes; nothing else comes meanwhile.
fn wait_for_forged(member: &mut Member<'_>, count: u64) {
    let begun = member.clock.now();
    while member.transport.counters().forged < count {
        assert!(member.receive().is_none(), "a forged packet went on");
        let now = member.clock.now();
        assert!(now - begun < PATIENCE, "{:?}", member.transport.counters());
        member.transport.park(now - begun, Duration::from_millis(1)).unwrap();
    }
    assert_eq!(member.transport.counters().forged, count);
}

/// Who is in the group reads the communicator's key in each header, but not the key of its codes.
#[test]
fn forged_fragments_are_not_left_in_a_message() {
    let Some(devices) = needs::devices() else { return };
    let (first, forged, last): (Vec<_>, _, Vec<_>) =
        ((0..40).collect(), 40..48, (40..FRAGMENTS).collect());
    run_with(
        true,
        &devices,
        |member, message| {
            bursts(member, message, &first);
            member.barrier();
            let mac = member.mac.take();
            let other = vec![0x66; message.len()];
            member.multicast(&other, forged.clone());
            member.mac = mac;
            member.barrier();
            member.barrier();
            bursts(member, message, &last);
        },
        |member, message| {
            let mut buffer = vec![0xee; message.len()];
            lend(member, &mut buffer, |member| {
                let already = take_bursts(member, &first);
                assert!(already > 0, "no fragment was received in place");
                assert_eq!(member.transport.claims(OP), Claims::Receives);
                member.barrier();
                member.barrier();
                wait_for_forged(member, forged.len() as u64);
                member.barrier();
                take_bursts(member, &last);
            });
            assert!(buffer == message, "a forged fragment is left in it");
        },
    );
}

#[test]
fn who_knows_the_key_but_not_that_of_the_codes_forges_nothing() {
    let Some(devices) = needs::devices() else { return };
    let by_multicast = [Kind::Fragment, Kind::Abort, Kind::Probe, Kind::Acknowledge];
    let reliable = [Kind::Fragment, Kind::Ready, Kind::Abort, Kind::Bye, Kind::Acknowledge];
    let packets = (by_multicast.len() + reliable.len()) as u64;
    let notice =
        Notice { rank: Rank(1), kind: FailureKind::GaveUp, reason: "forged".to_owned() }.emit();
    let header = |member: &Member<'_>, kind| {
        let (source, key, op, fragment) = (Rank(0), member.key, OP, Fragment(0));
        Header { kind, source, key, op, fragment, message_len: 8, report: 7, asks: true }
    };
    run_with(
        true,
        &devices,
        |member, _| {
            connect(member, Rank(1));
            member.barrier();
            let wrong = MacKey::new([0x66; 32]);
            // With CRCs as if there were no codes, and with the codes of another key.
            for mac in [None, Some(&wrong)] {
                for kind in by_multicast {
                    let bytes = header(member, kind).emit_as(&notice, true, mac);
                    member.transport.multicast(&bytes, Payload::Bytes(&notice)).unwrap();
                }
                for kind in reliable {
                    let bytes = header(member, kind).emit_as(&notice, true, mac);
                    let token = Token { kind, op: OP, fragment: Fragment(0) };
                    let payload = Payload::Bytes(&notice);
                    member.transport.reliable(Rank(1), &bytes, payload, token).unwrap();
                }
                member.transport.submit().unwrap();
            }
            member.barrier();
            // What it may say is heard as ever.
            let bytes = header(member, Kind::Fragment).emit_as(&notice, true, member.mac.as_ref());
            member.transport.multicast(&bytes, Payload::Bytes(&notice)).unwrap();
            member.transport.submit().unwrap();
        },
        |member, _| {
            connect(member, Rank(0));
            member.barrier();
            wait_for_forged(member, 2 * packets);
            member.barrier();
            member.next().unwrap();
            assert_eq!(member.transport.counters().foreign, 0);
        },
    );
}

/// Returns when a rank is connected.
fn connect(member: &mut Member<'_>, with: Rank) {
    member.transport.connect(with).unwrap();
    let begun = member.clock.now();
    while !member.transport.is_connected(with) {
        assert!(member.receive().is_none());
        let now = member.clock.now();
        assert!(now - begun < PATIENCE);
        member.transport.park(now - begun, Duration::from_millis(1)).unwrap();
    }
}
