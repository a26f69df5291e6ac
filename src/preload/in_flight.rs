//! A non-blocking broadcast, from the program's call until its request is complete.

use super::call::Call;
use super::own_type::OwnType;
use super::promise::Promise;
use super::tally;
use mpi::ffi::{MPI_Comm, MPI_Request};
use multicast::bootstrap::Bootstrap;
use multicast::broadcast::{self, Broadcaster, Pending};
use multicast::mpi::{Error, Layout, Link, Progress};
use std::ffi::c_void;
use std::task::Poll;
use std::{mem, slice};
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
    stage: Stage,
}

/// How far it has come.
enum Stage {
    /// It waits for its turn.
    Queued(Source),
    Started(Pending),
}

/// Where the message is that it starts with, which must take no call of MPI.
enum Source {
    /// The root's buffer is the message.
    Buffer,
    /// The root's, out of a buffer with gaps or on a GPU.
    Packed(Vec<u8>),
    /// It comes from the root.
    Root,
}

impl InFlight {
    /// Takes it over from the program, and makes its request.
    ///
    /// # Errors
    /// If MPI fails, or the message is too long.
    ///
    /// # Safety
    /// The arguments are right, and the buffer stays as it is until the request is complete; `link` has the ranks of the
    /// call's communicator.
    pub unsafe fn new(
        call: &Call,
        request: *mut MPI_Request,
        link: &Link,
        progress: Progress,
    ) -> Result<Self, Error> {
        // SAFETY: promised by the caller.
        unsafe {
            let own = OwnType::copy_of(call.datatype)?;
            let layout = Call { datatype: own.get(), ..*call }.layout()?;
            let len = layout.message_len().ok_or(Error::TooLong)?;
            let (buffer, root) = (call.buffer, Rank(call.root as u32));
            let source = Source::of(&layout, buffer, link, root)?;
            let promise = Promise::new(request, progress)?;
            let stage = Stage::Queued(source);
            Ok(InFlight { promise, buffer, layout, _own: own, len, root, stage })
        }
    }

    /// Starts it if it has not been and may be, without a call of MPI; whether it has been now.
    ///
    /// # Errors
    /// If a rank failed.
    pub fn start(&mut self, broadcaster: &mut Broadcaster) -> Result<bool, broadcast::Error> {
        let InFlight { buffer, len, root, stage, .. } = self;
        let Stage::Queued(source) = stage else { return Ok(true) };
        // SAFETY: as was promised to `new`, where it is the message.
        let started: Result<_, broadcast::Error> =
            broadcaster.start_with(*root, *len, || Ok(unsafe { source.message(*buffer, *len) }));
        match started {
            Ok(pending) => *stage = Stage::Started(pending),
            Err(error) if error.is_too_many() => return Ok(false),
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
    /// The calling thread may call MPI; `comm` is a communicator.
    pub unsafe fn is_complete(
        &mut self,
        broadcaster: &mut Broadcaster,
        comm: MPI_Comm,
    ) -> Result<bool, Error> {
        let Stage::Started(pending) = &mut self.stage else { return Ok(false) };
        let Poll::Ready(message) = broadcaster.try_wait(pending)? else { return Ok(false) };
        if broadcaster.rank() != self.root {
            // SAFETY: the buffer is as the layout says, and nobody else touches it.
            unsafe { self.layout.unpack(&message, self.buffer, comm) }?;
        }
        tally::count_multicast(self.len as u64);
        Ok(true)
    }
}

impl Source {
    /// # Safety
    /// As for [`InFlight::new`]; the buffer is as the layout says.
    unsafe fn of(
        layout: &Layout,
        buffer: *const c_void,
        link: &Link,
        root: Rank,
    ) -> Result<Self, Error> {
        if link.rank() != root {
            return Ok(Source::Root);
        }
        if layout.is_contiguous() && !layout.is_on_gpu(buffer) {
            return Ok(Source::Buffer);
        }
        let mut message = vec![0; layout.message_len().ok_or(Error::TooLong)?];
        // SAFETY: promised by the caller.
        unsafe { layout.pack(buffer, &mut message, link.comm()) }?;
        Ok(Source::Packed(message))
    }

    /// The message, or as many bytes as it will have.
    ///
    /// # Safety
    /// Where the buffer is the message, it has so many bytes, and nobody writes to it.
    unsafe fn message(&mut self, buffer: *const c_void, len: usize) -> Vec<u8> {
        match self {
            Source::Packed(message) => mem::take(message),
            // SAFETY: promised by the caller.
            Source::Buffer if len > 0 => unsafe {
                slice::from_raw_parts(buffer.cast::<u8>(), len).to_vec()
            },
            Source::Buffer | Source::Root => vec![0; len],
        }
    }
}
