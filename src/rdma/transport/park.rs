//! How a communicator waits for its endpoint.

use super::{RdmaTransport, wait};
use crate::rdma::endpoint::Endpoint;
use crate::rdma::ids::ChannelId;
use std::time::Duration;
use verbcast_core::cause::Cause;
use verbcast_core::transport::{Park, TransportError};

impl Park for RdmaTransport {
    fn park(&mut self, idle: Duration, at_most: Duration) -> Result<(), TransportError> {
        match self.waiter.step(idle) {
            wait::Step::Spin => std::hint::spin_loop(),
            wait::Step::Yield => std::thread::yield_now(),
            wait::Step::Block => self.sleep(at_most.min(wait::longest_sleep(idle)))?,
        }
        Ok(())
    }

    fn will_sleep(&self, idle: Duration) -> bool {
        self.waiter.step(idle) == wait::Step::Block
    }

    fn arm(&mut self, idle: Duration, at_most: Duration) -> Result<Duration, TransportError> {
        // Events of waits before this one.
        self.take_events();
        self.arm_queue(at_most.min(wait::longest_sleep(idle)))
    }

    fn begin_wait(&mut self) {
        if self.is_seated && !self.waits {
            self.waits = true;
            self.endpoint.hold().begin_wait();
        }
    }

    fn end_wait(&mut self) {
        if self.waits {
            self.waits = false;
            self.endpoint.hold().end_wait();
        }
    }
}

impl RdmaTransport {
    fn take_events(&self) {
        self.cq.take_events();
        if self.is_seated {
            self.endpoint.see().still_bell();
        }
    }

    fn sleep(&mut self, at_most: Duration) -> Result<(), TransportError> {
        let at_most = self.arm_queue(at_most)?;
        if at_most.is_zero() {
            return Ok(());
        }
        let waited = self.descriptors.wait(at_most).map_err(|error| TransportError::Wait {
            device: self.endpoint.see().device.name().to_owned(),
            source: Cause::new(error),
        });
        if waited? {
            self.take_events();
        }
        Ok(())
    }

    /// Has the next completion that this rank may wait for told by the channel; how long to wait for it at most, of
    /// `at_most`: zero where there is something to poll already.
    fn arm_queue(&mut self, at_most: Duration) -> Result<Duration, TransportError> {
        let mut endpoint = self.endpoint.hold();
        endpoint.tend(self.now)?;
        let at_most = endpoint.longest_sleep(self.now, at_most);
        endpoint.arm()?;
        let of_node = endpoint.fall_asleep(self.channel);
        let at_most = of_node.map_or(at_most, |of_node| at_most.min(of_node));
        // What completed before the queue was armed is told by nobody.
        let is_ready = endpoint.pull(self.channel, self.now)
            || has_news(&endpoint, self.channel)
            || endpoint.node(self.channel).is_some_and(|seat| {
                seat.has_news() || (self.expects_reports && seat.has_reports())
            });
        Ok(if is_ready { Duration::ZERO } else { at_most })
    }
}

fn has_news(endpoint: &Endpoint, channel: ChannelId) -> bool {
    endpoint.channels.get(channel).is_some_and(|channel| channel.inbox.has_news())
}
