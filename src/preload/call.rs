//! A broadcast as the program asks for it.

use super::library::{Next, Word};
use super::tally;
use mpi::ffi::{self, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Request};
use multicast::mpi::{Error, Layout, MpiError};
use std::ffi::{c_int, c_void};

/// A broadcast as the program asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The message.
    pub buffer: *mut c_void,
    /// Its elements.
    pub count: MPI_Count,
    /// Their type.
    pub datatype: MPI_Datatype,
    /// Who sends it.
    pub root: c_int,
    /// Among whom.
    pub comm: MPI_Comm,
}

type BcastC = unsafe extern "C" fn(*mut c_void, MPI_Count, MPI_Datatype, c_int, MPI_Comm) -> c_int;
type IbcastC = unsafe extern "C" fn(
    *mut c_void,
    MPI_Count,
    MPI_Datatype,
    c_int,
    MPI_Comm,
    *mut MPI_Request,
) -> c_int;
static PMPI_BCAST_C: Next = Next::new(c"PMPI_Bcast_c");
type InitC = unsafe extern "C" fn(
    *mut c_void,
    MPI_Count,
    MPI_Datatype,
    c_int,
    MPI_Comm,
    Word,
    *mut MPI_Request,
) -> c_int;
type Init = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    MPI_Datatype,
    c_int,
    MPI_Comm,
    Word,
    *mut MPI_Request,
) -> c_int;
static PMPI_IBCAST_C: Next = Next::new(c"PMPI_Ibcast_c");
static PMPI_BCAST_INIT_C: Next = Next::new(c"PMPI_Bcast_init_c");
static PMPI_BCAST_INIT: Next = Next::new(c"PMPI_Bcast_init");
/// Open MPI 4 has it as an extension.
static PMPIX_BCAST_INIT: Next = Next::new(c"PMPIX_Bcast_init");

impl Call {
    /// Has MPI's own function do it.
    ///
    /// # Safety
    /// As for `MPI_Bcast`.
    pub unsafe fn pass(&self) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { self.pass_to(self.root, self.comm) }
    }

    /// # Safety
    /// As for `MPI_Bcast`, on `comm`.
    unsafe fn pass_to(&self, root: c_int, comm: MPI_Comm) -> c_int {
        let Call { buffer, count, datatype, .. } = *self;
        // SAFETY: promised by the caller.
        unsafe {
            match c_int::try_from(count) {
                Ok(count) => ffi::PMPI_Bcast(buffer, count, datatype, root, comm),
                Err(_) => match PMPI_BCAST_C.get::<BcastC>() {
                    Some(bcast) => bcast(buffer, count, datatype, root, comm),
                    None => self.raise(ffi::MPI_ERR_COUNT as c_int),
                },
            }
        }
    }

    /// Has MPI's own function begin it.
    ///
    /// # Safety
    /// As for `MPI_Ibcast`.
    pub unsafe fn pass_non_blocking(&self, request: *mut MPI_Request) -> c_int {
        let Call { buffer, count, datatype, root, comm } = *self;
        // SAFETY: promised by the caller.
        unsafe {
            match c_int::try_from(count) {
                Ok(count) => ffi::PMPI_Ibcast(buffer, count, datatype, root, comm, request),
                Err(_) => match PMPI_IBCAST_C.get::<IbcastC>() {
                    Some(ibcast) => ibcast(buffer, count, datatype, root, comm, request),
                    None => self.raise(ffi::MPI_ERR_COUNT as c_int),
                },
            }
        }
    }

    /// Has MPI's own function prepare it.
    ///
    /// # Safety
    /// As for `MPI_Bcast_init`.
    pub unsafe fn pass_persistent(&self, info: Word, request: *mut MPI_Request) -> c_int {
        let Call { buffer, count, datatype, root, comm } = *self;
        // SAFETY: promised by the caller.
        unsafe {
            let Ok(count) = c_int::try_from(count) else {
                return match PMPI_BCAST_INIT_C.get::<InitC>() {
                    Some(init) => init(buffer, count, datatype, root, comm, info, request),
                    None => self.raise(ffi::MPI_ERR_COUNT as c_int),
                };
            };
            match PMPI_BCAST_INIT.get::<Init>().or_else(|| PMPIX_BCAST_INIT.get::<Init>()) {
                Some(init) => init(buffer, count, datatype, root, comm, info, request),
                None => self.raise(ffi::MPI_ERR_OTHER as c_int),
            }
        }
    }

    /// Where the bytes of its buffer are.
    ///
    /// # Errors
    /// If MPI fails, the message is too long, or there is no buffer for it.
    ///
    /// # Safety
    /// The type is committed.
    pub unsafe fn layout(&self) -> Result<Layout, Error> {
        let count = usize::try_from(self.count).map_err(|_| Error::TooLong)?;
        // SAFETY: promised by the caller.
        let layout = unsafe { Layout::new(self.datatype, count) }?;
        let len = layout.message_len().ok_or(Error::TooLong)?;
        if self.buffer.is_null() && layout.is_contiguous() && len > 0 {
            let code = ffi::MPI_ERR_BUFFER as c_int;
            return Err(MpiError { call: "MPI_Bcast", code }.into());
        }
        Ok(layout)
    }

    /// Has the communicator's error handler run, and returns what the call is to return.
    ///
    /// # Safety
    /// The communicator is valid.
    pub unsafe fn raise(&self, code: c_int) -> c_int {
        // SAFETY: promised by the caller.
        unsafe { ffi::PMPI_Comm_call_errhandler(self.comm, code) };
        code
    }

    /// Asks MPI about the arguments, by having it broadcast them on a communicator of this process alone,
    /// whose errors are returned; the root is compared with the number of ranks.
    ///
    /// # Errors
    /// If MPI would refuse them, for this reason.
    ///
    /// # Safety
    /// MPI is initialised, and `alone` is such a communicator.
    pub unsafe fn check(&self, alone: MPI_Comm, size: u32) -> Result<(), Refusal> {
        if self.has_root(size) {
            // Where counts this large are not known, the type is checked by itself.
            // SAFETY: no other rank takes part, so that no buffer is read or written.
            let code = unsafe {
                match c_int::try_from(self.count) {
                    Err(_) if self.count > 0 && PMPI_BCAST_C.get::<BcastC>().is_none() => {
                        Call { count: 1, ..*self }.pass_to(0, alone)
                    }
                    Err(_) if self.count < 0 => Call { count: -1, ..*self }.pass_to(0, alone),
                    _ => self.pass_to(0, alone),
                }
            };
            match code as u32 {
                ffi::MPI_SUCCESS => Ok(()),
                _ => Err(Refusal::Arguments(code)),
            }
        } else {
            Err(Refusal::Root(self.root))
        }
    }

    fn has_root(&self, size: u32) -> bool {
        u32::try_from(self.root).is_ok_and(|root| root < size)
    }

    /// Why MPI has refused the arguments among so many ranks, with this code.
    pub fn refused(&self, code: c_int, size: u32) -> Refusal {
        match self.has_root(size) {
            true => Refusal::Arguments(code),
            false => Refusal::Root(self.root),
        }
    }

    /// Bytes of the message, for the statistics; 0 where nobody wants any.
    ///
    /// # Safety
    /// MPI has taken the arguments for a broadcast.
    pub unsafe fn bytes(&self) -> u64 {
        // SAFETY: promised by the caller.
        if tally::is_wanted() { unsafe { self.message_len() } } else { 0 }
    }

    /// Bytes of the message.
    ///
    /// # Safety
    /// MPI has taken the arguments for a broadcast.
    pub unsafe fn message_len(&self) -> u64 {
        let mut size: MPI_Count = 0;
        // SAFETY: the type is valid, as promised by the caller.
        unsafe { ffi::PMPI_Type_size_x(self.datatype, &mut size) };
        (size as u64).saturating_mul(self.count as u64)
    }
}

/// Why MPI would refuse a broadcast's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The root is not a rank.
    Root(c_int),
    /// MPI's error code.
    Arguments(c_int),
}
