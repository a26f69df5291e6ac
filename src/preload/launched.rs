//! What the environment says of this process's rank, before MPI can be asked or where it is another library's.

use multicast::bootstrap::Environment;
use verbcast_core::rank::Rank;

/// Whether this process is to say what is the same at all ranks: rank 0, or one whose rank nobody has told.
pub fn is_first() -> bool {
    Environment::from_env().ok().flatten().is_none_or(|environment| environment.rank == Rank(0))
}
