//! Which of its host's ranks a process is, as whatever started it says in the environment.

/// By hand.
const OWN: &str = "VERBCAST_LOCAL_RANK";
/// The variables of launchers, each of the one that its name says. The first that is there decides.
const VARIABLES: [&str; 6] = [
    "OMPI_COMM_WORLD_LOCAL_RANK",
    // MPICH's hydra and Intel MPI.
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    // Cray's PMI and PALS.
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "SLURM_LOCALID",
];

/// The rank of this process among those of its host, if the environment tells it.
pub fn local_rank(lookup: impl Fn(&str) -> Option<String>) -> Option<u32> {
    let read = |name| lookup(name)?.trim().parse().ok();
    // Ranks that were started by hand inside a launcher's job all have that job's variables.
    let is_by_hand = lookup("VERBCAST_RANK").is_some();
    read(OWN).or_else(|| VARIABLES.into_iter().filter(|_| !is_by_hand).find_map(read))
}

/// As [`local_rank`], of this process.
pub fn local_rank_of_process() -> Option<u32> {
    local_rank(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_has_a_number_decides() {
        let read = |variables: &[(&str, &str)]| {
            local_rank(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(read(&[("HOME", "1")]), None);
        for name in VARIABLES.into_iter().chain([OWN]) {
            assert_eq!(read(&[(name, " 3")]), Some(3), "{name}");
        }
        assert_eq!(read(&[("SLURM_LOCALID", "5"), ("OMPI_COMM_WORLD_LOCAL_RANK", "1")]), Some(1));
        assert_eq!(read(&[("SLURM_LOCALID", "5"), ("PMI_LOCAL_RANK", "x")]), Some(5));
        let by_hand = [("SLURM_LOCALID", "0"), ("VERBCAST_RANK", "3")];
        assert_eq!(read(&by_hand), None, "the batch script's, which started both ranks");
    }
}
