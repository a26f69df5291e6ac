//! Sends from the ring, reports and fetches over real verbs.

use crate::needs;
use crate::ranks;
use crate::ranks::Threads;
use std::collections::HashMap;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::clock::Clock;
use verbcast::rdma::{self, Agreed, RdmaTransport, Settings, SharedEndpoint};
use verbcast_core::protocol::{Counter, Room, Token, Via};
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Buffer, Liveness, Park, Payload, Transport};
use verbcast_core::wire::{HEADER_LEN, Header, Key, Kind, Malformed, Packet};

/// How long anything may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A rank and its transport.
struct Member<'a> {
    bootstrap: &'a mut Threads,
    transport: RdmaTransport,
    agreed: Agreed,
    clock: Clock,
}

impl Member<'_> {
    fn me(&self) -> Rank {
        self.bootstrap.rank()
    }

    fn others(&self) -> Vec<Rank> {
        (0..self.bootstrap.size()).map(Rank).filter(|rank| *rank != self.me()).collect()
    }

    fn barrier(&mut self) {
        self.bootstrap.all_gather(&[]).unwrap();
    }

    fn retain(&mut self, slot: u32, op: u32, len: usize) {
        let packet = packet(self.agreed.key, self.me(), op, len);
        let (header, payload) = packet.split_first_chunk::<HEADER_LEN>().unwrap();
        self.transport.retain(slot, header, Payload::Bytes(payload)).unwrap();
    }

    /// The same, and multicasts it.
    fn retain_and_multicast(&mut self, slot: u32, op: u32, len: usize) {
        self.retain(slot, op, len);
        let packet = packet(self.agreed.key, self.me(), op, len);
        let (header, payload) = packet.split_first_chunk::<HEADER_LEN>().unwrap();
        let payload = Payload::Bytes(payload);
        self.transport.multicast_retained(slot, header, payload).unwrap();
    }

    /// The next arrival.
    fn next(&mut self, waits_for: &str) -> Arrival {
        self.next_unless(waits_for, |_| false).unwrap()
    }

    /// The next arrival, or none if nothing more is waited for.
    fn next_unless(
        &mut self,
        waits_for: &str,
        is_over: impl Fn(&RdmaTransport) -> bool,
    ) -> Option<Arrival> {
        let begun = self.clock.now();
        loop {
            let now = self.clock.now();
            if let Some(arrival) = self.transport.poll(now).unwrap() {
                return Some(arrival);
            }
            if is_over(&self.transport) {
                return None;
            }
            assert!(now - begun < PATIENCE, "{} waits for {waits_for}", self.me());
            self.transport.park(now - begun, PATIENCE).unwrap();
        }
    }

    /// The packet in a buffer, as it was sent; the buffer is given back.
    fn take(&mut self, buffer: Buffer) -> Result<Vec<u8>, Malformed> {
        let packet = self.transport.packet(&buffer, self.agreed.key);
        let bytes = packet.map(|packet| {
            [&packet.header().emit(packet.payload(), false), packet.payload()].concat()
        });
        self.transport.recycle(buffer).unwrap();
        bytes
    }
}

/// The packet of an operation, whose payload has `len` bytes.
fn packet(key: Key, source: Rank, op: u32, len: usize) -> Vec<u8> {
    packet_with((key, source), op, len, false)
}

/// One whose payload has a CRC or none.
fn packet_with((key, source): (Key, Rank), op: u32, len: usize, payload_crc: bool) -> Vec<u8> {
    let payload = ranks::message(op as usize + 100 * source.index(), len);
    let header = Header {
        kind: Kind::Fragment,
        source,
        key,
        op: OpId(op),
        fragment: Fragment(op),
        message_len: len as u64,
        report: 7,
        asks: false,
    };
    [&header.emit(&payload, payload_crc), payload.as_slice()].concat()
}

fn token(op: u32) -> Token {
    Token { kind: Kind::Fragment, op: OpId(op), fragment: Fragment(op) }
}

fn settings(devices: &[String]) -> Settings {
    let mut settings = ranks::flat().device;
    settings.devices = devices.to_vec();
    settings.ack_timeout = Duration::from_millis(500);
    settings
}

/// Runs `body` at every rank of `size`, connected with each other before or when first needed.
fn run(devices: &[String], size: u32, connected: bool, body: impl Fn(&mut Member<'_>) + Sync) {
    ranks::run(size, |bootstrap| {
        let settings = settings(devices);
        let me = bootstrap.rank();
        let peers: Vec<_> = (0..size).map(Rank).filter(|rank| *rank != me && connected).collect();
        let (transport, agreed, _) = rdma::establish(bootstrap, &settings, &peers, None).unwrap();
        let mut member = Member { bootstrap, transport, agreed, clock: Clock::of_process() };
        body(&mut member);
        member.barrier();
    });
}

#[test]
fn retained_packets_arrive_unchanged_by_both_ways() {
    let Some(devices) = needs::devices() else { return };
    const SLOTS: u32 = 8;
    // From nothing to all that fits.
    let len = |slot: u32| slot as usize * (4096 - HEADER_LEN) / (SLOTS as usize - 1);
    run(&devices, 3, true, |member| {
        let fits = HEADER_LEN + len(SLOTS - 1) <= member.transport.packet_len();
        assert!(fits, "the test needs an MTU of 4096");
        for round in 0..20 {
            if member.me() == Rank(0) {
                for slot in 0..SLOTS {
                    assert!(member.transport.is_idle(slot));
                    assert!(member.transport.multicast_room() > 0);
                    member.retain_and_multicast(slot, round * SLOTS + slot, len(slot));
                    for to in member.others() {
                        assert!(member.transport.reliable_room(to) > 0);
                        let token = token(round * SLOTS + slot);
                        member.transport.reliable_retained(to, slot, token).unwrap();
                    }
                    assert!(!member.transport.is_idle(slot), "its sends were not polled yet");
                }
                let mut next = HashMap::from([(Rank(1), 0), (Rank(2), 0)]);
                let is_over = |next: &HashMap<Rank, u32>, transport: &RdmaTransport| {
                    let is_idle = (0..SLOTS).all(|slot| transport.is_idle(slot));
                    is_idle && next.values().all(|next| *next == SLOTS)
                };
                // That a multicast has left is not an arrival.
                while let Some(arrival) =
                    member.next_unless("deliveries", |transport| is_over(&next, transport))
                {
                    match arrival {
                        Arrival::Delivered { to, token: told } => {
                            let next = next.get_mut(&to).unwrap();
                            assert_eq!(told, token(round * SLOTS + *next), "{to}");
                            *next += 1;
                        }
                        // Multicast comes back.
                        Arrival::Packet { buffer, .. } => drop(member.take(buffer)),
                        other => panic!("{other:?}"),
                    }
                }
            } else {
                let mut next = [0; 2];
                while next != [SLOTS; 2] {
                    let Arrival::Packet { via, buffer } = member.next("packets") else { panic!() };
                    let next = &mut next[usize::from(via == Via::Reliable)];
                    let op = round * SLOTS + *next;
                    let expected = packet(member.agreed.key, Rank(0), op, len(*next));
                    assert!(member.take(buffer) == Ok(expected), "slot {next} by {via:?}");
                    *next += 1;
                }
            }
            member.barrier();
        }
    });
}

#[test]
fn the_latest_report_arrives_at_the_right_cell() {
    let Some(devices) = needs::devices() else { return };
    const LAST: u64 = 150;
    let value = |from: Rank, to: Rank, counter: Counter, n: u64| {
        n << 40 | u64::from(from.0) << 16 | u64::from(to.0) << 8 | counter as u64
    };
    run(&devices, 4, true, |member| {
        let me = member.me();
        let mut sent: HashMap<_, _> =
            member.others().into_iter().map(|rank| (rank, [0; Counter::KINDS])).collect();
        let mut seen = sent.clone();
        let (mut owed, mut told) = (0, 0);
        let all_told = sent.len() as u64 * Counter::KINDS as u64 * LAST;
        while told < all_told || seen.values().flatten().any(|n| *n < LAST) {
            for (to, sent) in &mut sent {
                // All numbers take turns, since they share the room.
                let turn = (0..Counter::KINDS).min_by_key(|kind| sent[*kind]).unwrap();
                if sent[turn] < LAST && member.transport.report_room(*to) > 0 {
                    sent[turn] += 1;
                    owed += 1;
                    let counter = Counter::ALL[turn];
                    let number = value(me, *to, counter, sent[turn]);
                    member.transport.report(*to, counter, number).unwrap();
                    assert!(member.transport.report_room(*to) < 2);
                }
            }
            match member.next(&format!("{owed} reports of its own and others'")) {
                Arrival::WriteAcked { .. } => {
                    told += 1;
                    owed -= 1;
                }
                Arrival::Reported { from, counter, value: written } => {
                    let before = &mut seen.get_mut(&from).unwrap()[counter as usize];
                    let n = written >> 40;
                    assert_eq!(written, value(from, me, counter, n), "{from}, {counter:?}");
                    assert!(n > *before && n <= LAST, "{n} after {before}");
                    *before = n;
                }
                Arrival::Packet { buffer, .. } => drop(member.take(buffer)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(owed, 0);
    });
}

#[test]
fn a_fetch_reads_what_was_retained_or_nothing() {
    let Some(devices) = needs::devices() else { return };
    run(&devices, 4, true, |member| {
        let slots = member.transport.ring_len();
        let is_written = |slot: u32| slot.is_multiple_of(3);
        let len = |slot: u32| 15 * slot as usize;
        for slot in (0..slots).filter(|slot| is_written(*slot)) {
            member.retain(slot, slot, len(slot));
        }
        member.barrier();
        let room = member.transport.fetch_room(Rank(0));
        let mut wanted: Vec<_> = member
            .others()
            .into_iter()
            .flat_map(|from| (0..slots).map(move |slot| (from, slot)))
            .collect();
        let (mut most, mut under_way) = (0, 0);
        while !wanted.is_empty() || under_way > 0 {
            while member.transport.fetch_room(Rank(0)) > 0
                && let Some((from, slot)) = wanted.pop()
            {
                member.transport.fetch(from, slot, token(slot)).unwrap();
                under_way += 1;
                most = most.max(under_way);
            }
            match member.next("fetches") {
                Arrival::Fetched { from, token: told, buffer } => {
                    let slot = told.op.0;
                    under_way -= 1;
                    assert_eq!(told, token(slot));
                    let expected = match is_written(slot) {
                        true => Ok(packet(member.agreed.key, from, slot, len(slot))),
                        false => Err(Malformed::Foreign),
                    };
                    assert!(member.take(buffer) == expected, "{from}, slot {slot}");
                }
                Arrival::Packet { buffer, .. } => drop(member.take(buffer)),
                other => panic!("{other:?}"),
            }
        }
        // The room of one that found nothing is free before that is told.
        assert!(most >= room, "{most} of {room}");
        assert_eq!(member.transport.fetch_room(Rank(0)), room);
        // The others may still be reading here.
        member.barrier();
    });
}

#[test]
fn a_slot_that_is_replaced_while_it_is_read_gives_no_wrong_packet() {
    let Some(devices) = needs::devices() else { return };
    const FETCHES: u32 = 300;
    run(&devices, 3, true, |member| {
        const LEN: usize = 3000;
        if member.me() == Rank(0) {
            let mut done = 0;
            let begun = member.clock.now();
            for op in 1.. {
                member.retain(0, op, LEN);
                for to in member.others() {
                    if member.transport.report_room(to) > 0 {
                        member.transport.report(to, Counter::Begun, op.into()).unwrap();
                    }
                }
                // Sometimes there is time to read it.
                for _ in 0..1 + op % 64 {
                    let now = member.clock.now();
                    match member.transport.poll(now).unwrap() {
                        Some(Arrival::Reported { .. }) => done += 1,
                        Some(Arrival::Packet { buffer, .. }) => drop(member.take(buffer)),
                        Some(Arrival::WriteAcked { .. }) => {}
                        Some(other) => panic!("{other:?}"),
                        None => assert!(now - begun < PATIENCE),
                    }
                }
                if done == 2 {
                    return;
                }
            }
        }
        let (mut whole, mut replaced) = (0, 0);
        let mut begun = 0;
        while whole + replaced < FETCHES {
            match member.next("fetches and reports") {
                Arrival::Reported { value, .. } => {
                    if begun < FETCHES && member.transport.fetch_room(Rank(0)) > 0 {
                        member.transport.fetch(Rank(0), 0, token(value as u32)).unwrap();
                        begun += 1;
                    }
                }
                Arrival::Fetched { token: told, buffer, .. } => match member.take(buffer) {
                    Ok(bytes) => {
                        let expected = packet(member.agreed.key, Rank(0), told.op.0, LEN);
                        assert!(bytes == expected, "operation {}", told.op.0);
                        whole += 1;
                    }
                    Err(_) => replaced += 1,
                },
                Arrival::Packet { buffer, .. } => drop(member.take(buffer)),
                other => panic!("{other:?}"),
            }
        }
        println!("{}: {whole} whole packets, {replaced} replaced", member.me());
        assert!(whole > 0);
        member.transport.report(Rank(0), Counter::Consumed, 1).unwrap();
        while !matches!(member.next("the report"), Arrival::WriteAcked { .. }) {}
    });
}

/// Its owner may give the memory back when it has heard the last words.
#[test]
fn a_fetch_does_not_go_on_after_the_last_words() {
    let Some(devices) = needs::devices() else { return };
    run(&devices, 2, true, |member| {
        member.retain(3, 3, 500);
        member.barrier();
        let (me, other) = (member.me(), member.others()[0]);
        if me == Rank(0) {
            member.transport.fetch(other, 3, token(3)).unwrap();
            let (kind, op, fragment) = (Kind::Bye, OpId(0), Fragment(0));
            let (key, message_len, report, asks) = (member.agreed.key, 0, 0, false);
            let bye = Header { kind, source: me, key, op, fragment, message_len, report, asks };
            let bye = bye.emit(&[], false);
            let token = Token { kind, op, fragment };
            member.transport.reliable(other, &bye, Payload::Bytes(&[]), token).unwrap();
            loop {
                match member.next("the fetch") {
                    Arrival::Fetched { buffer, .. } => {
                        assert_eq!(member.take(buffer), Err(Malformed::Foreign));
                        break;
                    }
                    Arrival::Packet { buffer, .. } => drop(member.take(buffer)),
                    _ => {}
                }
            }
        }
        member.barrier();
    });
}

/// What a fetch has read.
fn fetched(transport: &mut RdmaTransport) -> Buffer {
    let clock = Clock::of_process();
    let begun = clock.now();
    loop {
        if let Some(Arrival::Fetched { buffer, .. }) = transport.poll(clock.now()).unwrap() {
            return buffer;
        }
        assert!(clock.now() - begun < PATIENCE, "a fetch ends");
        std::thread::yield_now();
    }
}

#[test]
fn a_damaged_payload_is_found_out_whichever_communicator_took_what_was_read() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let settings = settings(&devices);
        let endpoint = SharedEndpoint::new(&settings);
        let other = Rank(1 - bootstrap.rank().0);
        let mut join = || {
            let (transport, agreed, _) =
                rdma::establish_on(bootstrap, &endpoint, &settings, &[other]).unwrap();
            (transport, agreed.key)
        };
        let ((mut first, key), (mut second, _)) = (join(), join());
        // A header is there whose CRC is of another payload.
        let [other_one, one] = [0, 1].map(|op| packet_with((key, bootstrap.rank()), op, 900, true));
        let (header, payload) = (one.first_chunk().unwrap(), &other_one[HEADER_LEN..]);
        first.retain(0, header, Payload::Bytes(payload)).unwrap();
        bootstrap.all_gather(&[]).unwrap();
        // What is asked for later on a connection is there later.
        first.fetch(other, 0, token(1)).unwrap();
        second.fetch(other, 0, token(1)).unwrap();
        for transport in [&mut second, &mut first] {
            let buffer = fetched(transport);
            let found = transport.packet(&buffer, key);
            assert!(found.is_err(), "{found:?}");
            transport.recycle(buffer).unwrap();
        }
        bootstrap.all_gather(&[]).unwrap();
    });
}

#[test]
fn everything_waits_for_a_connection_that_is_being_made() {
    let Some(devices) = needs::devices() else { return };
    run(&devices, 4, false, |member| {
        let me = member.me();
        member.retain(5, 5, 500);
        member.barrier();
        for other in member.others() {
            member.transport.reliable_retained(other, 5, token(1)).unwrap();
            member.transport.report(other, Counter::Acknowledged, 10 + u64::from(me.0)).unwrap();
            member.transport.fetch(other, 5, token(5)).unwrap();
            member.transport.reliable_retained(other, 5, token(3)).unwrap();
        }
        assert!(!member.transport.is_idle(5));
        let others = member.others().len();
        // Delivered, told, reported, fetched, received.
        let mut counts = [0; 5];
        let all = [2 * others, others, others, others, 2 * others];
        while counts != all {
            match member.next(&format!("{counts:?} of {all:?}")) {
                Arrival::Delivered { .. } => counts[0] += 1,
                Arrival::WriteAcked { counter: Counter::Acknowledged, .. } => counts[1] += 1,
                Arrival::Reported { from, counter: Counter::Acknowledged, value } => {
                    assert_eq!(value, 10 + u64::from(from.0));
                    counts[2] += 1;
                }
                Arrival::Fetched { from, token: told, buffer } => {
                    assert_eq!(told, token(5));
                    let expected = packet(member.agreed.key, from, 5, 500);
                    assert!(member.take(buffer) == Ok(expected));
                    counts[3] += 1;
                }
                Arrival::Packet { via: Via::Reliable, buffer } => {
                    let bytes = member.take(buffer).unwrap();
                    let from = Packet::parse(&bytes, member.agreed.key).unwrap().header().source;
                    assert!(bytes == packet(member.agreed.key, from, 5, 500));
                    counts[4] += 1;
                }
                Arrival::Packet { via: Via::Multicast, buffer } => drop(member.take(buffer)),
                other => panic!("{other:?}"),
            }
        }
        assert!(member.transport.is_idle(5));
    });
}

#[test]
fn a_busy_receiver_leaves_room_for_the_others() {
    let Some(devices) = needs::devices() else { return };
    run(&devices, 3, true, |member| {
        let slots = member.transport.ring_len();
        if member.me() == Rank(0) {
            (0..slots).for_each(|slot| member.retain(slot, slot, 1000));
            for slot in 0..slots {
                member.transport.reliable_retained(Rank(1), slot, token(slot)).unwrap();
            }
            assert!(member.transport.reliable_room(Rank(2)) > 0);
            member.transport.reliable_retained(Rank(2), 0, token(0)).unwrap();
            let mut delivered = 0;
            while delivered < slots + 1 {
                if let Arrival::Delivered { .. } = member.next("deliveries") {
                    delivered += 1;
                }
            }
            assert!((0..slots).all(|slot| member.transport.is_idle(slot)));
            return;
        }
        let mut expected = if member.me() == Rank(1) { slots } else { 1 };
        while expected > 0 {
            if let Arrival::Packet { via, buffer } = member.next("packets") {
                expected -= u32::from(via == Via::Reliable);
                member.take(buffer).unwrap();
            }
        }
    });
}

#[test]
fn a_broken_connection_frees_what_it_held() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut settings = ranks::flat().device;
        settings.devices = devices.clone();
        settings.ack_timeout = Duration::from_millis(500);
        let peers = [Rank(1 - bootstrap.rank().0)];
        let (transport, agreed, _) = rdma::establish(bootstrap, &settings, &peers, None).unwrap();
        if bootstrap.rank() == Rank(1) {
            drop(transport);
            bootstrap.all_gather(&[]).unwrap();
            return;
        }
        bootstrap.all_gather(&[]).unwrap();
        let mut member = Member { bootstrap, transport, agreed, clock: Clock::of_process() };
        let gone = Rank(1);
        let fetches = member.transport.fetch_room(gone);
        let reports = member.transport.report_room(gone);
        // Messages of the handshake may still hold slots here, but not for ever.
        let slots = settings.depths.reliable_send as usize;
        for slot in 0..3 {
            member.retain(slot, slot, 10);
            member.transport.reliable_retained(gone, slot, token(slot)).unwrap();
        }
        member.transport.report(gone, Counter::Consumed, 1).unwrap();
        member.transport.fetch(gone, 0, token(9)).unwrap();
        member.transport.probe(gone).unwrap();
        loop {
            match member.next("the end of the connection") {
                Arrival::Broken { peer, reason } => {
                    println!("{peer}: {reason}");
                    assert_eq!(peer, gone);
                    break;
                }
                Arrival::Packet { buffer, .. } => drop(member.take(buffer)),
                other => panic!("{other:?}"),
            }
        }
        let begun = member.clock.now();
        let is_free = |transport: &RdmaTransport| {
            (0..3).all(|slot| transport.is_idle(slot))
                && transport.report_room(gone) == reports
                && transport.fetch_room(gone) == fetches
                && transport.notice_room() == slots
        };
        while !is_free(&member.transport) {
            let now = member.clock.now();
            assert!(now - begun < PATIENCE, "something is held");
            assert_eq!(member.transport.poll(now).unwrap(), None);
            member.transport.park(now - begun, PATIENCE).unwrap();
        }
        // Nothing comes of what is begun afterwards.
        member.transport.reliable_retained(gone, 0, token(0)).unwrap();
        member.transport.report(gone, Counter::Consumed, 2).unwrap();
        member.transport.fetch(gone, 0, token(0)).unwrap();
        assert!(is_free(&member.transport));
    });
}
