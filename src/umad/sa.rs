//! Joining multicast groups by asking the subnet administrator (SA) oneself, where the kernel cannot: without IPoIB.
//!
//! The administrator keeps a membership until somebody leaves, also that of a process that was killed.

use super::channel::{Channel, Class, Destination, Found};
use super::claim::Claim;
use super::error::Error;
use super::member_record::{MemberRecord, component, mtu_code, rate_code};
use super::sa_packet::{CLASS, CLASS_VERSION, INSUFFICIENT_COMPONENTS, Method, SaPacket, meaning};
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The QP that answers, and its Q_Key (IBA 1.4, section 10.2.4).
const QP: u32 = 1;
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

/// A port, opened for requests to the subnet administrator.
#[derive(Debug)]
struct SaPort {
    channel: Channel<1>,
    gid: [u8; 16],
    administrator: Destination,
    sent: u32,
}

impl SaPort {
    fn open(adapter: &str, number: u8) -> Result<SaPort, SaError> {
        let found = Found::look(Some(adapter), number).map_err(SaError::Unusable)?;
        if found.manager.lid == 0 {
            return Err(SaError::NoManager(format!("{adapter}, port {number}")));
        }
        let classes = [Class { class: CLASS, version: CLASS_VERSION }];
        let channel = Channel::open(&found, classes).map_err(SaError::Unusable)?;
        let administrator = Destination { qp: QP, qkey: QKEY, ..found.manager };
        Ok(SaPort { channel, gid: found.gid, administrator, sent: 0 })
    }

    /// The next answer that comes well; none if none did.
    fn receive(&mut self, wait: Duration) -> Result<Option<SaPacket>, SaError> {
        let received = self.channel.receive(wait).map_err(SaError::Failed)?;
        Ok(received
            .filter(|(_, status)| *status == 0)
            .map(|(bytes, _)| SaPacket::from_bytes(bytes)))
    }

    /// Asks until there is an answer that is not a plea for time, at most until a deadline.
    fn ask(
        &mut self,
        (method, mask): (Method, u64),
        record: &MemberRecord,
        deadline: Instant,
    ) -> Result<MemberRecord, SaError> {
        let what = if method == Method::Set { "joining" } else { "leaving" };
        let asked =
            format!("{what} MGID {} by {}", Ipv6Addr::from(record.mgid), self.channel.name());
        let mut last = SaError::Silent(asked.clone());
        loop {
            self.sent = self.sent.wrapping_add(1);
            let request = SaPacket::request(method, self.sent, mask, record);
            let sent = self.channel.send(0, request.bytes(), self.administrator, EACH);
            sent.map_err(SaError::Failed)?;
            let until = deadline.min(Instant::now() + EACH);
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match self.receive(left)? {
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
    /// Bytes of its packets at most, one of InfiniBand's MTUs: what all ports can that are to join.
    pub mtu: usize,
    /// Its rate in Mb/s, which all ports have that are to join; 0: that of the port that makes it.
    pub rate: u32,
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

    /// Joins a group as a full member, and makes it if it is not there; at most for `patience`. What is said of a new
    /// group does not count if there is one, whose MTU and rate the [record](SaMembership::record) tells.
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
        let claim = Claim::new(port.channel.descriptor(), &mgid);
        let NewGroup { qkey, pkey, sl, traffic_class, mtu, rate } = new;
        let (port_gid, rate) = (port.gid, rate_code(rate));
        let record = MemberRecord {
            mgid,
            port_gid,
            qkey,
            pkey,
            sl,
            traffic_class,
            mtu_code: mtu_code(mtu),
            rate_code: rate.unwrap_or(0),
            ..Default::default()
        };
        // What is said beyond this must be what the group has.
        let member = component::MGID | component::PORT_GID | component::JOIN_STATE;
        let made = component::Q_KEY
            | component::TRAFFIC_CLASS
            | component::P_KEY
            | component::SL
            | component::FLOW_LABEL
            | component::MTU_SELECTOR
            | component::MTU
            | rate.map_or(0, |_| component::RATE_SELECTOR | component::RATE);
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
        if !self.claim.give_up() {
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
