//! Under a real Slurm: what `srun` and `sbatch` start on two hosts.

use super::{Folder, lines};
use crate::mpirun::Mpi;
use crate::pages;
use std::fs;
use std::os::unix::fs::symlink;

/// The programs of the book's scripts are this one.
const PROGRAM: &str = "model_file";

#[test]
fn ranks_that_srun_starts_copy_a_file() {
    let Some(folder) = Folder::with_file("srun", 4_000_000) else { return };
    let output = folder.run(
        "srun -N 2 --ntasks-per-node=3 --kill-on-bad-exit verbcast copy data.bin '/tmp/srun.{rank}' &&
         srun -N 2 bash -c 'for copy in /tmp/srun.*; do echo \"$copy $(sha256sum <$copy)\"; rm $copy; done'",
        &[],
    );
    let (said, sum) = (lines(&output), folder.sum());
    assert!(output.status.success(), "{said}");
    for rank in 1..6 {
        assert!(said.contains(&format!("/tmp/srun.{rank} {sum}")), "rank {rank}, {sum}:\n{said}");
    }
    let multicast = said.lines().find_map(|line| line.split_once(" packets multicast by rank 0, "));
    let (sent, rest) = multicast.unwrap_or_else(|| panic!("nothing was multicast:\n{said}"));
    assert_eq!(Some(sent), rest.split(' ').next(), "each packet once for both hosts");
}

#[test]
fn a_rank_that_is_killed_ends_the_step() {
    let Some(folder) = Folder::with_file("killed", 128_000_000) else { return };
    let output = folder.run(
        "srun -N 2 --ntasks-per-node=2 bash -c '
             ((SLURM_PROCID == 3)) || exec verbcast copy data.bin \"/tmp/killed.{rank}\" --timeout 10
             verbcast copy data.bin /tmp/killed.3 --timeout 10 &
             until [[ -n $(find /tmp -maxdepth 1 -name \"*killed*\" -size +0) ]]; do sleep 0.2; done
             kill -KILL $!; wait'
         status=$?; srun -N 2 bash -c 'ls /tmp/killed.* 2>/dev/null'; exit $status",
        &[],
    );
    let said = lines(&output);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("error: ") && said.contains("rank 3"), "{said}");
    let is_copy = |line: &&str| line.starts_with("/tmp/killed.");
    assert_eq!(said.lines().find(is_copy), None, "no rank has an incomplete copy");
}

/// The scripts of the book, as they stand.
#[test]
fn the_scripts_of_the_book_run() {
    let Some(folder) = Folder::with_file("sbatch", 1_000_000) else { return };
    let scripts = pages::blocks(&["sh", "sbatch"]);
    assert!(scripts.len() >= 2, "{}", scripts.len());
    symlink(Mpi::Open.example(PROGRAM), folder.path.join("program")).unwrap();
    let library = Mpi::target().join(Mpi::Open.name()).join("release/libverbcast.so");
    symlink(library, folder.path.join("libverbcast.so")).unwrap();
    for (number, script) in scripts.iter().enumerate() {
        let name = format!("{number}.sh");
        fs::write(folder.path.join(&name), &script.text).unwrap();
        let output = folder.run(
            "export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self
             status=0; sbatch --wait --output=said \"$1\" || status=$?; cat said; exit $status",
            &[name.as_ref()],
        );
        assert!(output.status.success(), "{}\n{}", script.text, lines(&output));
    }
}
