//! Which way a communicator's broadcasts take, and a rank's membership where it is multicast.

use super::{Error, Layout, Link, shared};
use crate::bootstrap::{Bootstrap, VoteError, vote};
use crate::broadcast::{self, Broadcaster, Config, ConfigError, Further, Preparation};
use std::ffi::c_void;
use std::slice;
use verbcast_core::protocol::choice::Table;
use verbcast_core::rank::Rank;

/// The way that a communicator's broadcasts take, the same at every rank.
#[derive(Debug)]
pub enum Way {
    /// Multicast.
    Multicast(Box<Member>),
    /// MPI's own broadcast, for this reason.
    Mpi(String),
}

impl Way {
    /// Decides: multicast with the broadcasts of `config`, or MPI's own where a rank has no device or the ranks cannot
    /// reach one another. The communicators of a process share one endpoint, unless their settings
    /// differ in what is the [endpoint's](broadcast::Endpoint::settings_for). Collective.
    ///
    /// # Errors
    /// The same at every rank, if a rank's configuration is wrong or differs; or if MPI fails.
    pub fn decide(mut link: Link, config: Result<&Config, &ConfigError>) -> Result<Self, Error> {
        if link.size() == 1 {
            return Ok(Way::Mpi("there is one rank".to_owned()));
        }
        let question =
            config.map(|config| Question::new(&link, config)).map_err(ToString::to_string);
        let said = question.as_ref().map(Question::ballot);
        let ballots = vote(&mut link, said.as_deref().map_err(|what| what.as_str()))?;
        let refused = |what| VoteError::Refused(vec![(link.rank(), what)]);
        question.map_err(refused)?.decide(link, &ballots)
    }
}

/// What is to be decided about a communicator's broadcasts. What a rank says to it can go together with other things that
/// the ranks tell one another.
#[derive(Debug)]
pub struct Question {
    preparation: Preparation,
    /// The table by which broadcasts choose, if it leaves some to MPI.
    table: Option<Table>,
}

impl Question {
    /// As [`Way::decide`], for the ranks of `link`.
    pub fn new(link: &Link, config: &Config) -> Self {
        let endpoint = shared::endpoint(config);
        let table = &config.protocol.table;
        let table = table.leaves_any_to_mpi(link.size()).then(|| table.clone());
        Question { preparation: Preparation::on(&endpoint, link, config), table }
    }

    /// What the rank says to the others.
    pub fn ballot(&self) -> Vec<u8> {
        self.preparation.ballot()
    }

    /// Decides, when all ranks have said this. Collective.
    ///
    /// # Errors
    /// As [`Way::decide`].
    pub fn decide(self, mut link: Link, ballots: &[Vec<u8>]) -> Result<Way, Error> {
        match self.preparation.complete(&mut link, ballots) {
            Ok(broadcaster) => {
                Ok(Way::Multicast(Box::new(Member::new(broadcaster, link, self.table))))
            }
            Err(broadcast::Error::Setup(error @ VoteError::Refused(_))) => {
                Ok(Way::Mpi(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// A rank's membership in a communicator whose broadcasts go by multicast.
#[derive(Debug)]
pub struct Member {
    broadcaster: Broadcaster,
    /// The table that leaves broadcasts to MPI.
    table: Option<Table>,
    /// Dropped last, since dropping it is collective.
    link: Link,
}

impl Member {
    fn new(mut broadcaster: Broadcaster, link: Link, table: Option<Table>) -> Self {
        let mpi = link.progress();
        broadcaster.while_waiting(move || mpi.run());
        Member { broadcaster, table, link }
    }

    /// A further membership of the same ranks, whose broadcasts have an order of their own, if each has
    /// [prepared](Broadcaster::further) it. Collective, one exchange; `link` is a clone of the other membership's. The table leaves
    /// none of its broadcasts to MPI.
    ///
    /// # Errors
    /// The same at every rank, if one of them has not prepared it; or if MPI fails.
    pub fn further(mut link: Link, prepared: Result<Further, String>) -> Result<Self, Error> {
        let broadcaster = Further::complete(prepared, &mut link)?;
        Ok(Member::new(broadcaster, link, None))
    }

    /// The broadcaster.
    pub fn broadcaster(&self) -> &Broadcaster {
        &self.broadcaster
    }

    /// The broadcaster, to be used.
    pub fn broadcaster_mut(&mut self) -> &mut Broadcaster {
        &mut self.broadcaster
    }

    /// Whether the table leaves messages to MPI's own broadcast.
    pub fn leaves_any_to_mpi(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the table leaves messages of so many bytes to MPI's own broadcast: the same at every rank.
    pub fn leaves_to_mpi(&self, len: u64) -> bool {
        let ranks = self.broadcaster.size();
        self.table.as_ref().is_some_and(|table| table.leaves_to_mpi(len, ranks))
    }

    /// The communicator beside the program's.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Both, the broadcaster to be used.
    pub fn parts_mut(&mut self) -> (&mut Broadcaster, &Link) {
        (&mut self.broadcaster, &self.link)
    }

    /// Takes it apart. The broadcaster must not run after the link is gone, unless it no longer lets MPI
    /// [make progress](Broadcaster::while_waiting).
    pub fn into_parts(self) -> (Broadcaster, Link) {
        (self.broadcaster, self.link)
    }

    /// Broadcasts the buffer of `root`. Collective.
    ///
    /// # Errors
    /// If MPI fails, or as [`Broadcaster::broadcast_into`].
    ///
    /// # Safety
    /// The buffer is as the layout says. Nobody writes to it meanwhile; where this rank is not the root it is writable, and
    /// nobody else reads it.
    pub unsafe fn broadcast(
        &mut self,
        root: Rank,
        buffer: *mut c_void,
        layout: &Layout,
    ) -> Result<(), Error> {
        let Member { broadcaster, link, .. } = self;
        let len = layout.message_len().ok_or(Error::TooLong)?;
        if layout.is_contiguous() && len > 0 && !layout.is_on_gpu(buffer) {
            let buffer = buffer.cast::<u8>();
            if broadcaster.rank() == root {
                // SAFETY: promised by the caller, and the layout has no gaps.
                let message = unsafe { slice::from_raw_parts(buffer, len) };
                return Ok(broadcaster.broadcast_from(message)?);
            }
            // SAFETY: as above.
            let message = unsafe { slice::from_raw_parts_mut(buffer, len) };
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

    /// Leaves in good order. Collective.
    ///
    /// # Errors
    /// As [`Broadcaster::close`].
    pub fn close(self) -> Result<(), Error> {
        Ok(self.broadcaster.close()?)
    }
}
