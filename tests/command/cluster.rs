//! Ranks of several hosts, each with a kernel and a clock of its own, on a cluster that `ci/softroce --hosts` makes.
//! `VERBCAST_CLUSTER` says that there may be one.

use crate::needs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// After which a command on the hosts is ended.
const LIMIT: &str = "300";
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
    VERBCAST_RANK=$rank "$1" copy "$2" "$here/{rank}/copy" --timeout 30 >"$here/said.$rank" 2>&1 &
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
    echo "rank $rank ended with $status: $(tail -n 1 "$here/said.$rank")"
    [[ ! -e $here/$rank/copy ]] || echo "rank $rank has $(sha256sum <"$here/$rank/copy")"
done
kill "$watcher" 2>/dev/null
rm -rf "$here"
"#;

/// A folder that all hosts see, with a file of so many bytes to copy.
struct Job {
    folder: PathBuf,
}

impl Job {
    /// `None` if there may be no cluster.
    fn new(name: &str, len: usize) -> Option<Job> {
        if env::var_os("VERBCAST_CLUSTER").is_none() {
            needs::skip("VERBCAST_CLUSTER is not set");
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let bytes: Vec<u8> = (0..len as u64).map(|at| (at * at / 7 + at) as u8).collect();
        fs::write(folder.join("file"), bytes).unwrap();
        Some(Job { folder })
    }

    /// Copies the file to four ranks of two hosts.
    fn begin(&self) -> Child {
        let mut command = softroce(&["--hosts", "2", "each", "--timeout", LIMIT, "--"]);
        command.args(["bash", "-c", RANKS, "ranks", env!("CARGO_BIN_EXE_verbcast")]);
        command.arg(self.folder.join("file")).arg(&self.folder);
        command.arg(format!("{:?}", Instant::now()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns when ranks of both hosts have something of their copies.
    fn wait_until_begun(&self) {
        let until = Instant::now() + BEGIN_LIMIT;
        let has_begun = |host| self.folder.join(format!("begun.{host}")).exists();
        while !(has_begun(1) && has_begun(2)) {
            assert!(Instant::now() < until, "the ranks have not begun after {BEGIN_LIMIT:?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn sum(&self) -> String {
        let file = fs::File::open(self.folder.join("file")).unwrap();
        let output = Command::new("sha256sum").stdin(file).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn softroce(arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(REPOSITORY).join("ci/softroce"));
    command.args(arguments).current_dir(REPOSITORY);
    command
}

fn to_host(host: &str, verb: &str) {
    let output = softroce(&["host", host, verb]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The lines that ranks have said, and those of `ci/softroce` behind them.
fn lines(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
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
    let Some(job) = Job::new("cut", 128_000_000) else { return };
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
    let Some(again) = Job::new("healed", 1_000_000) else { return };
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
    let Some(job) = Job::new("off", 128_000_000) else { return };
    let ranks = job.begin();
    job.wait_until_begun();
    to_host("2", "stop");
    let said = lines(&ranks.wait_with_output().unwrap());
    for rank in [0, 1] {
        blames_the_second_host(&said, rank);
    }
}
