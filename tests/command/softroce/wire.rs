//! The command on a wire of several NICs, with losses.

use super::adapters::Adapter;
use super::doctor::doctor;
use crate::needs;
use crate::support::{Folder, run, text, verbcast};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, eth, recv, socket_with};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The wire of one NIC carries less than its port.
#[test]
fn a_path_that_carries_less_than_its_ports_is_named() {
    let Some(devices) = needs::devices() else { return };
    if devices.len() < 2 {
        return needs::skip("needs a wire");
    }
    let set = |mtu: &str| {
        let status = Command::new("ip").args(["link", "set", "p2", "mtu", mtu]).status();
        assert!(status.unwrap().success());
    };
    set("1500");
    let output = run(doctor(&devices[..2]).args(["--ranks", "2"]));
    set("4500");
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{stdout}{}", text(&output.stderr));
    let (_, verdict) = stdout.split_once("something is wrong:\n").expect("a verdict");
    assert!(verdict.contains("path-mtu (6): ") && verdict.contains("what to do: "), "{verdict}");
}

/// Who makes an InfiniBand group gives it the MTU of its port, and ports that do less are refused from then on.
#[test]
fn ports_of_different_mtus_are_in_one_group_whatever_the_order() {
    let Some(devices) = needs::devices() else { return };
    let Some(mut order) = devices.get(..4).map(<[_]>::to_vec) else {
        return needs::skip("needs a wire");
    };
    for _ in 0..order.len() {
        Adapter::on("mlx5-ib,mtu=4096/2048/4096/1024", order.join(",")).copies(300_001, 4);
        order.rotate_left(1);
    }
}

#[test]
fn each_rail_of_a_copy_has_a_nic_of_its_own() {
    let Some(devices) = needs::devices() else { return };
    let Some(devices) = devices.get(..4) else { return needs::skip("needs a wire") };
    let two_rails = |mut command: Command| {
        command.args(["--device", &devices.join(",")]).env("VERBCAST_RAILS", "2");
        let output = run(&mut command);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let mut info = verbcast();
    info.arg("info");
    let shown = two_rails(info);
    for line in
        [format!("would use {} port 1", devices[0]), format!("for rail 2 {} port 1", devices[1])]
    {
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    let folder = Folder::new();
    let message: Vec<u8> = (0..3_000_017_u32).map(|at| (at % 251) as u8).collect();
    fs::write(folder.path("src"), &message).unwrap();
    let mut copy = verbcast();
    copy.args(["copy", "src", "dst.{rank}", "--ranks", "2"]).current_dir(folder.path(""));
    two_rails(copy);
    assert!(fs::read(folder.path("dst.1")).unwrap() == message);
}

/// The traffic class that is asked for, as an IP header has it.
const CLASS: u8 = 26 << 2;
/// Where RoCE's packets go to.
const ROCE_PORT: u16 = 4791;
/// The QP of the connection manager, whose packets are the kernel's.
const MANAGER: [u8; 3] = [0, 0, 1];

/// The InfiniBand opcode of a RoCE packet, which begins with its IPv4 header. None for any other packet.
fn opcode(packet: &[u8]) -> Option<u8> {
    let ip_len = usize::from(packet.first()? & 0xf) * 4;
    let (udp, infiniband) = (packet.get(ip_len..)?, packet.get(ip_len + 8..)?);
    let is_roce = packet[0] >> 4 == 4
        && packet.get(9) == Some(&17)
        && udp.get(2..4)? == ROCE_PORT.to_be_bytes()
        && infiniband.get(5..8)? != MANAGER;
    is_roce.then(|| infiniband[0])
}

/// How many RoCE packets crossed all network interfaces until it is over, by their opcode and traffic class.
fn crossed(is_over: &AtomicBool) -> BTreeMap<(u8, u8), u32> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    // Each packet from its IP header on.
    let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, flags, Some(eth::ALL));
    let (socket, mut seen, mut packet) = (socket.unwrap(), BTreeMap::new(), [0; 64]);
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        while let Ok((len, _)) = recv(&socket, &mut packet, RecvFlags::empty()) {
            if let Some(opcode) = opcode(&packet[..len]) {
                *seen.entry((opcode, packet[1])).or_insert(0) += 1;
            }
        }
        if was_over {
            return seen;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Says that it is over, even where a test fails: who looks on would do so for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What crosses the wire while something is done.
fn crossed_during<T>(what: impl FnOnce() -> T) -> (T, BTreeMap<(u8, u8), u32>) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let over = Over(&is_over);
        let seen = scope.spawn(|| crossed(&is_over));
        let done = what();
        drop(over);
        (done, seen.join().unwrap())
    })
}

/// SoftRoCE may fail in the midst of an answer of several packets, and says then that the read was done.
#[test]
fn what_is_read_comes_in_one_packet() {
    let Some(devices) = needs::devices() else { return };
    let Some(devices) = devices.get(..4) else {
        return needs::skip("needs a wire");
    };
    let adapter = Adapter::on("mlx5-ib,mtu=2048/1024/4096/1024", devices.join(","))
        .setting("VERBCAST_FAULT", "loss=0.1,seed=1");
    let (_, seen) = crossed_during(|| adapter.copies(900_001, 4));
    // First, middle, last and only packets of answers (InfiniBand Architecture Specification, 9.2.1).
    let [first, middle, last, only] =
        [13, 14, 15, 16].map(|opcode| seen.get(&(opcode, 0)).copied().unwrap_or(0));
    assert!(only > 0, "nothing was read: {seen:?}");
    assert_eq!([first, middle, last], [0; 3], "{seen:?}");
}

#[test]
fn every_packet_has_the_traffic_class_that_is_asked_for() {
    let Some(devices) = needs::devices() else { return };
    if devices.len() < 3 {
        return needs::skip("needs a wire");
    }
    let folder = Folder::new();
    fs::write(folder.path("src"), [7; 100_000]).unwrap();
    let mut copy = verbcast();
    copy.current_dir(folder.path("")).env("VERBCAST_TRAFFIC_CLASS", CLASS.to_string());
    copy.args(["copy", "src", "dst.{rank}", "--ranks", "3", "--device", &devices.join(",")]);
    let (output, seen) = crossed_during(|| run(&mut copy));
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Of reliable connections and of datagrams (InfiniBand Architecture Specification, 9.2.1).
    for transport in [0b000, 0b011] {
        let is_of = |(opcode, class): &(u8, u8)| opcode >> 5 == transport && *class == CLASS;
        assert!(seen.keys().any(is_of), "{seen:?}");
    }
    assert!(seen.keys().all(|(_, class)| *class == CLASS), "{seen:?}");
}
