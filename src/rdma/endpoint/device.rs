//! The device of an endpoint: its completions, its events, and whether it works.

use std::time::Duration;
use verbcast_core::cause::Cause;
use verbcast_core::time::Instant;
use verbcast_core::transport::TransportError;
use verbcast_verbs::{Completion, CompletionQueue, Context, ProtectionDomain};

/// Between two looks at the device's events, each a system call, where nobody sleeps on them.
const EVENT_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// An opened device, and the queue that all completions come to.
#[derive(Debug)]
pub struct Device {
    cq: CompletionQueue,
    domain: ProtectionDomain,
    context: Context,
    port: u8,
    /// Room for the completions that are taken together.
    batch: Vec<Completion>,
    /// When the events were looked at by who polls.
    checked: Instant,
    /// How it has failed.
    broken: Option<TransportError>,
}

impl Device {
    /// The device of a context, of which a port is used.
    pub fn new(cq: CompletionQueue, domain: ProtectionDomain, context: Context, port: u8) -> Self {
        let (batch, checked, broken) = (Vec::new(), Instant::ZERO, None);
        Device { cq, domain, context, port, batch, checked, broken }
    }

    /// What its memory and its queues belong to.
    pub fn domain(&self) -> &ProtectionDomain {
        &self.domain
    }

    /// The queue that all completions come to.
    pub fn queue(&self) -> &CompletionQueue {
        &self.cq
    }

    /// Where its events come from.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// Looks at its events; an error if it is unusable.
    pub fn check(&mut self) -> Result<(), TransportError> {
        while let Some(event) = self.context.take_async_event() {
            let name = self.context.name();
            if event.is_fatal {
                return Err(TransportError::Fatal {
                    device: name.to_owned(),
                    port: self.port,
                    event: event.what,
                });
            }
            tracing::debug!("{name}: {}", event.what);
        }
        Ok(())
    }

    /// [Looks](Self::check) at its events, if nobody has for a while.
    pub fn check_in_turn(&mut self, now: Instant) -> Result<(), TransportError> {
        if now - self.checked < EVENT_CHECK_INTERVAL {
            return Ok(());
        }
        self.checked = now;
        self.check()
    }

    /// Takes completions, in memory that is to be [given back](Self::give_back); whether there were any.
    pub fn poll(&mut self) -> (Vec<Completion>, Result<bool, TransportError>) {
        let mut batch = std::mem::take(&mut self.batch);
        let polled = self.cq.poll(|completion| batch.push(completion)).map_err(failed);
        (batch, polled)
    }

    /// Takes the memory of completions back.
    pub fn give_back(&mut self, batch: Vec<Completion>) {
        self.batch = batch;
    }

    /// It has failed, unless it had before.
    pub fn fail(&mut self, error: TransportError) {
        self.broken.get_or_insert(error);
    }

    /// An error if it has failed.
    pub fn works(&self) -> Result<(), TransportError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Has the next completion told by the queue's descriptor.
    pub fn arm(&self) -> Result<(), TransportError> {
        self.cq.arm().map_err(failed)
    }
}

/// What a device refuses, as the driver hears of it.
pub fn failed(error: verbcast_verbs::Error) -> TransportError {
    TransportError::Device(Cause::new(error))
}
