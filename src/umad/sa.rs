//! Joining multicast groups by asking the subnet administrator (SA) oneself, where the kernel cannot: without IPoIB.
//!
//! The administrator keeps a membership until somebody leaves, also that of a process that was killed.

use super::claim::Claim;
use super::error::Error;
use super::member_record::{MemberRecord, component};
use super::port::{check, log_failure, milliseconds};
use super::sa_packet::{CLASS, CLASS_VERSION, INSUFFICIENT_COMPONENTS, Method, SaPacket, meaning};
use std::ffi::{CString, c_int, c_void};
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use verbcast_fabric::smp::LEN;
use verbcast_sys as sys;

/// The QP that answers, and its Q_Key (IBA 1.4, section 10.2.4).
const QP: c_int = 1;
const QKEY: u32 = 0x8001_0000;
/// How long an answer is waited for before the request is sent again.
const EACH: Duration = Duration::from_millis(500);
/// How long a leave may take: it is no catastrophe if it fails.
const LEAVE: Duration = Duration::from_secs(1);

/// Why the administrator did not do as it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaError {
    /// This process cannot ask: there is no such port, or it may not use the port's device file.
    Unusable(Error),
    /// The port does not know of a subnet manager.
    NoManager(String),
    /// The packet could not be sent, or nothing was received.
    Failed(Error),
    /// It did not answer.
    Silent(String),
    /// It refuses, with this status.
    Refused {
        /// What was asked.
        asked: String,
        /// The status of the answer.
        status: u16,
    },
}

impl fmt::Display for SaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SaError::Unusable(error) | SaError::Failed(error) => error.fmt(f),
            SaError::NoManager(port) => {
                write!(f, "{port} knows no subnet manager: is one running?")
            }
            SaError::Silent(asked) => {
                write!(f, "{asked}: the subnet administrator does not answer")
            }
            SaError::Refused { asked, status } => {
                let meaning = meaning(*status);
                write!(f, "{asked}: the subnet administrator says {meaning} (status {status:#06x})")
            }
        }
    }
}

impl std::error::Error for SaError {}

/// A port, opened for requests to the subnet administrator; closed on drop.
#[derive(Debug)]
struct SaPort {
    name: String,
    gid: [u8; 16],
    descriptor: c_int,
    agent: c_int,
    /// Where the administrator is.
    lid: c_int,
    sl: c_int,
    sent: u32,
    /// A datagram behind libibumad's header, aligned as it wants it.
    buffer: Vec<u64>,
}

impl SaPort {
    fn open(adapter: &str, number: u8) -> Result<SaPort, SaError> {
        let name = format!("{adapter}, port {number}");
        let invalid = |_| SaError::Unusable(Error::new("umad_get_port", &name, -libc::EINVAL));
        let adapter = CString::new(adapter).map_err(invalid)?;
        // SAFETY: it may be called at any time, and often.
        check("umad_init", &name, unsafe { sys::umad_init() }).map_err(SaError::Unusable)?;
        let mut found = sys::umad_port_t::default();
        // SAFETY: the name is a C string, and `found` has room for a port.
        let answer = unsafe { sys::umad_get_port(adapter.as_ptr(), number.into(), &raw mut found) };
        check("umad_get_port", &name, answer).map_err(SaError::Unusable)?;
        let (lid, sl) = (found.sm_lid as c_int, found.sm_sl as c_int);
        // Both are in network order.
        let halves = [found.gid_prefix.to_ne_bytes(), found.port_guid.to_ne_bytes()];
        // SAFETY: `found` came from `umad_get_port` and is not used any more.
        unsafe { sys::umad_release_port(&raw mut found) };
        if lid == 0 {
            return Err(SaError::NoManager(name));
        }
        // SAFETY: the name is a C string.
        let descriptor = unsafe { sys::umad_open_port(adapter.as_ptr(), number.into()) };
        check("umad_open_port", &name, descriptor).map_err(SaError::Unusable)?;
        // SAFETY: it takes nothing.
        let header = unsafe { sys::umad_size() };
        let buffer = vec![0; (header + LEN).div_ceil(size_of::<u64>())];
        let gid = std::array::from_fn(|byte| halves.as_flattened()[byte]);
        let mut port = SaPort { name, gid, descriptor, agent: -1, lid, sl, sent: 0, buffer };
        let (class, version) = (CLASS.into(), CLASS_VERSION.into());
        // SAFETY: the port is open; without a mask the agent gets answers only.
        port.agent =
            unsafe { sys::umad_register(descriptor, class, version, 0, std::ptr::null_mut()) };
        check("umad_register", &port.name, port.agent).map_err(SaError::Unusable)?;
        Ok(port)
    }

    fn umad(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    fn send(&mut self, request: &SaPacket) -> Result<(), Error> {
        self.buffer.fill(0);
        let umad = self.umad();
        // SAFETY: the buffer holds a header and a datagram; the port is open and the agent registered.
        let answer = unsafe {
            sys::umad_get_mad(umad).cast::<[u8; LEN]>().write_unaligned(*request.bytes());
            sys::umad_set_addr(umad, self.lid, QP, self.sl, QKEY as c_int);
            let (timeout, length) = (milliseconds(EACH), LEN as c_int);
            sys::umad_send(self.descriptor, self.agent, umad, length, timeout, 0)
        };
        check("umad_send", &self.name, answer)
    }

    /// The next datagram that comes well; none if none did.
    fn receive(&mut self, wait: Duration) -> Result<Option<SaPacket>, Error> {
        let umad = self.umad();
        let mut length = LEN as c_int;
        // SAFETY: the buffer has room for a header and `length` bytes; the port is open.
        let answer =
            unsafe { sys::umad_recv(self.descriptor, umad, &raw mut length, milliseconds(wait)) };
        if [-libc::ETIMEDOUT, -libc::EWOULDBLOCK, -libc::EINTR].contains(&answer) {
            return Ok(None);
        }
        check("umad_recv", &self.name, answer)?;
        // SAFETY: the buffer holds a header and a datagram, whatever part of it was received.
        let (bytes, status) = unsafe {
            (sys::umad_get_mad(umad).cast::<[u8; LEN]>().read_unaligned(), sys::umad_status(umad))
        };
        Ok((status == 0).then(|| SaPacket::from_bytes(bytes)))
    }

    /// Asks until there is an answer that is not a plea for time, at most until a deadline.
    fn ask(
        &mut self,
        (method, mask): (Method, u64),
        record: &MemberRecord,
        deadline: Instant,
    ) -> Result<MemberRecord, SaError> {
        let asked = || {
            let what = if method == Method::Set { "joining" } else { "leaving" };
            format!("{what} MGID {} by {}", Ipv6Addr::from(record.mgid), self.name)
        };
        let asked = asked();
        let mut last = SaError::Silent(asked.clone());
        loop {
            self.sent = self.sent.wrapping_add(1);
            let request = SaPacket::request(method, self.sent, mask, record);
            self.send(&request).map_err(SaError::Failed)?;
            let until = deadline.min(Instant::now() + EACH);
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match self.receive(left).map_err(SaError::Failed)? {
                    Some(answer) if answer.answers(self.sent) => match answer.status() {
                        0 => return Ok(answer.record()),
                        status if status & 1 == 0 => {
                            return Err(SaError::Refused { asked, status });
                        }
                        status => last = SaError::Refused { asked: asked.clone(), status },
                    },
                    // An answer to what was given up, or nothing yet.
                    _ => {}
                }
                if left.is_zero() {
                    break;
                }
            }
            if Instant::now() >= deadline {
                return Err(last);
            }
        }
    }
}

impl Drop for SaPort {
    fn drop(&mut self) {
        if self.agent >= 0 {
            // SAFETY: the port is open and the agent is its own.
            log_failure("umad_unregister", &self.name, unsafe {
                sys::umad_unregister(self.descriptor, self.agent)
            });
        }
        // SAFETY: the port is open, and not used any more.
        log_failure("umad_close_port", &self.name, unsafe {
            sys::umad_close_port(self.descriptor)
        });
    }
}

fn lock(port: &Mutex<SaPort>) -> MutexGuard<'_, SaPort> {
    // What is in it is whole at any time.
    port.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a group is to be like if the join makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewGroup {
    /// The Q_Key of its datagrams.
    pub qkey: u32,
    /// Its partition.
    pub pkey: u16,
    /// Its service level.
    pub sl: u8,
    /// Its traffic class.
    pub traffic_class: u8,
}

/// The subnet administrator, as a port knew where it was when this was opened. A clone is the same one.
#[derive(Clone, Debug)]
pub struct SubnetAdministrator {
    port: Arc<Mutex<SaPort>>,
}

/// A port's membership in a multicast group; dropping it leaves, unless other processes are in the group
/// through the same port.
#[derive(Debug)]
pub struct SaMembership {
    port: Arc<Mutex<SaPort>>,
    record: MemberRecord,
    claim: Claim,
}

impl SubnetAdministrator {
    /// Opens a port of an adapter for requests to the administrator.
    ///
    /// # Errors
    /// If there is no such port, this process may not use its device file `/dev/infiniband/umad*`, or it knows no
    /// subnet manager.
    pub fn open(adapter: &str, port: u8) -> Result<SubnetAdministrator, SaError> {
        Ok(SubnetAdministrator { port: Arc::new(Mutex::new(SaPort::open(adapter, port)?)) })
    }

    /// Joins a group as a full member, and makes it if it is not there; at most for `patience`. The group's MTU and
    /// rate are then those of the port.
    ///
    /// # Errors
    /// If the administrator refuses or does not answer.
    pub fn join(
        &self,
        mgid: [u8; 16],
        new: NewGroup,
        patience: Duration,
    ) -> Result<SaMembership, SaError> {
        let deadline = Instant::now() + patience;
        let mut port = lock(&self.port);
        // SAFETY: the port is open.
        let claim = Claim::new(unsafe { sys::umad_get_fd(port.descriptor) }, &mgid);
        let NewGroup { qkey, pkey, sl, traffic_class } = new;
        let port_gid = port.gid;
        let record =
            MemberRecord { mgid, port_gid, qkey, pkey, sl, traffic_class, ..Default::default() };
        // What is said beyond this must be what the group has.
        let member = component::MGID | component::PORT_GID | component::JOIN_STATE;
        let made = component::Q_KEY
            | component::TRAFFIC_CLASS
            | component::P_KEY
            | component::SL
            | component::FLOW_LABEL;
        let joined = match port.ask((Method::Set, member), &record, deadline) {
            Err(SaError::Refused { status: INSUFFICIENT_COMPONENTS, .. }) => {
                port.ask((Method::Set, member | made), &record, deadline)
            }
            other => other,
        }?;
        Ok(SaMembership { port: Arc::clone(&self.port), record: joined, claim })
    }
}

impl SaMembership {
    /// What the administrator says of the group.
    pub fn record(&self) -> &MemberRecord {
        &self.record
    }
}

impl Drop for SaMembership {
    fn drop(&mut self) {
        if !self.claim.is_last() {
            return;
        }
        let mask = component::MGID | component::PORT_GID | component::JOIN_STATE;
        let mut port = lock(&self.port);
        let record = MemberRecord { port_gid: port.gid, ..self.record };
        let left = port.ask((Method::Delete, mask), &record, Instant::now() + LEAVE);
        if let Err(error) = left {
            tracing::warn!("while dropping: {error}");
        }
    }
}
