//! Hosts that are cut off or switched off in mid-copy: whoever is left ends with an error that names them.

use super::{Folder, LIMIT, lines, softroce};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Until all ranks must have begun to write.
const BEGIN_LIMIT: Duration = Duration::from_secs(120);

/// Two ranks of a host. Says when one has something of its copy, how each ended, and what their copies are.
/// Arguments: the command, the file, a folder that all hosts share, the job's token.
const RANKS: &str = r#"
host=$(hostname); host=${host#node}
here=$(mktemp -d)
export VERBCAST_SIZE=4 VERBCAST_RENDEZVOUS=node1:7777 VERBCAST_TOKEN=$4
pids=()
for at in 0 1; do
    rank=$(((host - 1) * 2 + at))
    mkdir "$here/$rank"
    VERBCAST_RANK=$rank "$1" copy "$2" "$here/{rank}/copy" --timeout 10 >"$here/said.$rank" 2>&1 &
    pids+=($!)
done
(
    until [[ -n $(find "$here"/*/ -type f -size +0) ]]; do sleep 0.2; done
    touch "$3/begun.$host"
) &
watcher=$!
for at in 0 1; do
    rank=$(((host - 1) * 2 + at)) status=0
    wait "${pids[at]}" || status=$?
    echo "rank $rank ended with $status: $(grep -v ': not copied on ' "$here/said.$rank" | tail -n 1)"
    [[ ! -e $here/$rank/copy ]] || echo "rank $rank has $(sha256sum <"$here/$rank/copy")"
done
kill "$watcher" 2>/dev/null
rm -rf "$here"
"#;

impl Folder {
    /// Copies the file to four ranks of two hosts.
    fn begin(&self) -> Child {
        let mut command = softroce(&["--hosts", "2", "each", "--timeout", LIMIT, "--"]);
        command.args(["bash", "-c", RANKS, "ranks", env!("CARGO_BIN_EXE_verbcast")]);
        command.arg(self.file()).arg(&self.path);
        command.arg(format!("{:?}", Instant::now()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns when ranks of both hosts have something of their copies.
    fn wait_until_begun(&self) {
        let until = Instant::now() + BEGIN_LIMIT;
        let has_begun = |host| self.path.join(format!("begun.{host}")).exists();
        while !(has_begun(1) && has_begun(2)) {
            assert!(Instant::now() < until, "the ranks have not begun after {BEGIN_LIMIT:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

pub fn to_host(host: &str, verb: &str) {
    let output = softroce(&["host", host, verb]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// How a rank ended, in words.
fn end_of(said: &str, rank: u32) -> &str {
    let begin = format!("rank {rank} ended with ");
    let end = said.lines().find_map(|line| line.split_once(&begin));
    end.unwrap_or_else(|| panic!("rank {rank} has not ended:\n{said}")).1
}

/// It fails, and names a rank of the second host.
fn blames_the_second_host(said: &str, rank: u32) {
    let end = end_of(said, rank);
    let named = ["rank 2", "rank 3"].iter().any(|other| end.contains(other));
    assert!(end.starts_with("1: error: ") && named, "rank {rank}: {end}\n{said}");
}

#[test]
fn a_host_that_is_cut_off_is_named_and_may_come_back() {
    let Some(job) = Folder::with_file("cut", 128_000_000) else { return };
    let ranks = job.begin();
    job.wait_until_begun();
    to_host("2", "cut");
    let said = lines(&ranks.wait_with_output().unwrap());
    to_host("2", "heal");
    for rank in [0, 1] {
        blames_the_second_host(&said, rank);
    }
    for rank in [2, 3] {
        let end = end_of(&said, rank);
        assert!(end.starts_with("1: error: "), "rank {rank}: {end}\n{said}");
    }
    let Some(again) = Folder::with_file("healed", 1_000_000) else { return };
    let output = again.begin().wait_with_output().unwrap();
    let (said, sum) = (lines(&output), again.sum());
    assert!(output.status.success() && end_of(&said, 0).starts_with("0: "), "{said}");
    for rank in 1..4 {
        assert!(end_of(&said, rank).starts_with("0: "), "{said}");
        assert!(said.contains(&format!("rank {rank} has {sum}")), "rank {rank}, {sum}:\n{said}");
    }
}

#[test]
fn a_host_that_is_switched_off_is_named() {
    let Some(job) = Folder::with_file("off", 128_000_000) else { return };
    let ranks = job.begin();
    job.wait_until_begun();
    to_host("2", "stop");
    let said = lines(&ranks.wait_with_output().unwrap());
    for rank in [0, 1] {
        blames_the_second_host(&said, rank);
    }
}
