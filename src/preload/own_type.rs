//! A datatype that stays when the program frees its own.

use mpi::ffi::{self, MPI_Datatype};
use multicast::mpi::MpiError;

/// A type like a program's, freed by a thread that may call MPI.
pub struct OwnType(MPI_Datatype);

impl OwnType {
    /// Makes one element of it a type: a copy by `MPI_Type_dup` would call what the program has attached to its own.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised, and the type is one.
    pub unsafe fn copy_of(datatype: MPI_Datatype) -> Result<Self, MpiError> {
        // SAFETY: promised by the caller.
        unsafe {
            let mut own = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::PMPI_Type_contiguous(1, datatype, &mut own);
            MpiError::check("MPI_Type_contiguous", code)?;
            // Freed also where it cannot be committed.
            let mut own = OwnType(own);
            MpiError::check("MPI_Type_commit", ffi::PMPI_Type_commit(&mut own.0))?;
            Ok(own)
        }
    }

    /// The copy.
    pub fn get(&self) -> MPI_Datatype {
        self.0
    }
}

impl Drop for OwnType {
    fn drop(&mut self) {
        // SAFETY: it is freed once.
        unsafe { ffi::PMPI_Type_free(&mut self.0) };
    }
}
