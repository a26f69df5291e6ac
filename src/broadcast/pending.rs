//! Broadcasts that are waited for later.

use super::wait::Ending;
use super::{Broadcaster, Error, Message};
use crate::rdma::Owned;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use verbcast_core::rank::{OpId, Rank};
use verbcast_core::transport::Purpose;
use verbcast_verbs::Block;

/// A broadcast in flight, which [`Broadcaster::wait`] and [`Broadcaster::try_wait`] of the broadcaster that
/// started it complete.
///
/// Its message stays with the broadcaster when this is dropped.
#[must_use = "call `wait` to obtain the message"]
#[derive(Debug)]
pub struct Pending<M = Vec<u8>> {
    broadcaster: BroadcasterId,
    op: OpId,
    ending: Ending,
    stage: Stage,
    message: std::marker::PhantomData<fn() -> M>,
}

/// Where the message's memory is.
#[derive(Debug)]
enum Stage {
    /// With the broadcaster.
    Lent,
    /// Here, as the broadcaster works on a copy.
    Copied(Block),
    /// With the program again.
    Taken,
}

/// Tells the broadcasters of a process apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BroadcasterId(u64);

impl BroadcasterId {
    /// One that no other broadcaster of this process has or had.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        BroadcasterId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Broadcaster {
    /// Begins to broadcast `message` of `root`, a `Vec<u8>` or a [`Buffer`](super::Buffer); at the other
    /// ranks it only gives the length. Further broadcasts may be begun before it is waited for. Collective.
    ///
    /// # Errors
    /// If the root is not a rank, or too many broadcasts are in flight.
    pub fn start<M: Message>(&mut self, root: Rank, message: M) -> Result<Pending<M>, Error> {
        self.start_with(root, message.len(), || Ok(message))
    }

    /// As [`start`](Self::start), with a message of `len` bytes that is made when it is certain that the
    /// broadcast can begin.
    ///
    /// # Errors
    /// As [`start`](Self::start); and if `make` fails: then the others wait for this rank's part until it
    /// [aborts](Self::abort).
    ///
    /// # Panics
    /// If the message has another length.
    pub fn start_with<M: Message, E: From<Error>>(
        &mut self,
        root: Rank,
        len: usize,
        make: impl FnOnce() -> Result<M, E>,
    ) -> Result<Pending<M>, E> {
        let now = self.clock.now();
        let op = self.driver.start(now, root, len).map_err(Error::from)?;
        let message = make()?;
        assert_eq!(message.len(), len, "the length of the message");
        let purpose = Purpose::of(self.rank(), root);
        let stage = match message.into_owned() {
            Owned::Vec(message) => {
                self.driver.own(op, root, message);
                Stage::Lent
            }
            Owned::Block(block) => match self.transport().lend_block(op, block, purpose) {
                None => Stage::Lent,
                Some(block) => {
                    self.driver.own(op, root, block.to_vec());
                    Stage::Copied(block)
                }
            },
        };
        let broadcaster = self.id;
        let ending = Ending::new(now, root, len);
        Ok(Pending { broadcaster, op, ending, stage, message: std::marker::PhantomData })
    }

    /// Waits for a broadcast that was started here, and returns its message.
    ///
    /// # Errors
    /// As [`broadcast_into`](Self::broadcast_into); or if the broadcast was started by another broadcaster,
    /// or its message was taken before.
    pub fn wait<M: Message>(&mut self, mut pending: Pending<M>) -> Result<M, Error> {
        self.check(&pending)?;
        let now = self.clock.now();
        self.run_until_complete(pending.op, &mut pending.ending, now, None)?;
        Ok(self.take_message(&mut pending))
    }

    /// Makes progress without waiting, and returns the message of a broadcast that was started here, once
    /// it is complete.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait<M: Message>(&mut self, pending: &mut Pending<M>) -> Poll<Result<M, Error>> {
        self.check(pending)?;
        self.progress()?;
        match self.time_to_end(pending.op, &mut pending.ending)? {
            None => Poll::Ready(Ok(self.take_message(pending))),
            Some(_) => Poll::Pending,
        }
    }

    /// Makes sure that a broadcast was started here and has its message still to give.
    fn check<M>(&self, pending: &Pending<M>) -> Result<(), Error> {
        match pending.stage {
            _ if pending.broadcaster != self.id => Err(Error::OtherBroadcaster),
            Stage::Taken => Err(Error::AlreadyTaken),
            Stage::Lent | Stage::Copied(_) => Ok(()),
        }
    }

    fn take_message<M: Message>(&mut self, pending: &mut Pending<M>) -> M {
        let op = pending.op;
        let lent = self.transport().take_owned(op);
        let owned = lent.or_else(|| self.driver.take_message(op).map(Owned::Vec));
        let owned = owned.unwrap_or_default();
        match std::mem::replace(&mut pending.stage, Stage::Taken) {
            Stage::Copied(mut block) => {
                block.copy_from_slice(&owned);
                M::from_owned(Owned::Block(block))
            }
            Stage::Lent | Stage::Taken => M::from_owned(owned),
        }
    }
}
