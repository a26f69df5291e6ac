//! A non-blocking broadcast, from the program's call until its request is complete.

use super::call::Call;
use super::own_type::OwnType;
use super::promise::Promise;
use super::tally;
use mpi::ffi::{MPI_Comm, MPI_Request};
use multicast::broadcast::{Broadcaster, Pending};
use multicast::mpi::{Error, Layout, Progress};
use std::ffi::c_void;
use std::task::Poll;
use verbcast_core::rank::Rank;

/// A non-blocking broadcast.
pub struct InFlight {
    /// The program's request.
    pub promise: Promise,
    buffer: *mut c_void,
    layout: Layout,
    /// The layout's type.
    _own: OwnType,
    len: usize,
    root: Rank,
    pending: Option<Pending>,
}

impl InFlight {
    /// Takes it over from the program, and makes its request.
    ///
    /// # Errors
    /// If MPI fails, or the message is too long.
    ///
    /// # Safety
    /// The arguments are right, and the buffer stays as it is until the request is complete.
    pub unsafe fn new(
        call: &Call,
        request: *mut MPI_Request,
        progress: Progress,
    ) -> Result<Self, Error> {
        // SAFETY: promised by the caller.
        unsafe {
            let own = OwnType::copy_of(call.datatype)?;
            let layout = Call { datatype: own.get(), ..*call }.layout()?;
            let len = layout.message_len().ok_or(Error::TooLong)?;
            let promise = Promise::new(request, progress)?;
            let (buffer, root) = (call.buffer, Rank(call.root as u32));
            Ok(InFlight { promise, buffer, layout, _own: own, len, root, pending: None })
        }
    }

    /// Starts it if it has not been and may be; whether it has been now.
    ///
    /// # Errors
    /// If MPI fails, or a rank did.
    ///
    /// # Safety
    /// The calling thread may call MPI; `comm` is a communicator.
    pub unsafe fn start(
        &mut self,
        broadcaster: &mut Broadcaster,
        comm: MPI_Comm,
    ) -> Result<bool, Error> {
        if self.pending.is_some() {
            return Ok(true);
        }
        let InFlight { buffer, layout, len, root, .. } = self;
        let is_root = broadcaster.rank() == *root;
        let started = broadcaster.start_with(*root, *len, || {
            let mut message = vec![0; *len];
            if is_root {
                // SAFETY: the buffer is as the layout says, and nobody writes to it.
                unsafe { layout.pack(*buffer, &mut message, comm) }?;
            }
            Ok(message)
        });
        match started {
            Ok(pending) => self.pending = Some(pending),
            Err(Error::Broadcast(error)) if error.is_too_many() => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Whether it is complete; then its message is in the program's buffer.
    ///
    /// # Errors
    /// If MPI fails, or a rank did.
    ///
    /// # Safety
    /// As [`start`](Self::start).
    pub unsafe fn is_complete(
        &mut self,
        broadcaster: &mut Broadcaster,
        comm: MPI_Comm,
    ) -> Result<bool, Error> {
        let Some(pending) = &mut self.pending else { return Ok(false) };
        let Poll::Ready(message) = broadcaster.try_wait(pending)? else { return Ok(false) };
        self.pending = None;
        if broadcaster.rank() != self.root {
            // SAFETY: the buffer is as the layout says, and nobody else touches it.
            unsafe { self.layout.unpack(&message, self.buffer, comm) }?;
        }
        tally::count_multicast(self.len as u64);
        Ok(true)
    }
}
