//! A communicator of verbcast's own, beside a program's.

use super::MpiError;
use super::progress::{IncompleteRequest, Progress, is_over};
use crate::bootstrap::{Bootstrap, BootstrapError, Secret};
use mpi::ffi::{self, MPI_Comm};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use verbcast_core::rank::Rank;

/// Bytes that each rank gives in the first call of a [gathering](Link::gather): enough for what ranks say of a further
/// communicator while they are in few groups.
const CELL: usize = 768;
/// Of them, those of the blob's length.
const LEN: usize = size_of::<u32>();
/// Of the messages by which [`Link::of_first`] makes a communicator.
const TAG: c_int = 0;

/// A communicator with the ranks of another, freed when it and all its clones are dropped, which is collective.
///
/// Its calls wait for ranks that have not come yet as MPI does: for ever, unless MPI or its launcher
/// notices that one has failed.
#[derive(Clone, Debug)]
pub struct Link {
    own: Arc<Own>,
    rank: u32,
    size: u32,
}

/// A communicator that nobody else has.
#[derive(Debug)]
struct Own {
    comm: MPI_Comm,
    request: IncompleteRequest,
}

// SAFETY: a handle names the same object in all threads; which of them may call MPI is for the program to keep to.
unsafe impl Send for Own {}
// SAFETY: the same.
unsafe impl Sync for Own {}

impl Link {
    /// Makes it. Collective over `comm`, none of whose attributes is copied.
    ///
    /// # Errors
    /// If MPI fails, or `comm` joins two groups.
    ///
    /// # Safety
    /// MPI is initialised, and `comm` is a communicator.
    pub unsafe fn new(comm: MPI_Comm) -> Result<Self, MpiError> {
        // SAFETY: promised by the caller; the group is freed once.
        unsafe {
            let mut joins_two = 0;
            let code = ffi::PMPI_Comm_test_inter(comm, &mut joins_two);
            MpiError::check("MPI_Comm_test_inter", code)?;
            if joins_two != 0 {
                let code = ffi::MPI_ERR_COMM as c_int;
                return Err(MpiError { call: "MPI_Comm_test_inter", code });
            }
            let mut group = ffi::RSMPI_GROUP_NULL;
            let code = ffi::PMPI_Comm_group(comm, &mut group);
            MpiError::check("MPI_Comm_group", code)?;
            let mut own = ffi::RSMPI_COMM_NULL;
            let created = ffi::PMPI_Comm_create(comm, group, &mut own);
            ffi::PMPI_Group_free(&mut group);
            MpiError::check("MPI_Comm_create", created)?;
            Link::adopt(own)
        }
    }

    /// Makes one of the first `size` ranks of `comm`. Collective over these.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised, and `comm` is a communicator of at least as many ranks, of which this is one.
    pub(super) unsafe fn of_first(size: u32, comm: MPI_Comm) -> Result<Self, MpiError> {
        // SAFETY: promised by the caller; the groups are freed once.
        unsafe {
            let mut all = ffi::RSMPI_GROUP_NULL;
            MpiError::check("MPI_Comm_group", ffi::PMPI_Comm_group(comm, &mut all))?;
            let ranks: Vec<c_int> = (0..size as c_int).collect();
            let mut first = ffi::RSMPI_GROUP_NULL;
            let code = ffi::PMPI_Group_incl(all, size as c_int, ranks.as_ptr(), &mut first);
            ffi::PMPI_Group_free(&mut all);
            MpiError::check("MPI_Group_incl", code)?;
            let mut own = ffi::RSMPI_COMM_NULL;
            let code = ffi::PMPI_Comm_create_group(comm, first, TAG, &mut own);
            ffi::PMPI_Group_free(&mut first);
            MpiError::check("MPI_Comm_create_group", code)?;
            Link::adopt(own)
        }
    }

    /// Takes a communicator that was made for this.
    ///
    /// # Safety
    /// MPI is initialised, and the communicator nobody else's.
    unsafe fn adopt(comm: MPI_Comm) -> Result<Self, MpiError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: promised by the caller.
        unsafe {
            let own = Arc::new(Own { comm, request: IncompleteRequest::new()? });
            let code = ffi::PMPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN);
            MpiError::check("MPI_Comm_set_errhandler", code)?;
            MpiError::check("MPI_Comm_rank", ffi::PMPI_Comm_rank(comm, &mut rank))?;
            MpiError::check("MPI_Comm_size", ffi::PMPI_Comm_size(comm, &mut size))?;
            Ok(Link { own, rank: rank as u32, size: size as u32 })
        }
    }

    /// The communicator.
    pub fn comm(&self) -> MPI_Comm {
        self.own.comm
    }

    /// What lets MPI make progress, for ranks that wait for this one there. It may be used for as long
    /// as this exists.
    pub fn progress(&self) -> Progress {
        self.own.request.progress()
    }

    /// Whether all ranks share one node's memory. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn is_one_node(&self) -> Result<bool, MpiError> {
        let mut size = 0;
        // SAFETY: the communicator is valid for as long as this is; the new one is freed once.
        unsafe {
            let mut node = ffi::RSMPI_COMM_NULL;
            let kind = ffi::RSMPI_COMM_TYPE_SHARED;
            let info = ffi::RSMPI_INFO_NULL;
            let code = ffi::PMPI_Comm_split_type(self.comm(), kind, 0, info, &mut node);
            MpiError::check("MPI_Comm_split_type", code)?;
            let asked = ffi::PMPI_Comm_size(node, &mut size);
            ffi::PMPI_Comm_free(&mut node);
            MpiError::check("MPI_Comm_size", asked)?;
        }
        Ok(size as u32 == self.size)
    }

    /// Gathers the blobs of all ranks: in one call of MPI where all are short, so that they go together with their lengths.
    fn gather(&self, blob: &[u8]) -> Result<Vec<Vec<u8>>, MpiError> {
        let size = self.size as usize;
        let own = cell(blob);
        let mut cells = vec![0_u8; size * CELL];
        // SAFETY: the buffers hold one cell, and one for each rank.
        let code = unsafe {
            let (from, to) = (own.as_ptr().cast(), cells.as_mut_ptr().cast::<c_void>());
            let (len, byte) = (CELL as c_int, ffi::RSMPI_UINT8_T);
            ffi::PMPI_Allgather(from, len, byte, to, len, byte, self.comm())
        };
        MpiError::check("MPI_Allgather", code)?;
        let (cells, _) = cells.as_chunks::<CELL>();
        let lens: Vec<_> = cells.iter().map(len_in).collect();
        if lens.iter().all(|len| *len <= CELL - LEN) {
            let parts = cells.iter().zip(&lens).map(|(cell, len)| cell[LEN..][..*len].to_vec());
            return Ok(parts.collect());
        }
        self.gather_long(blob, &lens)
    }

    /// Gathers blobs of these lengths, which all ranks have told.
    fn gather_long(&self, blob: &[u8], lens: &[usize]) -> Result<Vec<Vec<u8>>, MpiError> {
        let lens: Vec<c_int> = lens.iter().map(|len| *len as c_int).collect();
        let mut starts: Vec<c_int> = Vec::with_capacity(lens.len());
        let mut total: c_int = 0;
        for len in &lens {
            starts.push(total);
            total += len;
        }
        let mut bytes = vec![0_u8; total as usize];
        // SAFETY: every rank's part lies in the buffer, by the lengths that all have told.
        let code = unsafe {
            let (from, to) = (blob.as_ptr().cast(), bytes.as_mut_ptr().cast::<c_void>());
            let (len, byte) = (blob.len() as c_int, ffi::RSMPI_UINT8_T);
            let (lens, starts) = (lens.as_ptr(), starts.as_ptr());
            ffi::PMPI_Allgatherv(from, len, byte, to, lens, starts, byte, self.comm())
        };
        MpiError::check("MPI_Allgatherv", code)?;
        let part = |(start, len): (&c_int, &c_int)| {
            let start = *start as usize;
            bytes[start..start + *len as usize].to_vec()
        };
        Ok(starts.iter().zip(&lens).map(part).collect())
    }
}

/// A blob's cell: its length, and as much of it as there is room for.
fn cell(blob: &[u8]) -> [u8; CELL] {
    let mut cell = [0; CELL];
    let len = u32::try_from(blob.len()).expect("what ranks tell one another is short");
    cell[..LEN].copy_from_slice(&len.to_be_bytes());
    let told = blob.len().min(CELL - LEN);
    cell[LEN..][..told].copy_from_slice(&blob[..told]);
    cell
}

/// The length in a blob's cell.
fn len_in(cell: &[u8; CELL]) -> usize {
    let (len, _) = cell.split_first_chunk::<LEN>().expect("a cell has room for it");
    u32::from_be_bytes(*len) as usize
}

impl Bootstrap for Link {
    fn rank(&self) -> Rank {
        Rank(self.rank)
    }

    fn size(&self) -> u32 {
        self.size
    }

    /// MPI is trusted to keep from strangers what ranks tell one another, unless they have a token besides.
    fn secret(&self) -> Result<Secret, String> {
        let token = Secret::from_env().map_err(|error| error.to_string())?;
        Ok(token.unwrap_or_else(Secret::none))
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.gather(blob).map_err(|error| BootstrapError { rank: None, what: error.to_string() })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // The others do not free theirs when this rank panics.
        if !is_over() && !std::thread::panicking() {
            // SAFETY: it is freed once, and nobody uses it any more.
            unsafe { ffi::PMPI_Comm_free(&mut self.comm) };
        }
    }
}
