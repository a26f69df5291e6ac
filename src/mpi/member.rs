//! A rank's membership in a communicator, and the way that its broadcasts take.

use super::{Error, Layout, Link, shared};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::broadcast::{self, Broadcaster, Config, ConfigError};
use mpi::ffi::MPI_Comm;
use std::ffi::c_void;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use verbcast_core::rank::Rank;

/// The way that a communicator's broadcasts take, the same at every rank.
#[derive(Debug)]
pub enum Way {
    /// Multicast.
    Multicast(Box<Broadcaster>),
    /// MPI's own broadcast, for this reason.
    Mpi(String),
}

/// A rank's membership in a communicator.
#[derive(Debug)]
pub struct Member {
    pub(super) way: Way,
    /// Dropped last, since dropping it is collective.
    pub(super) link: Link,
}

impl Member {
    /// Makes it, with the broadcasts of `config`, or with MPI's own where a rank has no device or the ranks
    /// cannot reach one another. The communicators of a process share one endpoint, unless their settings
    /// differ in what is the [endpoint's](broadcast::Endpoint::settings_for). Collective.
    ///
    /// # Errors
    /// The same at every rank, if a rank's configuration is wrong or differs; or if MPI fails.
    pub fn new(mut link: Link, config: Result<&Config, &ConfigError>) -> Result<Self, Error> {
        if link.size() == 1 {
            return Ok(Member { way: Way::Mpi("there is one rank".to_owned()), link });
        }
        let said = config.map_err(ToString::to_string);
        vote(&mut link, said.as_ref().map(|_| &[][..]).map_err(String::as_str))?;
        let config = config.cloned().unwrap_or_default();
        let endpoint = shared::endpoint(&config);
        let way = match Broadcaster::new_on(&endpoint, &mut link, &config) {
            Ok(mut broadcaster) => {
                let mpi = link.progress();
                broadcaster.while_waiting(move || mpi.run());
                Way::Multicast(Box::new(broadcaster))
            }
            Err(broadcast::Error::Setup(error @ VoteError::Refused(_))) => {
                Way::Mpi(error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Member { way, link })
    }

    /// Warns that MPI does the broadcasts of several ranks: at rank 0, and once for a process.
    pub(super) fn warn(&self) {
        static HAS_WARNED: AtomicBool = AtomicBool::new(false);
        if let Way::Mpi(why) = &self.way
            && self.link.size() > 1
            && self.link.rank() == Rank(0)
            && !HAS_WARNED.swap(true, Ordering::Relaxed)
        {
            eprintln!("verbcast: broadcasts go by MPI: {why}");
        }
    }

    /// The way that broadcasts take.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The same, to be used.
    pub fn way_mut(&mut self) -> &mut Way {
        &mut self.way
    }

    /// The communicator beside the program's.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Broadcasts the buffer of `root`, over `comm` where it is MPI that does it. Collective.
    ///
    /// # Errors
    /// If MPI fails, or as [`Broadcaster::broadcast_into`].
    ///
    /// # Safety
    /// The buffer is writable as the layout says, and nobody else touches it; `comm` is the communicator
    /// that the link was made from.
    pub unsafe fn broadcast(
        &mut self,
        root: Rank,
        buffer: *mut c_void,
        layout: &Layout,
        comm: MPI_Comm,
    ) -> Result<(), Error> {
        let Member { way, link } = self;
        let broadcaster = match way {
            Way::Multicast(broadcaster) => broadcaster,
            // SAFETY: promised by the caller.
            Way::Mpi(_) => return unsafe { layout.broadcast_by_mpi(root, buffer, comm) },
        };
        let len = layout.message_len().ok_or(Error::TooLong)?;
        if layout.is_contiguous() && len > 0 {
            // SAFETY: promised by the caller, and the layout has no gaps.
            let message = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), len) };
            return Ok(broadcaster.broadcast_into(root, message)?);
        }
        let mut message = vec![0; len];
        if broadcaster.rank() == root {
            // SAFETY: promised by the caller.
            unsafe { layout.pack(buffer, &mut message, link.comm()) }?;
        }
        broadcaster.broadcast_into(root, &mut message)?;
        if broadcaster.rank() != root {
            // SAFETY: promised by the caller.
            unsafe { layout.unpack(&message, buffer, link.comm()) }?;
        }
        Ok(())
    }

    /// The way that broadcasts take, to be used, and the communicator beside the program's.
    pub fn parts_mut(&mut self) -> (&mut Way, &Link) {
        (&mut self.way, &self.link)
    }

    /// Takes it apart: what is left of the way must not run after the link is gone, unless it no longer
    /// lets MPI [make progress](Broadcaster::while_waiting).
    pub fn into_parts(self) -> (Way, Link) {
        (self.way, self.link)
    }

    /// Leaves in good order. Collective.
    ///
    /// # Errors
    /// As [`Broadcaster::close`].
    pub fn close(self) -> Result<(), Error> {
        match self.way {
            Way::Multicast(broadcaster) => Ok(broadcaster.close()?),
            Way::Mpi(_) => Ok(()),
        }
    }
}
