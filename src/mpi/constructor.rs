//! How MPI datatypes were made.
//!
//! MPI 4 has constructors that take large counts, such as `MPI_Type_contiguous_c`. The functions of earlier versions fail for
//! their types, which by default ends the program. So where the library has the functions of MPI 4, they are asked about all
//! types.

use super::MpiError;
use mpi::ffi::{self, MPI_Aint, MPI_Count, MPI_Datatype};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

/// A type's constructor, and what it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constructor {
    /// MPI's number for it, which the libraries choose.
    combiner: c_int,
    integers: MPI_Count,
    addresses: MPI_Count,
    large_counts: MPI_Count,
    types: MPI_Count,
}

type GetEnvelope = unsafe extern "C" fn(
    MPI_Datatype,
    *mut MPI_Count,
    *mut MPI_Count,
    *mut MPI_Count,
    *mut MPI_Count,
    *mut c_int,
) -> c_int;
type GetContents = unsafe extern "C" fn(
    MPI_Datatype,
    MPI_Count,
    MPI_Count,
    MPI_Count,
    MPI_Count,
    *mut c_int,
    *mut MPI_Aint,
    *mut MPI_Count,
    *mut MPI_Datatype,
) -> c_int;

/// The functions of MPI 4.
struct Large {
    get_envelope: GetEnvelope,
    get_contents: GetContents,
}

impl Large {
    /// Those of the program's MPI library, if it has them.
    fn get() -> Option<&'static Self> {
        static LARGE: OnceLock<Option<Large>> = OnceLock::new();
        // SAFETY: the types are those that MPI 4.0 gives in sections 5.1.13 and 19.2.
        let find = || unsafe {
            Some(Large {
                get_envelope: function(c"PMPI_Type_get_envelope_c")?,
                get_contents: function(c"PMPI_Type_get_contents_c")?,
            })
        };
        LARGE.get_or_init(find).as_ref()
    }
}

/// A function of whatever the program has loaded.
///
/// # Safety
/// `F` is the type of the function of that name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the name is a C string.
    let address = NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })?;
    // SAFETY: promised by the caller, and a function's address is as large as any.
    Some(unsafe { std::mem::transmute_copy(&address) })
}

impl Constructor {
    /// That of a type.
    ///
    /// # Errors
    /// If MPI refuses the type.
    ///
    /// # Safety
    /// MPI is initialised, and the type is one.
    pub unsafe fn of(datatype: MPI_Datatype) -> Result<Self, MpiError> {
        let mut made = Constructor::default();
        let Constructor { combiner, integers, addresses, large_counts, types } = &mut made;
        if let Some(large) = Large::get() {
            // SAFETY: promised by the caller.
            let code = unsafe {
                (large.get_envelope)(datatype, integers, addresses, large_counts, types, combiner)
            };
            MpiError::check("MPI_Type_get_envelope_c", code)?;
            return Ok(made);
        }
        let mut counts = [0; 3];
        let [few_integers, few_addresses, few_types] = &mut counts;
        // SAFETY: promised by the caller.
        let code = unsafe {
            ffi::PMPI_Type_get_envelope(datatype, few_integers, few_addresses, few_types, combiner)
        };
        MpiError::check("MPI_Type_get_envelope", code)?;
        [*integers, *addresses, *types] = counts.map(MPI_Count::from);
        Ok(made)
    }

    /// Whether the type is MPI's own, if it has any bytes: a type of the program's is then made of another one, where those
    /// of `MPI_Type_create_f90_real` and its like have numbers only.
    pub fn is_predefined(&self) -> bool {
        self.types == 0
    }

    /// Whether it repeats another type.
    ///
    /// # Errors
    /// If MPI fails.
    pub fn is_repetition(&self) -> Result<bool, MpiError> {
        if self.addresses != 0 || self.integers + self.large_counts != 1 || self.types != 1 {
            return Ok(false);
        }
        // SAFETY: MPI is initialised, as was promised when this was made; the type is freed once.
        unsafe {
            let mut pair = ffi::RSMPI_DATATYPE_NULL;
            let code = ffi::PMPI_Type_contiguous(2, ffi::RSMPI_UINT8_T, &mut pair);
            MpiError::check("MPI_Type_contiguous", code)?;
            let made = Constructor::of(pair);
            ffi::PMPI_Type_free(&mut pair);
            made.map(|made| made.combiner == self.combiner)
        }
    }

    /// The type that a repetition repeats, whose constructor this is; to be freed unless it is [MPI's own](Self::is_predefined).
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised, the type is one that this made, and this [repeats](Self::is_repetition) another.
    pub unsafe fn repeated(&self, datatype: MPI_Datatype) -> Result<MPI_Datatype, MpiError> {
        let (mut times, mut address, mut many) = (0, 0, 0);
        let Constructor { integers, addresses, large_counts, types, .. } = *self;
        // SAFETY: there is room for one of each kind, which is all that a repetition was given.
        unsafe {
            let mut inner = ffi::RSMPI_DATATYPE_NULL;
            if let Some(large) = Large::get() {
                let code = (large.get_contents)(
                    datatype,
                    integers,
                    addresses,
                    large_counts,
                    types,
                    &mut times,
                    &mut address,
                    &mut many,
                    &mut inner,
                );
                MpiError::check("MPI_Type_get_contents_c", code)?;
            } else {
                let address = ptr::from_mut(&mut address);
                let code =
                    ffi::PMPI_Type_get_contents(datatype, 1, 0, 1, &mut times, address, &mut inner);
                MpiError::check("MPI_Type_get_contents", code)?;
            }
            Ok(inner)
        }
    }
}
