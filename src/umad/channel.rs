//! A port's device file and the agents registered with it: datagrams go out and come in.

use super::error::Error;
use std::ffi::{CStr, CString, c_int, c_void};
use std::time::Duration;
use verbcast_fabric::smp::LEN;
use verbcast_sys as sys;

/// A class of management, and its version (IBA 1.4, section 13.4).
#[derive(Clone, Copy, Debug)]
pub struct Class {
    pub class: u8,
    pub version: u8,
}

/// Who gets a datagram.
#[derive(Clone, Copy, Debug, Default)]
pub struct Destination {
    pub lid: u16,
    pub qp: u32,
    pub sl: u8,
    pub qkey: u32,
    /// The place of the P_Key in the port's table.
    pub pkey_index: u16,
}

/// What is known of a port before it is opened.
#[derive(Clone, Debug)]
pub struct Found {
    pub adapter: CString,
    pub number: u8,
    pub gid: [u8; 16],
    /// Where the subnet manager is; 0 if the port knows none.
    pub manager: Destination,
}

impl Found {
    /// The adapter with this name, or the first with an active InfiniBand port; its port with this number, or the first
    /// active one if it is 0.
    ///
    /// # Errors
    /// If there is none.
    pub fn look(adapter: Option<&str>, number: u8) -> Result<Found, Error> {
        let wanted = format!("{}, port {number}", adapter.unwrap_or("the first adapter"));
        let adapter = adapter.map(CString::new).transpose();
        let adapter = adapter.map_err(|_| Error::new("umad_get_port", &wanted, -libc::EINVAL))?;
        let adapter = adapter.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        // SAFETY: it may be called at any time, and often.
        check("umad_init", &wanted, unsafe { sys::umad_init() })?;
        let mut port = sys::umad_port_t::default();
        // SAFETY: the name is a C string or null, and `port` has room for a port.
        let answer = unsafe { sys::umad_get_port(adapter, number.into(), &raw mut port) };
        check("umad_get_port", &wanted, answer)?;
        // Both are in network order.
        let halves = [port.gid_prefix.to_ne_bytes(), port.port_guid.to_ne_bytes()];
        let pkeys = match port.pkeys.is_null() {
            true => &[],
            // SAFETY: libibumad has allocated a table of this size, which lives until the port is released.
            false => unsafe { std::slice::from_raw_parts(port.pkeys, port.pkeys_size as usize) },
        };
        let found = Found {
            // SAFETY: libibumad ends names with a zero.
            adapter: unsafe { CStr::from_ptr(port.ca_name.as_ptr()) }.to_owned(),
            number: port.portnum as u8,
            gid: std::array::from_fn(|byte| halves.as_flattened()[byte]),
            manager: Destination {
                lid: port.sm_lid as u16,
                sl: port.sm_sl as u8,
                pkey_index: management_index(pkeys),
                ..Destination::default()
            },
        };
        // SAFETY: `port` came from `umad_get_port` and is not used any more.
        unsafe { sys::umad_release_port(&raw mut port) };
        Ok(found)
    }

    fn name(&self) -> String {
        format!("{}, port {}", self.adapter.to_string_lossy(), self.number)
    }
}

/// An open port with `N` agents; closed on drop.
#[derive(Debug)]
pub struct Channel<const N: usize> {
    name: String,
    descriptor: c_int,
    agents: [c_int; N],
    /// A datagram behind libibumad's header, aligned as it wants it.
    buffer: Vec<u64>,
}

impl<const N: usize> Channel<N> {
    /// Opens a port, and registers an agent for each class, which gets answers only.
    ///
    /// # Errors
    /// If this process may not use it.
    pub fn open(found: &Found, classes: [Class; N]) -> Result<Channel<N>, Error> {
        let name = found.name();
        // SAFETY: the name is a C string.
        let descriptor =
            unsafe { sys::umad_open_port(found.adapter.as_ptr(), found.number.into()) };
        check("umad_open_port", &name, descriptor)?;
        // SAFETY: it takes nothing.
        let header = unsafe { sys::umad_size() };
        let buffer = vec![0; (header + LEN).div_ceil(size_of::<u64>())];
        let mut channel = Channel { name, descriptor, agents: [-1; N], buffer };
        for (agent, Class { class, version }) in channel.agents.iter_mut().zip(classes) {
            let (class, version) = (class.into(), version.into());
            // SAFETY: the port is open; no mask is given.
            *agent =
                unsafe { sys::umad_register(descriptor, class, version, 0, std::ptr::null_mut()) };
            check("umad_register", &channel.name, *agent)?;
        }
        Ok(channel)
    }

    /// The adapter's name and the port's number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is ready to read when a datagram has come.
    pub fn descriptor(&self) -> c_int {
        // SAFETY: the port is open.
        unsafe { sys::umad_get_fd(self.descriptor) }
    }

    fn umad(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    /// Sends by an agent; the kernel waits that long for the answer.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn send(
        &mut self,
        agent: usize,
        bytes: &[u8; LEN],
        to: Destination,
        timeout: Duration,
    ) -> Result<(), Error> {
        let agent = self.agents[agent];
        self.buffer.fill(0);
        let umad = self.umad();
        // SAFETY: the buffer holds a header and a datagram; the port is open and the agent registered.
        let answer = unsafe {
            sys::umad_get_mad(umad).cast::<[u8; LEN]>().write_unaligned(*bytes);
            sys::umad_set_addr(umad, to.lid.into(), to.qp as c_int, to.sl.into(), to.qkey as c_int);
            sys::umad_set_pkey(umad, to.pkey_index.into());
            let (timeout, length) = (milliseconds(timeout), LEN as c_int);
            sys::umad_send(self.descriptor, agent, umad, length, timeout, 0)
        };
        check("umad_send", &self.name, answer)
    }

    /// The next datagram that comes, with its status, which is that of a request without an answer if it is not 0;
    /// none if none came.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn receive(&mut self, wait: Duration) -> Result<Option<([u8; LEN], c_int)>, Error> {
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
        Ok(Some(unsafe {
            (sys::umad_get_mad(umad).cast::<[u8; LEN]>().read_unaligned(), sys::umad_status(umad))
        }))
    }
}

impl<const N: usize> Drop for Channel<N> {
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

/// Where a table of P_Keys has the partition in which subnets are managed, the default one, as whatever kind of member;
/// 0 where it does not have it. Omni-Path's management key has index 1 by default.
fn management_index(pkeys: &[u16]) -> u16 {
    const PARTITION: u16 = 0x7fff;
    let index = pkeys.iter().position(|pkey| pkey & PARTITION == PARTITION);
    index.and_then(|index| u16::try_from(index).ok()).unwrap_or(0)
}

/// Rounded up, so that the rest of a millisecond is not a busy loop.
fn milliseconds(time: Duration) -> c_int {
    c_int::try_from(time.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
}

/// Turns the answer of a call that is negative if it failed.
fn check(call: &'static str, object: &str, answer: c_int) -> Result<(), Error> {
    if answer < 0 { Err(Error::new(call, object, answer)) } else { Ok(()) }
}

/// Logs what a drop cannot return.
fn log_failure(call: &'static str, object: &str, answer: c_int) {
    if let Err(error) = check(call, object, answer) {
        tracing::warn!("while dropping: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::management_index;

    #[test]
    fn subnets_are_managed_in_the_default_partition() {
        assert_eq!(management_index(&[0xffff, 0x8001]), 0);
        assert_eq!(management_index(&[0x8001, 0x7fff]), 1, "as on Omni-Path");
        assert_eq!(management_index(&[0x8001, 0]), 0, "there is none");
    }
}
