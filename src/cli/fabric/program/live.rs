//! The fabric that is there, and the packets to it.

use super::args::ProgramArgs;
use super::watchdog::Watchdog;
use crate::fabric::interrupt::Interrupt;
use crate::failure::Failure;
use std::time::{Duration, Instant};
use verbcast_fabric::smp::{Agent, Discovered, Route, Smp, discover};
use verbcast_umad::{Patience, Port};

/// How long it may take to open the port.
const OPENING: Duration = Duration::from_secs(10);

/// A port by which packets are sent until time is up or somebody asks this process to end.
pub struct Live<'a> {
    port: Port,
    args: &'a ProgramArgs,
    interrupt: Interrupt,
    watchdog: Watchdog,
    deadline: Instant,
    pub packets: u64,
}

impl<'a> Live<'a> {
    /// Opens the port; refuses one of a real fabric that is not to be touched.
    pub fn open(args: &'a ProgramArgs) -> Result<Live<'a>, Failure> {
        let interrupt = Interrupt::watch()?;
        let watchdog = Watchdog::after(OPENING);
        let patience = Patience { each: args.answer_timeout, retries: args.retries };
        let port = Port::open(args.device.as_deref(), args.port, patience).map_err(|error| {
            let hint = "is there an InfiniBand port, or ibsim with libumad2sim.so preloaded, and may \
                        this process open /dev/infiniband/umad*?";
            Failure::new(format!("{error} ({hint})"))
        })?;
        if !args.real_fabric && !port.is_simulated() {
            return Err(Failure::new(format!(
                "{} is not one of ibsim's: nothing was sent; --real-fabric talks to a real fabric",
                port.name()
            )));
        }
        let deadline = Instant::now();
        let mut live = Live { port, args, interrupt, deadline, watchdog, packets: 0 };
        live.begin();
        Ok(live)
    }

    pub fn name(&self) -> &str {
        self.port.name()
    }

    pub fn is_simulated(&self) -> bool {
        self.port.is_simulated()
    }

    pub fn discover(&mut self) -> Result<Discovered, Failure> {
        discover(self).map_err(Failure::new)
    }

    /// From here on, goes on whoever asks to end, and for as long again.
    pub fn insist(&mut self) {
        self.interrupt.ignore();
        self.begin();
    }

    /// The time that all may take begins.
    fn begin(&mut self) {
        self.deadline = Instant::now() + self.args.timeout;
        // The last packet may have its time, and what is printed and closed.
        let last = self.args.answer_timeout * (self.args.retries + 1);
        self.watchdog.extend(self.args.timeout + last + OPENING);
    }
}

impl Agent for Live<'_> {
    fn exchange(&mut self, request: &Smp, route: &Route) -> Result<Smp, String> {
        if self.interrupt.is_asked() {
            return Err("interrupted".to_owned());
        }
        if Instant::now() >= self.deadline {
            let seconds = self.args.timeout.as_secs_f64();
            return Err(format!("all of {seconds} s are over; see --timeout"));
        }
        self.packets += 1;
        self.port.exchange(request, route)
    }

    fn key(&self) -> u64 {
        self.args.m_key
    }
}
