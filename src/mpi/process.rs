//! The root of a broadcast.

use super::request::Request;
use super::{Error, Layout, Member};
use mpi::collective::Root;
use mpi::datatype::{BufferMut, Collection};
use mpi::ffi::MPI_Comm;
use mpi::request::Scope;
use mpi::topology;
use mpi::traits::AsRaw;
use std::cell::RefCell;
use std::ops::Deref;
use verbcast_core::rank::Rank;

/// A process of a [`MulticastCommunicator`](super::MulticastCommunicator), whose broadcasts go by multicast; in all else it is
/// rsmpi's process.
pub struct Process<'a> {
    process: topology::Process<'a>,
    rank: Rank,
    /// Membership, unless broadcasts go by MPI.
    member: Option<&'a RefCell<Member>>,
    comm: MPI_Comm,
}

impl<'a> Process<'a> {
    pub(super) fn new(
        process: topology::Process<'a>,
        rank: topology::Rank,
        member: Option<&'a RefCell<Member>>,
        comm: MPI_Comm,
    ) -> Self {
        Process { process, rank: Rank(rank.unsigned_abs()), member, comm }
    }

    /// Broadcasts this process's buffer into everybody's: as [`Root::broadcast_into`], but an error is
    /// returned. Collective.
    ///
    /// A buffer whose elements follow one another without gaps is sent and received as it is, another
    /// one is packed. Ranks may describe the message by other counts and types, if they come to the
    /// same sequence of basic elements.
    ///
    /// # Errors
    /// At every rank, if a rank failed, left, or called with another root or length; what is in the
    /// buffer then is undefined. Or if MPI fails.
    pub fn broadcast_into<B: BufferMut + ?Sized>(&self, buffer: &mut B) -> Result<(), Error> {
        let datatype = buffer.as_datatype();
        // SAFETY: rsmpi's buffers have committed types, and are writable where those say; this one is
        // borrowed for the call. The communicator is the one that the member was made from.
        unsafe {
            let layout = Layout::new(datatype.as_raw(), count(buffer))?;
            if let Some(member) = self.member {
                let mut member = member.borrow_mut();
                if !leaves_to_mpi(&member, &layout) {
                    return member.broadcast(self.rank, buffer.pointer_mut(), &layout);
                }
                // Ranks that still wait for earlier ones are not served while MPI waits. Of an error, the next one by
                // multicast tells: other ranks may not know of it yet, and wait for this one in MPI.
                let _ = member.broadcaster_mut().flush();
            }
            layout.broadcast_by_mpi(self.rank, buffer.pointer_mut(), self.comm)
        }
    }

    /// Begins to broadcast this process's buffer into everybody's: as [`Root::immediate_broadcast_into`].
    /// Collective.
    ///
    /// # Errors
    /// If MPI refuses the type, or too many broadcasts are in flight.
    pub fn immediate_broadcast_into<'b, B, S>(
        &self,
        scope: S,
        buffer: &'b mut B,
    ) -> Result<Request<'a, 'b, B, S>, Error>
    where
        B: 'b + BufferMut + ?Sized,
        S: Scope<'b>,
    {
        let datatype = buffer.as_datatype();
        // SAFETY: rsmpi's buffers have committed types.
        let layout = unsafe { Layout::new(datatype.as_raw(), count(buffer)) }?;
        let by_multicast = |member: &&RefCell<Member>| !leaves_to_mpi(&member.borrow(), &layout);
        let Some(member) = self.member.filter(by_multicast) else {
            return Ok(Request::by_mpi(self.process.immediate_broadcast_into(scope, buffer)));
        };
        let mut borrowed = member.borrow_mut();
        let (broadcaster, link) = borrowed.parts_mut();
        let len = layout.message_len().ok_or(Error::TooLong)?;
        let mut message = vec![0; len];
        let is_root = broadcaster.rank() == self.rank;
        if is_root {
            // SAFETY: rsmpi's buffers are readable where their types say.
            unsafe { layout.pack(buffer.pointer_mut(), &mut message, link.comm()) }?;
        }
        let pending = broadcaster.start(self.rank, message)?;
        Ok(Request::by_multicast(member, pending, is_root, buffer, scope))
    }
}

impl<'a> Deref for Process<'a> {
    type Target = topology::Process<'a>;

    fn deref(&self) -> &Self::Target {
        &self.process
    }
}

/// Whether the table leaves a message to MPI. One that is longer than memory is refused.
fn leaves_to_mpi(member: &Member, layout: &Layout) -> bool {
    layout.message_len().is_some_and(|len| member.leaves_to_mpi(len as u64))
}

/// The elements of a buffer.
pub(super) fn count<B: Collection + ?Sized>(buffer: &B) -> usize {
    usize::try_from(buffer.count()).unwrap_or_default()
}
