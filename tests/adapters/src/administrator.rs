//! The subnet administrator, as a program asks it through libibumad: memberships in multicast groups.
//!
//! There is no such thing behind SoftRoCE. A membership is a socket's membership in the IPv4 group, as long as the process
//! lives or until it leaves.

use crate::adapter::{Adapter, infiniband};
use crate::node::Device;
use crate::real;
use crate::route::{group_ipv4, mlid};
use crate::shared::{self, Membership};
use libc::{c_char, c_int, c_long, c_void};
use std::collections::{HashMap, VecDeque};
use std::ffi::CStr;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use verbcast_sys::umad_port_t;

/// Bytes of a datagram, and where its parts are (InfiniBand Architecture Specification, 15.2.1.1).
const LEN: usize = 256;
const METHOD: usize = 3;
const STATUS: usize = 4;
const ATTRIBUTE: usize = 16;
const MASK: usize = 48;
const RECORD: usize = 56;
const SET: u8 = 0x02;
const DELETE: u8 = 0x15;
const ANSWER: u8 = 0x80;
/// `MCMemberRecord`, and where its parts are (15.2.5.17).
const MEMBER_RECORD: u16 = 0x0038;
const QKEY: usize = RECORD + 32;
const MLID: usize = RECORD + 36;
const MTU: usize = RECORD + 38;
const PKEY: usize = RECORD + 40;
/// Components without which a group is not made: Q_Key, P_Key, SL, flow label, traffic class.
const NEEDED: u64 = 1 << 2 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 6;
/// Statuses (15.4.1.2).
const UNSUPPORTED: u16 = 0x000c;
const INVALID: u16 = 0x0200;
const INSUFFICIENT: u16 = 0x0600;
const NO_RECORDS: u16 = 0x0300;
/// The MTU of SoftRoCE's ports here.
const DEFAULT_MTU: u32 = 4096;

type Mad = [u8; LEN];

/// An open port: its device, and what it has been answered.
struct Port {
    _file: OwnedFd,
    device: usize,
    answers: VecDeque<Mad>,
}

/// What holds a device in a group.
type Members = HashMap<(usize, [u8; 16]), (UdpSocket, Membership)>;

/// By their descriptors.
static PORTS: Mutex<Option<HashMap<c_int, Port>>> = Mutex::new(None);
/// The groups that each device is in.
static MEMBERS: Mutex<Option<Members>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn two(mad: &Mad, at: usize) -> u16 {
    u16::from_be_bytes([mad[at], mad[at + 1]])
}

/// What is answered to a request.
fn answer(adapter: &Adapter, device: &Device, mad: &mut Mad) {
    let status = match (two(mad, ATTRIBUTE), mad[METHOD]) {
        (MEMBER_RECORD, SET) => join(adapter, device, mad),
        (MEMBER_RECORD, DELETE) => leave(device, mad),
        _ => Err(UNSUPPORTED),
    };
    let status = status.err().unwrap_or(0);
    mad[STATUS..STATUS + 2].copy_from_slice(&status.to_be_bytes());
    mad[METHOD] |= ANSWER;
}

fn mgid(mad: &Mad) -> [u8; 16] {
    std::array::from_fn(|byte| mad[RECORD + byte])
}

fn join(adapter: &Adapter, device: &Device, mad: &mut Mad) -> Result<(), u16> {
    let mgid = mgid(mad);
    let mask = u64::from_be_bytes(std::array::from_fn(|byte| mad[MASK + byte]));
    let name = shared::group_name(&mgid);
    if mask & NEEDED != NEEDED && !shared::exists(&name) {
        return Err(INSUFFICIENT);
    }
    let pkey = adapter.profile.ipoib_pkey;
    if mask & (1 << 7) != 0 && (two(mad, PKEY) ^ pkey) & 0x7fff != 0 {
        return Err(INVALID);
    }
    let mtu = adapter.profile.mtu(device.index).unwrap_or(DEFAULT_MTU);
    let wanted = u32::from_be_bytes(std::array::from_fn(|byte| mad[QKEY + byte]));
    let (membership, qkey) = Membership::enter(&name, mtu, wanted).ok_or(INVALID)?;
    let socket = UdpSocket::bind(("0.0.0.0", 0)).map_err(|_| INVALID)?;
    socket.join_multicast_v4(&group_ipv4(&mgid), &device.ipv4).map_err(|_| INVALID)?;
    lock(&MEMBERS).get_or_insert_default().insert((device.index, mgid), (socket, membership));
    mad[QKEY..QKEY + 4].copy_from_slice(&qkey.to_be_bytes());
    mad[MLID..MLID + 2].copy_from_slice(&mlid(&mgid).to_be_bytes());
    // 256 is 1, and each step doubles.
    mad[MTU] = (mtu / 128).ilog2() as u8;
    mad[PKEY..PKEY + 2].copy_from_slice(&pkey.to_be_bytes());
    Ok(())
}

fn leave(device: &Device, mad: &Mad) -> Result<(), u16> {
    let gone = lock(&MEMBERS).get_or_insert_default().remove(&(device.index, mgid(mad)));
    gone.map(drop).ok_or(NO_RECORDS)
}

/// The device of that name; the first without one.
unsafe fn named(adapter: &'static Adapter, name: *const c_char) -> Option<&'static Device> {
    if name.is_null() {
        return adapter.node.devices.first();
    }
    // SAFETY: the caller's promise.
    adapter.node.named(&unsafe { CStr::from_ptr(name) }.to_string_lossy())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_get_port(
    name: *const c_char,
    number: c_int,
    port: *mut umad_port_t,
) -> c_int {
    let Some(adapter) = infiniband() else {
        // SAFETY: the caller's promise.
        return unsafe { real::umad_get_port(name, number, port) };
    };
    // SAFETY: the caller's promise.
    let (found, port) = unsafe { (named(adapter, name), &mut *port) };
    let Some(device) = found else { return -libc::EINVAL };
    *port = umad_port_t::default();
    for (to, from) in port.ca_name.iter_mut().take(19).zip(device.name.bytes()) {
        *to = from as c_char;
    }
    for (to, from) in port.link_layer.iter_mut().zip(*b"InfiniBand") {
        *to = from as c_char;
    }
    let [prefix, guid] = [0, 8].map(|at| std::array::from_fn(|byte| device.gid[at + byte]));
    port.gid_prefix = u64::from_ne_bytes(prefix);
    port.port_guid = u64::from_ne_bytes(guid);
    port.portnum = 1;
    port.base_lid = device.lid.into();
    port.sm_lid = adapter.profile.sm_lid.into();
    port.sm_sl = adapter.profile.sl.into();
    port.state = 4;
    port.phys_state = 5;
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_release_port(port: *mut umad_port_t) -> c_int {
    match infiniband() {
        Some(_) => 0,
        // SAFETY: the caller's promise.
        None => unsafe { real::umad_release_port(port) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_open_port(name: *const c_char, number: c_int) -> c_int {
    let Some(adapter) = infiniband() else {
        // SAFETY: the caller's promise.
        return unsafe { real::umad_open_port(name, number) };
    };
    // SAFETY: the caller's promise.
    let Some(device) = (unsafe { named(adapter, name) }) else { return -libc::ENODEV };
    if !adapter.profile.administrator_answers {
        return -libc::EACCES;
    }
    let file = OwnedFd::from(shared::open(&format!("umad-{}", device.name)));
    let descriptor = file.as_raw_fd();
    let port = Port { _file: file, device: device.index, answers: VecDeque::new() };
    lock(&PORTS).get_or_insert_default().insert(descriptor, port);
    descriptor
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_close_port(port: c_int) -> c_int {
    match lock(&PORTS).get_or_insert_default().remove(&port) {
        Some(_) => 0,
        // SAFETY: the caller's promise.
        None => unsafe { real::umad_close_port(port) },
    }
}

/// Whether a port is one of those here.
fn is_ours(port: c_int) -> bool {
    lock(&PORTS).get_or_insert_default().contains_key(&port)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_get_fd(port: c_int) -> c_int {
    // SAFETY: the caller's promise.
    if is_ours(port) { port } else { unsafe { real::umad_get_fd(port) } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_register(
    port: c_int,
    class: c_int,
    version: c_int,
    rmpp: u8,
    mask: *mut c_long,
) -> c_int {
    match is_ours(port) {
        true => 0,
        // SAFETY: the caller's promise.
        false => unsafe { real::umad_register(port, class, version, rmpp, mask) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_unregister(port: c_int, agent: c_int) -> c_int {
    // SAFETY: the caller's promise.
    if is_ours(port) { 0 } else { unsafe { real::umad_unregister(port, agent) } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_send(
    port: c_int,
    agent: c_int,
    umad: *mut c_void,
    length: c_int,
    timeout: c_int,
    retries: c_int,
) -> c_int {
    let mut ports = lock(&PORTS);
    let known = ports.get_or_insert_default().get_mut(&port);
    let (Some(known), Some(adapter)) = (known, infiniband()) else {
        drop(ports);
        // SAFETY: the caller's promise.
        return unsafe { real::umad_send(port, agent, umad, length, timeout, retries) };
    };
    // SAFETY: the caller's promise: a header and a datagram.
    let mut mad = unsafe { real::umad_get_mad(umad).cast::<Mad>().read_unaligned() };
    answer(adapter, &adapter.node.devices[known.device], &mut mad);
    known.answers.push_back(mad);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn umad_recv(
    port: c_int,
    umad: *mut c_void,
    length: *mut c_int,
    timeout: c_int,
) -> c_int {
    if !is_ours(port) {
        // SAFETY: the caller's promise.
        return unsafe { real::umad_recv(port, umad, length, timeout) };
    }
    let next = lock(&PORTS)
        .get_or_insert_default()
        .get_mut(&port)
        .and_then(|known| known.answers.pop_front());
    let Some(mad) = next else {
        std::thread::sleep(Duration::from_millis(timeout.max(0) as u64));
        return -libc::ETIMEDOUT;
    };
    // SAFETY: the caller's promise: room for a header, which begins with the agent and the status, and a datagram.
    unsafe {
        umad.cast::<[u32; 2]>().write_unaligned([0, 0]);
        real::umad_get_mad(umad).cast::<Mad>().write_unaligned(mad);
        *length = LEN as c_int;
    }
    0
}
