//! The device of an endpoint: its completions, its events, and whether it works.

use crate::rdma::group::Partition;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use verbcast_core::cause::Cause;
use verbcast_core::transport::TransportError;
use verbcast_verbs::{
    AsyncEvent, Completion, CompletionQueue, Context, Descriptors, MAX_POLLED, Polled,
    ProtectionDomain, Told,
};

/// An opened device, and the queue that all completions come to.
#[derive(Debug)]
pub struct Device {
    cq: CompletionQueue,
    domain: ProtectionDomain,
    context: Context,
    port: u8,
    /// Completions that were polled together, as far as they are not taken.
    polled: Polled,
    /// Whether the last look left nothing in the queue, and the one before it.
    is_empty: bool,
    was_empty: bool,
    /// The events, and what else tells of news; and these together with the queue.
    news: Descriptors,
    descriptors: Descriptors,
    /// How it has failed.
    broken: Option<TransportError>,
}

impl Device {
    /// The device of a context, of which a port is used.
    pub fn new(
        cq: CompletionQueue,
        domain: ProtectionDomain,
        context: Context,
        port: u8,
    ) -> Result<Self, verbcast_verbs::Error> {
        let (news, descriptors) = (Descriptors::new()?, Descriptors::new()?);
        descriptors.add(cq.fd())?;
        let (polled, broken) = (Polled::new(), None);
        let (is_empty, was_empty) = (true, true);
        let device = Device {
            cq,
            domain,
            context,
            port,
            polled,
            is_empty,
            was_empty,
            news,
            descriptors,
            broken,
        };
        device.context.async_fd().map_or(Ok(()), |fd| device.watch(fd))?;
        Ok(device)
    }

    /// What its memory and its queues belong to.
    pub fn domain(&self) -> &ProtectionDomain {
        &self.domain
    }

    /// The queue that all completions come to.
    pub fn queue(&self) -> &CompletionQueue {
        &self.cq
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// What becomes readable when there is a completion, once the queue is [armed](Self::arm), or [news](Self::has_news).
    pub fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    /// A further descriptor that tells of news.
    pub fn watch(&self, news: BorrowedFd<'_>) -> Result<(), verbcast_verbs::Error> {
        self.news.add(news)?;
        self.descriptors.add(news)
    }

    /// A further descriptor that ends waits, without being news of the device.
    pub fn wake_by(&self, descriptor: impl AsFd) -> Result<(), verbcast_verbs::Error> {
        self.descriptors.add(descriptor)
    }

    /// Whether the device has an event, or another watched descriptor something to read: one system call.
    pub fn has_news(&self) -> Result<bool, TransportError> {
        self.news.wait(Duration::ZERO).map_err(failed)
    }

    /// The next of its events.
    pub fn take_event(&self) -> Option<AsyncEvent> {
        self.context.take_async_event()
    }

    /// Whether the port is in a partition, where it was.
    pub fn is_in(&self, partition: Partition) -> bool {
        self.context.pkeys(self.port).is_ok_and(|table| partition.is_kept_by(&table))
    }

    /// Whether the port is up now.
    pub fn is_port_active(&self) -> bool {
        self.context.port(self.port).is_ok_and(|port| port.is_active)
    }

    /// Whether this entry of the port's GID table is this GID now.
    pub fn has_gid(&self, index: u8, gid: [u8; 16]) -> bool {
        let gids = self.context.port(self.port).map(|port| self.context.gids(&port));
        gids.is_ok_and(|gids| gids.iter().any(|entry| (entry.index, entry.gid) == (index, gid)))
    }

    /// It, or its port, is unusable.
    pub fn fatal(&self, event: String) -> TransportError {
        TransportError::Fatal { device: self.name().to_owned(), port: self.port, event }
    }

    /// Polls for completions, unless there are some that were polled before and not [taken](Self::next); whether there are any.
    #[inline]
    pub fn poll(&mut self) -> bool {
        if !self.polled.is_empty() {
            return true;
        }
        match self.cq.poll_into(&mut self.polled) {
            Ok(false) => {
                self.is_empty = true;
                false
            }
            Ok(true) => self.has_come(),
            Err(error) => self.is_not_readable(error),
        }
    }

    /// A look at the queue failed: false.
    #[cold]
    fn is_not_readable(&mut self, error: verbcast_verbs::Error) -> bool {
        self.fail(failed(error));
        false
    }

    /// A look at the queue found something: true.
    #[inline(never)]
    fn has_come(&mut self) -> bool {
        let is_empty = self.polled.len() < MAX_POLLED;
        self.was_empty = std::mem::replace(&mut self.is_empty, is_empty);
        true
    }

    /// Takes the next of the completions that were polled.
    #[inline]
    pub fn next(&mut self) -> Option<Completion> {
        self.polled.next()
    }

    /// Takes the next of them if it is as wanted.
    #[inline]
    pub fn next_if(&mut self, is_wanted: impl FnOnce(&Completion) -> bool) -> Option<Completion> {
        self.polled.next_if(is_wanted)
    }

    /// Whether completions were polled and not taken.
    #[inline]
    pub fn has_polled(&self) -> bool {
        !self.polled.is_empty()
    }

    /// Whether the last look left nothing in the queue.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether nothing was left in the queue before the latest completions came.
    pub fn was_empty(&self) -> bool {
        self.was_empty
    }

    /// It has failed, unless it had before.
    pub fn fail(&mut self, error: TransportError) {
        self.broken.get_or_insert(error);
    }

    /// Whether it has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// An error if it has failed.
    pub fn works(&self) -> Result<(), TransportError> {
        match &self.broken {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// Has the next completion of the kind told by the queue's descriptor.
    pub fn arm(&self, told: Told) -> Result<(), TransportError> {
        self.cq.arm(told).map_err(failed)
    }
}

/// What a device refuses, as the driver hears of it.
pub fn failed(error: verbcast_verbs::Error) -> TransportError {
    TransportError::Device(Cause::new(error))
}
