//! A datatype that stays when the program frees its own.

use mpi::ffi::{self, MPI_Datatype};
use multicast::mpi::MpiError;

/// A copy of a program's type, freed by a thread that may call MPI.
pub struct OwnType(MPI_Datatype);

impl OwnType {
    /// Copies it.
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
            MpiError::check("MPI_Type_dup", ffi::PMPI_Type_dup(datatype, &mut own))?;
            Ok(OwnType(own))
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
