//! An adapter's port, opened for management datagrams.

use super::channel::{Channel, Class, Destination, Found};
use super::error::Error;
use super::simulated::is_simulated;
use std::time::{Duration, Instant};
use verbcast_fabric::smp::{Agent, Route, Smp};

/// Management by LID and along a directed route.
const CLASSES: [Class; 2] = [Class { class: 0x01, version: 1 }, Class { class: 0x81, version: 1 }];
/// Where a packet with a directed route goes: the next hop.
const PERMISSIVE: u16 = 0xffff;

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
    channel: Channel<2>,
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
        let channel = Channel::open(&Found::look(adapter, number)?, CLASSES)?;
        Ok(Port { channel, patience, sent: 0 })
    }

    /// The adapter's name and the port's number.
    pub fn name(&self) -> &str {
        self.channel.name()
    }

    /// Whether the port is one of ibsim's, so that nothing it sends can come to a real fabric. Where that
    /// cannot be told it is not.
    pub fn is_simulated(&self) -> bool {
        is_simulated(self.channel.descriptor())
    }

    fn send(&mut self, request: &Smp, route: &Route) -> Result<(), Error> {
        let lid = match route {
            Route::Directed(_) => PERMISSIVE,
            Route::Lid(lid) => *lid,
        };
        // QP 0 takes management packets, without a key.
        let to = Destination { lid, ..Destination::default() };
        let agent = usize::from(request.is_directed());
        self.channel.send(agent, request.bytes(), to, self.patience.each)
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
            let Some((bytes, status)) = self.channel.receive(left)? else { continue };
            let answer = Smp::from_bytes(bytes);
            // Another is the answer to what was given up.
            if answer.transaction() == self.sent {
                return Ok((status == 0).then_some(answer));
            }
        }
    }
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
