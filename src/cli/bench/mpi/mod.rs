//! The MPI library, where its own broadcast is one of those that are measured.

#[cfg(not(feature = "mpi"))]
mod absent;
#[cfg(feature = "mpi")]
mod native;
#[cfg(feature = "mpi")]
mod started;

#[cfg(not(feature = "mpi"))]
pub use absent::Mpi;
#[cfg(feature = "mpi")]
pub use started::Mpi;

/// What a launcher of an MPI library sets in the ranks that it starts.
const LAUNCHED: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

/// Settings of MPI libraries, and of what is below them, by what their names begin with.
const SETTINGS: [&str; 9] = [
    "UCX_",
    "FI_",
    "MPIR_CVAR_",
    "OMPI_MCA_pml",
    "OMPI_MCA_btl",
    "OMPI_MCA_mtl",
    "OMPI_MCA_coll",
    "OMPI_MCA_osc",
    "OMPI_MCA_mpi_",
];

/// Whether this command can measure an MPI library's broadcast.
///
/// # Errors
/// What is missing, and what to do.
pub fn check_feature() -> Result<(), String> {
    match cfg!(feature = "mpi") {
        true => Ok(()),
        false => Err("this verbcast was built without MPI: build it with MPICC=mpicc cargo build \
                      --release -p verbcast-cli --features mpi, which needs an MPI library and libclang, or with \
                      ci/mpi build"
            .to_owned()),
    }
}

/// Whether the ranks, `local` of them started by this command, are those of an MPI launcher, by the variables
/// that it sets.
///
/// # Errors
/// What is missing, and what to do.
pub fn check_launcher(local: Option<u32>, is_set: impl Fn(&str) -> bool) -> Result<(), String> {
    match local.is_none() && LAUNCHED.into_iter().any(is_set) {
        true => Ok(()),
        false => Err("the algorithm mpi is the broadcast of the MPI library whose launcher starts the \
                      ranks: start this command by mpirun -n N, mpiexec -n N or srun --mpi=TYPE, and \
                      without --ranks"
            .to_owned()),
    }
}

/// Whether a variable says how MPI broadcasts.
pub fn is_setting(name: &str) -> bool {
    SETTINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_an_mpi_launcher() {
        for variable in LAUNCHED {
            assert_eq!(check_launcher(None, |name| name == variable), Ok(()));
            let error = check_launcher(Some(4), |name| name == variable).unwrap_err();
            assert!(error.contains("without --ranks"), "{error}");
        }
        for other in ["VERBCAST_RANK", "SLURM_PROCID", ""] {
            let error = check_launcher(None, |name| name == other).unwrap_err();
            assert!(error.contains("mpirun -n N"), "{error}");
        }
    }

    #[test]
    fn settings_of_mpi_are_told_from_what_its_launcher_says() {
        for name in ["UCX_TLS", "MPIR_CVAR_NOLOCAL", "OMPI_MCA_pml", "OMPI_MCA_mpi_yield_when_idle"]
        {
            assert!(is_setting(name), "{name}");
        }
        for name in ["OMPI_MCA_orte_hnp_uri", "OMPI_COMM_WORLD_RANK", "PMI_FD", "HOME"] {
            assert!(!is_setting(name), "{name}");
        }
    }
}
