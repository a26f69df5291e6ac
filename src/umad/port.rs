//! An adapter's port, opened for management datagrams.

use super::error::Error;
use super::simulated::is_simulated;
use std::ffi::{CStr, CString, c_int, c_void};
use std::time::{Duration, Instant};
use verbcast_fabric::smp::{Agent, LEN, Route, Smp};
use verbcast_sys as sys;

/// Classes of management by LID and along a directed route; both are version 1.
const CLASSES: [c_int; 2] = [0x01, 0x81];

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For one packet.
    pub each: Duration,
    /// How often it is sent again when no answer came, or that the node is busy.
    pub retries: u32,
}

impl Default for Patience {
    /// Four packets, 200 ms each.
    fn default() -> Patience {
        Patience { each: Duration::from_millis(200), retries: 3 }
    }
}

/// A port that sends subnet management packets; closed on drop.
#[derive(Debug)]
pub struct Port {
    name: String,
    descriptor: c_int,
    /// For packets by LID and along a directed route.
    agents: [c_int; 2],
    /// A datagram behind libibumad's header, aligned as it wants it.
    buffer: Vec<u64>,
    patience: Patience,
    sent: u32,
}

impl Port {
    /// Opens a port of an adapter: the one with this name, or the first with an active InfiniBand port; the
    /// port with this number, or the first active one if it is 0.
    ///
    /// # Errors
    /// If there is none, or this process may not use it.
    pub fn open(adapter: Option<&str>, number: u8, patience: Patience) -> Result<Port, Error> {
        let wanted = adapter.unwrap_or("the first adapter");
        let wanted = format!("{wanted}, port {number}");
        let adapter = adapter.map(CString::new).transpose();
        let adapter = adapter.map_err(|_| Error::new("umad_get_port", &wanted, -libc::EINVAL))?;
        let adapter = adapter.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        // SAFETY: it may be called at any time, and often.
        check("umad_init", &wanted, unsafe { sys::umad_init() })?;
        let mut found = sys::umad_port_t::default();
        // SAFETY: the name is a C string or null, and `found` has room for a port.
        let answer = unsafe { sys::umad_get_port(adapter, number.into(), &raw mut found) };
        check("umad_get_port", &wanted, answer)?;
        // SAFETY: libibumad ends names with a zero.
        let adapter = unsafe { CStr::from_ptr(found.ca_name.as_ptr()) }.to_owned();
        let number = found.portnum;
        // SAFETY: `found` came from `umad_get_port` and is not used any more.
        unsafe { sys::umad_release_port(&raw mut found) };
        let name = format!("{}, port {number}", adapter.to_string_lossy());
        // SAFETY: the name is a C string.
        let descriptor = unsafe { sys::umad_open_port(adapter.as_ptr(), number) };
        check("umad_open_port", &name, descriptor)?;
        // SAFETY: it takes nothing.
        let header = unsafe { sys::umad_size() };
        let buffer = vec![0; (header + LEN).div_ceil(size_of::<u64>())];
        let mut port = Port { name, descriptor, agents: [-1; 2], buffer, patience, sent: 0 };
        for (agent, class) in port.agents.iter_mut().zip(CLASSES) {
            // SAFETY: the port is open; without a mask the agent gets answers only.
            *agent = unsafe { sys::umad_register(descriptor, class, 1, 0, std::ptr::null_mut()) };
            check("umad_register", &port.name, *agent)?;
        }
        Ok(port)
    }

    /// The adapter's name and the port's number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the port is one of ibsim's, so that nothing it sends can come to a real fabric. Where that
    /// cannot be told it is not.
    pub fn is_simulated(&self) -> bool {
        // SAFETY: the port is open.
        is_simulated(unsafe { sys::umad_get_fd(self.descriptor) })
    }

    fn umad(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    fn send(&mut self, request: &Smp, route: &Route) -> Result<(), Error> {
        let agent = self.agents[usize::from(request.is_directed())];
        let lid = match route {
            Route::Directed(_) => 0xffff,
            Route::Lid(lid) => c_int::from(*lid),
        };
        self.buffer.fill(0);
        let umad = self.umad();
        let timeout = milliseconds(self.patience.each);
        // SAFETY: the buffer holds a header and a datagram; the port is open and the agent registered. QP 0
        // takes management packets, without a key.
        let answer = unsafe {
            sys::umad_get_mad(umad).cast::<[u8; LEN]>().write_unaligned(*request.bytes());
            sys::umad_set_addr(umad, lid, 0, 0, 0);
            sys::umad_send(self.descriptor, agent, umad, LEN as c_int, timeout, 0)
        };
        check("umad_send", &self.name, answer)
    }

    /// The next datagram that comes, with its status; none if none came.
    fn receive(&mut self, wait: Duration) -> Result<Option<(Smp, c_int)>, Error> {
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
        Ok(Some((Smp::from_bytes(bytes), status)))
    }

    /// Sends a packet once. None if there was no answer.
    fn try_once(&mut self, request: &Smp, route: &Route) -> Result<Option<Smp>, Error> {
        self.sent = self.sent.wrapping_add(1);
        let mut request = *request;
        request.set_transaction(self.sent);
        self.send(&request, route)?;
        let deadline = Instant::now() + self.patience.each;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match self.receive(left)? {
                // What comes with a status is the request itself, which got no answer.
                Some((answer, status)) if answer.transaction() == self.sent => {
                    return Ok((status == 0).then_some(answer));
                }
                // An answer to what was given up, or nothing yet.
                _ => {}
            }
        }
    }
}

/// Rounded up, so that the rest of a millisecond is not a busy loop.
pub(super) fn milliseconds(time: Duration) -> c_int {
    c_int::try_from(time.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
}

/// Turns the answer of a call that is negative if it failed.
pub(super) fn check(call: &'static str, object: &str, answer: c_int) -> Result<(), Error> {
    if answer < 0 { Err(Error::new(call, object, answer)) } else { Ok(()) }
}

impl Agent for Port {
    fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String> {
        let mut busy = None;
        for _ in 0..=self.patience.retries {
            match self.try_once(request, route) {
                Ok(Some(answer)) if answer.is_busy() => busy = Some(answer),
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let Patience { each, retries } = self.patience;
        busy.ok_or_else(|| {
            format!(
                "no answer to {} packets within {} ms each (is it there, and is the M_Key right?)",
                retries + 1,
                each.as_millis()
            )
        })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        for agent in self.agents.into_iter().filter(|agent| *agent >= 0) {
            // SAFETY: the port is open and the agent is its own.
            log_failure("umad_unregister", &self.name, unsafe {
                sys::umad_unregister(self.descriptor, agent)
            });
        }
        // SAFETY: the port is open, and not used any more.
        log_failure("umad_close_port", &self.name, unsafe {
            sys::umad_close_port(self.descriptor)
        });
    }
}

/// Logs what a drop cannot return.
pub(super) fn log_failure(call: &'static str, object: &str, answer: c_int) {
    if let Err(error) = check(call, object, answer) {
        tracing::warn!("while dropping: {error}");
    }
}
