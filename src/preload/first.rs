//! The first broadcasts of a communicator, which are MPI's own: how many they are, and how many it has had.
//!
//! Ranks may come with different settings, and then one would go by MPI where another waits for it elsewhere. So the number
//! is agreed in the first call in which a communicator's ranks may wait for one another: that of its rank 0 holds. A
//! duplicate has what its original has agreed, as its ranks have made both calls in the same order.

use super::settings::{FIRST_BY_MPI, Settings};
use super::tally;
use mpi::ffi::{self, MPI_Comm};
use multicast::mpi::MpiError;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;

/// The attributes of communicators whose ranks have not decided. Each is a number, as an address.
pub struct First {
    /// How many broadcasts there were.
    had: c_int,
    /// How many are MPI's, as agreed.
    limit: c_int,
}

impl First {
    /// Makes them.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// MPI is initialised.
    pub unsafe fn new() -> Result<Self, MpiError> {
        let (mut had, mut limit) = (0, 0);
        // SAFETY: promised by the caller; the functions have the types that MPI wants.
        unsafe {
            let state = ptr::null_mut();
            let code =
                ffi::PMPI_Comm_create_keyval(Some(leave), Some(drop_number), &mut had, state);
            MpiError::check("MPI_Comm_create_keyval", code)?;
            let code =
                ffi::PMPI_Comm_create_keyval(Some(copy), Some(drop_number), &mut limit, state);
            MpiError::check("MPI_Comm_create_keyval", code)?;
        }
        Ok(First { had, limit })
    }

    /// Counts a blocking broadcast; whether it is one of the first. All ranks count alike, as they come to a communicator's
    /// broadcasts in the same order (MPI 4.0, section 6.14). Collective.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// It is an intra-communicator, and the calling thread may call MPI.
    pub unsafe fn takes(&self, comm: MPI_Comm) -> Result<bool, MpiError> {
        // SAFETY: promised by the caller.
        unsafe {
            let limit = self.agree(comm)?;
            let had = self.had(comm);
            if had < limit {
                set(comm, self.had, had + 1)?;
            }
            Ok(had < limit)
        }
    }

    /// Counts a non-blocking broadcast, which waits for nobody; whether it is one of the first, which for want of an
    /// agreement is told by this rank's own setting.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// As for [`takes`](Self::takes).
    pub unsafe fn takes_non_blocking(&self, comm: MPI_Comm) -> Result<bool, MpiError> {
        // SAFETY: promised by the caller.
        unsafe {
            let (agreed, had) = (get(comm, self.limit), self.had(comm));
            if agreed.is_none_or(|limit| had < limit) {
                set(comm, self.had, had + 1)?;
            }
            Ok(had < agreed.unwrap_or(Settings::get().first_by_mpi))
        }
    }

    /// Whether a communicator has had them all. Collective.
    ///
    /// # Errors
    /// If MPI fails.
    ///
    /// # Safety
    /// As for [`takes`](Self::takes).
    pub unsafe fn are_over(&self, comm: MPI_Comm) -> Result<bool, MpiError> {
        // SAFETY: promised by the caller.
        unsafe { Ok(self.had(comm) >= self.agree(comm)?) }
    }

    /// Ends with MPI.
    ///
    /// # Safety
    /// MPI runs.
    pub unsafe fn free(&self) {
        for mut keyval in [self.had, self.limit] {
            // SAFETY: promised by the caller.
            unsafe { ffi::PMPI_Comm_free_keyval(&mut keyval) };
        }
    }

    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn had(&self, comm: MPI_Comm) -> usize {
        // SAFETY: promised by the caller.
        unsafe { get(comm, self.had) }.unwrap_or(0)
    }

    /// How many of a communicator's broadcasts are MPI's: what its ranks have agreed, which they do now if they have not.
    ///
    /// # Safety
    /// MPI runs, and the calling thread may call it; `comm` is a communicator.
    unsafe fn agree(&self, comm: MPI_Comm) -> Result<usize, MpiError> {
        // SAFETY: promised by the caller; both buffers have as many numbers as are compared.
        unsafe {
            if let Some(limit) = get(comm, self.limit) {
                return Ok(limit);
            }
            let mut rank = 0;
            MpiError::check("MPI_Comm_rank", ffi::PMPI_Comm_rank(comm, &mut rank))?;
            let said = Numbers::of(Settings::get().first_by_mpi, rank == 0);
            let mut heard = Numbers([0; 3]);
            let (from, to) = (said.0.as_ptr().cast(), heard.0.as_mut_ptr().cast::<c_void>());
            let (len, kind) = (said.0.len() as c_int, ffi::RSMPI_UINT64_T);
            // No broadcast, which a rank that has not preloaded the library would take for the program's.
            let code = ffi::PMPI_Allreduce(from, to, len, kind, ffi::RSMPI_MAX, comm);
            MpiError::check("MPI_Allreduce", code)?;
            if rank == 0 {
                heard.tell();
            }
            let limit = heard.limit();
            set(comm, self.limit, limit)?;
            Ok(limit)
        }
    }
}

/// What ranks say about their settings: the largest of each is what they hear.
struct Numbers([u64; 3]);

impl Numbers {
    /// A rank's setting, the same the other way round, and that of rank 0.
    fn of(own: usize, is_rank_0: bool) -> Self {
        let own = own as u64;
        Numbers([own, !own, if is_rank_0 { own } else { 0 }])
    }

    /// The number that holds.
    fn limit(&self) -> usize {
        self.0[2] as usize
    }

    /// The smallest and the largest, where ranks differ.
    fn differing(&self) -> Option<(u64, u64)> {
        let [most, least, _] = self.0;
        (most != !least).then_some((!least, most))
    }

    /// Says once that ranks have come with different settings.
    fn tell(&self) {
        static WAS_SAID: AtomicBool = AtomicBool::new(false);
        let Some((least, most)) = self.differing() else { return };
        if !WAS_SAID.swap(true, Ordering::Relaxed) {
            let (name, limit) = (FIRST_BY_MPI.name, self.limit());
            tally::say(&format!(
                "{name} differs among the ranks, from {least} to {most}: all take that of rank 0, which is {limit}"
            ));
        }
    }
}

/// # Safety
/// `comm` is a communicator, and `keyval` an attribute.
unsafe fn get(comm: MPI_Comm, keyval: c_int) -> Option<usize> {
    let (mut value, mut is_set) = (ptr::null_mut::<c_void>(), 0);
    // SAFETY: promised by the caller.
    let code = unsafe {
        ffi::PMPI_Comm_get_attr(comm, keyval, ptr::from_mut(&mut value).cast(), &mut is_set)
    };
    (code == SUCCESS && is_set != 0).then(|| value.addr())
}

/// # Safety
/// As for [`get`].
unsafe fn set(comm: MPI_Comm, keyval: c_int, number: usize) -> Result<(), MpiError> {
    let value = ptr::without_provenance_mut(number);
    // SAFETY: promised by the caller.
    MpiError::check("MPI_Comm_set_attr", unsafe { ffi::PMPI_Comm_set_attr(comm, keyval, value) })
}

/// A new communicator has had no broadcasts.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn leave(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives the address of a number.
    unsafe { *is_copied = 0 };
    SUCCESS
}

/// A duplicate has the same ranks, which have agreed.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    from: *mut c_void,
    to: *mut c_void,
    is_copied: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives the addresses of an attribute and of a number.
    unsafe {
        *to.cast::<*mut c_void>() = from;
        *is_copied = 1;
    }
    SUCCESS
}

/// A number is replaced, or its communicator freed.
///
/// # Safety
/// For MPI alone, which gives what the function's type says.
unsafe extern "C" fn drop_number(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    /// What all ranks hear.
    fn heard(settings: &[usize]) -> Numbers {
        let mut heard = [0; 3];
        for (rank, own) in settings.iter().enumerate() {
            let Numbers(said) = Numbers::of(*own, rank == 0);
            heard = std::array::from_fn(|at| said[at].max(heard[at]));
        }
        Numbers(heard)
    }

    #[test]
    fn all_ranks_take_the_number_of_rank_0() {
        for settings in [[0, 8, 8], [8, 0, 8], [3, 8, 0], [8, 8, 8], [usize::MAX, 0, 1]] {
            assert_eq!(heard(&settings).limit(), settings[0], "{settings:?}");
        }
    }

    #[test]
    fn ranks_that_differ_are_noticed() {
        assert_eq!(heard(&[8, 8, 8]).differing(), None);
        assert_eq!(heard(&[0, 0]).differing(), None);
        assert_eq!(heard(&[8, 3, 5]).differing(), Some((3, 8)));
        assert_eq!(heard(&[0, 1]).differing(), Some((0, 1)));
    }
}
