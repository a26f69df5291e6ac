//! Ports that go down and UD QPs that fail, on a device.

use crate::again;
use crate::needs;
use crate::ranks;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};
use verbcast::bootstrap::Bootstrap;
use verbcast::broadcast::{Broadcaster, Config};
use verbcast::clock::Clock;
use verbcast::rdma::{self, Multicast, RdmaTransport, Waiting};
use verbcast_core::driver::Statistics;
use verbcast_core::protocol::Room;
use verbcast_core::rank::{Fragment, OpId, Rank};
use verbcast_core::transport::{Arrival, Liveness, Park, Payload, Transport};
use verbcast_core::wire::{Header, Kind};

/// How long anything may take on an emulated machine.
const PATIENCE: Duration = Duration::from_secs(60);
const SIZE: u32 = 3;

/// A NIC and a device of a test's own, so that what happens to it concerns no other test.
struct Nic {
    name: &'static str,
    device: String,
}

impl Nic {
    fn new(name: &'static str, subnet: u8) -> Option<Nic> {
        needs::devices()?;
        let nic = Nic { name, device: format!("rxe-{name}") };
        let address = format!("10.77.{subnet}.1/24");
        nic.ip(&["link", "add", name, "type", "dummy"]);
        nic.ip(&["addr", "add", &address, "dev", name]);
        nic.ip(&["link", "set", name, "mtu", "4500", "up", "multicast", "on"]);
        run("rdma", &["link", "add", &nic.device, "type", "rxe", "netdev", name]);
        Some(nic)
    }

    fn ip(&self, args: &[&str]) {
        run("ip", args);
    }

    /// Takes the carrier away or gives it back, and waits until the port is so. Nothing is sent while it is away.
    fn set_carrier(&self, is_on: bool) {
        self.ip(&["link", "set", self.name, "carrier", if is_on { "on" } else { "off" }]);
        let state = format!("/sys/class/infiniband/{}/ports/1/state", self.device);
        let begun = Instant::now();
        while fs::read_to_string(&state).unwrap().contains("ACTIVE") != is_on {
            assert!(begun.elapsed() < PATIENCE, "the port of {} stays as it was", self.device);
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn config(&self) -> Config {
        config(vec![self.device.clone()])
    }
}

impl Drop for Nic {
    fn drop(&mut self) {
        // Nobody waits for it: librdmacm has the device open as long as the process lives.
        let delete = format!("rdma link delete {}; ip link delete {}", self.device, self.name);
        let _ = Command::new("sh").args(["-c", &delete]).spawn();
    }
}

fn config(devices: Vec<String>) -> Config {
    let mut config = ranks::flat();
    config.device.devices = devices;
    config
}

fn run(program: &str, args: &[&str]) {
    let status = Command::new(program).args(args).status().unwrap();
    assert!(status.success(), "{program} {args:?}");
}

/// Broadcasts until every rank's counter is at least `least`.
fn broadcast_until(
    broadcaster: &mut Broadcaster,
    bootstrap: &mut ranks::Threads,
    least: u64,
    counter: impl Fn(&Statistics) -> u64,
) {
    let begun = Instant::now();
    for step in 0.. {
        let root = Rank(step as u32 % SIZE);
        let sent = ranks::message(step, 20_000);
        let mut buffer =
            if broadcaster.rank() == root { sent.clone() } else { vec![0; sent.len()] };
        broadcaster.broadcast_into(root, &mut buffer).unwrap();
        assert!(buffer == sent, "step {step}");
        let own = counter(&broadcaster.statistics());
        let all = bootstrap.all_gather(&own.to_le_bytes()).unwrap();
        let count = |one: &Vec<u8>| u64::from_le_bytes(one[..].try_into().unwrap());
        if all.iter().map(count).all(|count| count >= least) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{}: {own} of {least}", broadcaster.rank());
        thread::sleep(Duration::from_millis(1));
    }
}

fn flap(nic: &Nic, waiting: Waiting) -> Vec<Statistics> {
    let mut config = nic.config();
    config.device.waiting = waiting;
    ranks::run(SIZE, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        bootstrap.all_gather(&[]).unwrap();
        if broadcaster.rank() == Rank(0) {
            nic.set_carrier(false);
            nic.set_carrier(true);
        }
        bootstrap.all_gather(&[]).unwrap();
        broadcast_until(&mut broadcaster, bootstrap, 1, |one| one.rejoins);
        let before = broadcaster.statistics().multicast_received;
        broadcast_until(&mut broadcaster, bootstrap, 10, |one| one.multicast_received - before);
        let statistics = broadcaster.statistics();
        broadcaster.close().unwrap();
        statistics
    })
}

#[test]
fn a_port_that_comes_back_ends_nothing_and_its_groups_are_joined_again() {
    let Some(nic) = Nic::new("flap", 1) else { return };
    for waiting in [Waiting::Yield, Waiting::Block] {
        for statistics in flap(&nic, waiting) {
            assert_eq!(statistics.port_errors, 1, "{waiting:?}: {statistics:?}");
            assert_eq!(statistics.rejoins, 1, "{waiting:?}: {statistics:?}");
        }
    }
}

#[test]
fn a_port_that_stays_down_is_named() {
    let Some(nic) = Nic::new("stays", 2) else { return };
    let mut config = nic.config();
    config.device.timeout = Duration::from_secs(3);
    let errors = ranks::run(SIZE, |bootstrap| {
        let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
        bootstrap.all_gather(&[]).unwrap();
        if broadcaster.rank() == Rank(0) {
            nic.set_carrier(false);
        }
        bootstrap.all_gather(&[]).unwrap();
        let begun = Instant::now();
        loop {
            if let Err(error) = broadcaster.progress() {
                return error.to_string();
            }
            assert!(begun.elapsed() < PATIENCE, "the port is down and nobody says so");
            thread::sleep(Duration::from_millis(1));
        }
    });
    for error in errors {
        let named = format!("{} port 1: the port has been down for", nic.device);
        assert!(error.contains(&named), "{error}");
    }
}

/// A rank of a communicator without a broadcaster.
struct Member {
    transport: RdmaTransport,
    key: verbcast_core::wire::Key,
    rank: Rank,
    clock: Clock,
}

impl Member {
    /// Multicasts a fragment, where there is room.
    fn send(&mut self, op: u32) {
        let payload = [op as u8; 100];
        let header = Header {
            kind: Kind::Fragment,
            source: self.rank,
            key: self.key,
            op: OpId(op),
            fragment: Fragment(0),
            message_len: 100,
            report: 0,
            asks: false,
        };
        if self.transport.multicast_room() > 0 {
            self.transport
                .multicast(&header.emit(&payload, true), Payload::Bytes(&payload))
                .unwrap();
            self.transport.submit().unwrap();
        }
    }

    /// Whether a datagram of another rank has come; its buffer is given back.
    fn receive(&mut self) -> bool {
        let now = self.clock.now();
        match self.transport.poll(now).unwrap() {
            Some(Arrival::Packet { buffer, .. }) => {
                let packet = self.transport.packet(&buffer, self.key);
                let is_other = packet.is_ok_and(|packet| packet.header().source != self.rank);
                self.transport.recycle(buffer).unwrap();
                is_other
            }
            Some(_) => false,
            None => {
                self.transport.park(Duration::ZERO, Duration::from_millis(1)).unwrap();
                false
            }
        }
    }

    /// Polls until all slots are back: so many receives are posted, and nothing is on its way out.
    fn settle(&mut self, receives: u64, sends: usize) {
        let begun = Instant::now();
        loop {
            let slots = (self.transport.posted_receives(), self.transport.multicast_room());
            if slots == (receives, sends) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{slots:?} of {receives} and {sends}");
            self.receive();
        }
    }
}

#[test]
fn a_ud_qp_that_fails_is_restarted_and_loses_no_slot() {
    let Some(devices) = needs::devices() else { return };
    ranks::run(2, |bootstrap| {
        let mut settings = ranks::flat().device;
        settings.devices = devices.clone();
        let (transport, agreed, _) = rdma::establish(bootstrap, &settings, &[], None).unwrap();
        bootstrap.all_gather(&[]).unwrap();
        let (key, rank) = (agreed.key, bootstrap.rank());
        let mut member = Member { transport, key, rank, clock: Clock::of_process() };
        let receives = u64::from(settings.depths.receive);
        // The proof of the group has ended when nothing more comes.
        while member.receive() || member.transport.posted_receives() < receives {}
        let sends = member.transport.multicast_room();
        for round in 0..5 {
            member.settle(receives, sends);
            bootstrap.all_gather(&[]).unwrap();
            if rank == Rank(1) {
                member.transport.break_datagrams().unwrap();
                // Sends too are flushed, and their slots come back.
                member.send(1000 * round);
            }
            let restarts = member.transport.counters().incidents.restarts;
            let begun = Instant::now();
            // Until the other one is heard again, and has heard.
            let mut is_heard = false;
            let mut op = 0;
            loop {
                op += 1;
                member.send(1000 * round + op);
                is_heard |= member.receive();
                let restarts = member.transport.counters().incidents.restarts - restarts;
                let is_done = is_heard && restarts == u64::from(rank == Rank(1));
                let all = bootstrap.all_gather(&[u8::from(is_done)]).unwrap();
                if all.iter().all(|one| one[0] == 1) {
                    break;
                }
                assert!(
                    begun.elapsed() < PATIENCE,
                    "{rank}: heard {is_heard}, {restarts} restarts"
                );
            }
        }
        member.settle(receives, sends);
    });
}

/// Broadcasts under an imitated adapter until every rank's counter has counted, and then until each has received ten
/// packets more by multicast.
fn comes_through(adapter: &str, test: &str, counter: fn(&Statistics) -> u64) {
    again::under(adapter, test, || {
        let config = config(needs::devices().unwrap());
        ranks::run(SIZE, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            broadcast_until(&mut broadcaster, bootstrap, 1, counter);
            let before = broadcaster.statistics().multicast_received;
            broadcast_until(&mut broadcaster, bootstrap, 10, |one| one.multicast_received - before);
            broadcaster.close().unwrap();
        });
    });
}

#[test]
fn a_ud_qp_is_restarted_where_the_adapter_fails_it_and_forgets_its_groups() {
    for profile in ["rxe", "mlx5-roce", "hfi1"] {
        comes_through(
            &format!("{profile},events=qp_fatal@100d,reset_detaches=yes"),
            "upkeep::a_ud_qp_is_restarted_where_the_adapter_fails_it_and_forgets_its_groups",
            |one| one.restarts,
        );
    }
}

#[test]
fn a_ud_qp_that_the_adapter_does_not_restart_is_replaced() {
    comes_through(
        "irdma,max_srq=-,events=qp_fatal@100d",
        "upkeep::a_ud_qp_that_the_adapter_does_not_restart_is_replaced",
        |one| one.restarts,
    );
}

#[test]
fn a_ud_qp_that_is_another_one_is_found_by_ranks_that_are_not_connected() {
    let test = "upkeep::a_ud_qp_that_is_another_one_is_found_by_ranks_that_are_not_connected";
    again::under("irdma,max_srq=-,events=qp_fatal@100d", test, || {
        const RANKS: u32 = 5;
        let mut config = config(needs::devices().unwrap());
        // Two-stage connects neighbours on the ring, the tree others too.
        let table = "ranks any bytes <= 20000 two-stage\nranks any bytes any binomial";
        config.protocol.table = table.parse().unwrap();
        ranks::run(RANKS, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            broadcast_until(&mut broadcaster, bootstrap, 1, |one| one.restarts);
            for root in (0..RANKS).map(Rank) {
                let sent = ranks::message(root.index(), 30_000);
                let is_root = broadcaster.rank() == root;
                let mut buffer = if is_root { sent.clone() } else { vec![0; sent.len()] };
                broadcaster.broadcast_into(root, &mut buffer).unwrap();
                assert!(buffer == sent, "root {root}");
            }
            broadcaster.close().unwrap();
        });
    });
}

/// An adapter may flush what is asked of a connection without a failure before it, as SoftRoCE does.
#[test]
fn a_connection_whose_requests_are_flushed_is_broken() {
    let test = "upkeep::a_connection_whose_requests_are_flushed_is_broken";
    again::under("rxe,events=requests_flushed@100d", test, || {
        let mut config = config(needs::devices().unwrap());
        // So that there are connections by then, of which something is asked.
        for (name, value) in [("algorithm", "window"), ("acknowledge", "each")] {
            config.protocol.set(name, value).unwrap();
        }
        let errors = ranks::run(2, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            let mut buffer = vec![0; 20_000];
            let begun = Instant::now();
            loop {
                if let Err(error) = broadcaster.broadcast_into(Rank(0), &mut buffer) {
                    return error.to_string();
                }
                assert!(begun.elapsed() < PATIENCE, "nothing fails");
            }
        });
        assert!(errors.iter().any(|error| error.contains("were flushed")), "{errors:?}");
    });
}

/// Where no handshake can go to a group: who replaced its UD QP tells the others, and does not speak first.
#[test]
fn a_ud_qp_that_is_another_one_is_found_without_groups() {
    let test = "upkeep::a_ud_qp_that_is_another_one_is_found_without_groups";
    again::under("irdma,max_srq=-", test, || {
        let mut settings = ranks::flat().device;
        settings.devices = needs::devices().unwrap();
        settings.multicast = Multicast::Off;
        ranks::run(2, |bootstrap| {
            let (mut transport, _, _) = rdma::establish(bootstrap, &settings, &[], None).unwrap();
            let (me, clock) = (bootstrap.rank(), Clock::of_process());
            let mut polled =
                |transport: &mut RdmaTransport, is_done: fn(&RdmaTransport, Rank) -> bool| {
                    let begun = Instant::now();
                    loop {
                        if let Some(Arrival::Packet { buffer, .. }) =
                            transport.poll(clock.now()).unwrap()
                        {
                            transport.recycle(buffer).unwrap();
                        }
                        let vote = [
                            u8::from(is_done(transport, me)),
                            u8::from(begun.elapsed() > PATIENCE),
                        ];
                        let all = bootstrap.all_gather(&vote).unwrap();
                        // All end together, as nobody comes for the next vote else.
                        assert!(all.iter().all(|one| one[1] == 0), "{me}: {all:?}");
                        if all.iter().all(|one| one[0] == 1) {
                            return;
                        }
                    }
                };
            if me == Rank(1) {
                transport.break_datagrams().unwrap();
            }
            polled(&mut transport, |own, me| own.counters().incidents.restarts == u64::from(me.0));
            if me == Rank(0) {
                transport.connect(Rank(1)).unwrap();
            }
            polled(&mut transport, |own, me| own.is_connected(Rank(1 - me.0)));
        });
    });
}

#[test]
fn a_membership_that_ends_is_made_anew() {
    for profile in ["mlx5-ib", "hfi1"] {
        comes_through(
            &format!("{profile},events=ousted@100d"),
            "upkeep::a_membership_that_ends_is_made_anew",
            |one| one.rejoins,
        );
    }
}

#[test]
fn a_change_of_the_subnet_manager_is_come_through() {
    comes_through(
        "mlx5-ib,events=sm_change@100d/client_reregister@110d",
        "upkeep::a_change_of_the_subnet_manager_is_come_through",
        |one| one.rejoins,
    );
}

#[test]
fn an_adapters_port_that_flaps_is_come_through() {
    for profile in ["mlx5-ib", "mlx5-roce", "hfi1", "irdma,max_srq=-"] {
        comes_through(
            &format!("{profile},events=port_err@100d/port_active@150d"),
            "upkeep::an_adapters_port_that_flaps_is_come_through",
            |one| one.port_errors.min(one.rejoins),
        );
    }
}

#[test]
fn another_port_of_the_device_concerns_nobody() {
    comes_through(
        "rxe,events=other_port_err@100d",
        "upkeep::another_port_of_the_device_concerns_nobody",
        |one| u64::from(one.port_errors == 0 && one.multicast_received > 100),
    );
}

#[test]
fn a_device_that_fails_is_named() {
    let test = "upkeep::a_device_that_fails_is_named";
    again::under("rxe,events=device_fatal@400d", test, || {
        let devices = needs::devices().unwrap();
        let config = config(devices.clone());
        let errors = ranks::run(SIZE, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            let begun = Instant::now();
            for step in 0_u32.. {
                let mut message = [0; 8];
                if let Err(error) = broadcaster.broadcast_into(Rank(step % SIZE), &mut message) {
                    return error.to_string();
                }
                assert!(begun.elapsed() < PATIENCE, "the device has failed and nobody says so");
            }
            unreachable!("the loop ends with an error")
        });
        for error in errors {
            assert!(error.contains(&devices[0]) && error.contains("catastrophic"), "{error}");
        }
    });
}

#[test]
fn a_port_that_leaves_its_partition_is_named() {
    let test = "upkeep::a_port_that_leaves_its_partition_is_named";
    again::under("mlx5-ib,events=pkey_change@400d,pkeys_then=0x8005", test, || {
        let mut config = config(needs::devices().unwrap());
        config.device.timeout = Duration::from_secs(5);
        let errors = ranks::run(SIZE, |bootstrap| {
            let mut broadcaster = Broadcaster::new(bootstrap, &config).unwrap();
            let begun = Instant::now();
            for step in 0.. {
                let mut buffer = vec![0; 20_000];
                if let Err(error) = broadcaster.broadcast_into(Rank(step % SIZE), &mut buffer) {
                    return error.to_string();
                }
                assert!(begun.elapsed() < PATIENCE, "nobody says so");
            }
            unreachable!()
        });
        for error in errors {
            assert!(error.contains("P_Key 0xffff has not been at index 0"), "{error}");
        }
    });
}

#[test]
fn a_change_of_other_partitions_concerns_nobody() {
    let test = "upkeep::a_change_of_other_partitions_concerns_nobody";
    comes_through("mlx5-ib,events=pkey_change@100d,pkeys_then=0xffff/0x8005", test, |one| {
        u64::from(one.rejoins == 0 && one.multicast_received > 100)
    });
}

/// The kernel asks the network where an address is, and the question or its answer may be lost.
#[test]
fn a_connection_whose_address_is_not_found_at_once_is_made_later() {
    let test = "upkeep::a_connection_whose_address_is_not_found_at_once_is_made_later";
    again::under("rxe,unresolved=20", test, || {
        let config = config(needs::devices().unwrap());
        ranks::exchange(SIZE, |_| config.clone(), &[8, 20_000, 300_000, 8]);
    });
}
