//! Elements of more bytes than MPI can pack, which counts them with an `int`. They are sent by the process to itself, as an
//! element of the program's type at one end and as bytes at the other.

use super::MpiError;
use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

/// What every MPI library has tags up to (MPI 4.0, section 9.1.2).
const MAX_TAG: u32 = 32_767;
/// Bytes that the type of all bytes is made of, so that their number is an `int`.
const CHUNK: usize = 1 << 20;

/// Takes the bytes of an element, without its gaps.
///
/// # Errors
/// If MPI fails.
///
/// # Safety
/// The element is readable and has as many bytes as `to`; `comm` is a communicator that the program does not have.
pub unsafe fn take(
    element: *const c_void,
    datatype: MPI_Datatype,
    to: &mut [u8],
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    // SAFETY: promised by the caller.
    unsafe {
        let bytes = Bytes::of(to.len())?;
        send_to_itself((element, datatype), (to.as_mut_ptr().cast(), bytes.0), comm)
    }
}

/// Puts bytes into an element, and leaves its gaps alone.
///
/// # Errors
/// If MPI fails.
///
/// # Safety
/// The element is writable and has as many bytes as `from`; `comm` is a communicator that the program does not have.
pub unsafe fn put(
    from: &[u8],
    element: *mut c_void,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    // SAFETY: promised by the caller.
    unsafe {
        let bytes = Bytes::of(from.len())?;
        send_to_itself((from.as_ptr().cast(), bytes.0), (element, datatype), comm)
    }
}

/// # Safety
/// At `from` is an element of the type that is sent, and at `to` memory for one of the type that is received; `comm` is
/// a communicator, and the calling thread may call MPI.
unsafe fn send_to_itself(
    (from, sent): (*const c_void, MPI_Datatype),
    (to, received): (*mut c_void, MPI_Datatype),
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    let mut me = 0;
    let tag = tag();
    // SAFETY: promised by the caller.
    unsafe {
        MpiError::check("MPI_Comm_rank", ffi::PMPI_Comm_rank(comm, &mut me))?;
        let status = ffi::RSMPI_STATUS_IGNORE;
        let code =
            ffi::PMPI_Sendrecv(from, 1, sent, me, tag, to, 1, received, me, tag, comm, status);
        MpiError::check("MPI_Sendrecv", code)
    }
}

/// The tag of an element's message, which no other thread's has at the same time. A lock would not do: a thread may come
/// here while it holds one of MPI's, which another one needs for its message.
fn tag() -> c_int {
    static LAST: AtomicU32 = AtomicU32::new(0);
    (LAST.fetch_add(1, Ordering::Relaxed) % MAX_TAG) as c_int
}

/// The type of so many bytes.
struct Bytes(MPI_Datatype);

impl Bytes {
    /// # Safety
    /// MPI is initialised.
    unsafe fn of(len: usize) -> Result<Self, MpiError> {
        let counts = [(len / CHUNK) as c_int, (len % CHUNK) as c_int];
        let places = [0, (len - len % CHUNK) as MPI_Aint];
        // SAFETY: MPI is initialised, as promised by the caller; the types are freed once.
        unsafe {
            let byte = ffi::RSMPI_UINT8_T;
            let mut chunk = Bytes(ffi::RSMPI_DATATYPE_NULL);
            let code = ffi::PMPI_Type_contiguous(CHUNK as c_int, byte, &mut chunk.0);
            MpiError::check("MPI_Type_contiguous", code)?;
            let mut all = Bytes(ffi::RSMPI_DATATYPE_NULL);
            let types = [chunk.0, byte];
            let code = ffi::PMPI_Type_create_struct(
                2,
                counts.as_ptr(),
                places.as_ptr(),
                types.as_ptr(),
                &mut all.0,
            );
            MpiError::check("MPI_Type_create_struct", code)?;
            MpiError::check("MPI_Type_commit", ffi::PMPI_Type_commit(&mut all.0))?;
            Ok(all)
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: a type that was made is freed once.
        unsafe {
            if self.0 != ffi::RSMPI_DATATYPE_NULL {
                ffi::PMPI_Type_free(&mut self.0);
            }
        }
    }
}
