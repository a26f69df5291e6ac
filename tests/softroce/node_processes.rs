//! Processes share the memory of a node, and one of them is stopped for a while, or killed, in the middle of broadcasts.

use crate::needs;
use crate::ranks;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use verbcast::{Broadcaster, Config, Environment, Star};
use verbcast_core::rank::Rank;

/// Ranks 0 and 1 share a node, 2 and 3 another.
const SIZE: usize = 4;
const LEN: usize = 10_000;
/// What tells a process that it is one of the ranks: the file whose appearance ends the job.
const END: &str = "VERBCAST_TEST_NODE_END";
const SELF: &str = "node_processes::a_rank_of_a_job";
/// How long anything may take on an emulated machine that does much else.
const LIMIT: Duration = Duration::from_secs(90);
/// Many times as long as a mate waits for a receiver.
const AWAY: Duration = Duration::from_secs(1);

/// What the processes do: the root broadcasts until it is told to end. By itself it does nothing.
#[test]
fn a_rank_of_a_job() {
    let Some(end) = std::env::var_os(END).map(PathBuf::from) else { return };
    let environment = Environment::from_env().unwrap().unwrap();
    let config = Config::from_env().unwrap();
    let mut bootstrap = Star::join(&environment, config.device.timeout).unwrap();
    let mut first = Broadcaster::new(&mut bootstrap, &config).unwrap();
    assert_eq!(first.description().node_ranks, 2);
    let me = first.rank();
    let mut op = 0;
    loop {
        let is_last = u8::from(me == Rank(0) && end.exists());
        let mut sent = ranks::message(op, LEN);
        sent[0] = is_last;
        let mut buffer = if me == Rank(0) { sent.clone() } else { vec![0xee; LEN] };
        if let Err(error) = first.broadcast_into(Rank(0), &mut buffer) {
            fail(error);
        }
        assert!(buffer[1..] == sent[1..], "{me}, broadcast {op}");
        op += 1;
        eprintln!("{op} {}", first.statistics().node_roles);
        if buffer[0] == 1 {
            break;
        }
    }
    first.close().unwrap_or_else(|error| fail(error));
}

fn fail(error: impl std::fmt::Display) -> ! {
    eprintln!("error: {error}");
    std::process::exit(1);
}

/// What a rank has said.
#[derive(Clone, Debug, Default)]
struct Said {
    broadcasts: u64,
    /// Times that it became the receiver.
    roles: u64,
    error: String,
}

struct Job {
    children: Vec<Child>,
    said: Vec<Arc<Mutex<Said>>>,
    end: PathBuf,
}

impl Job {
    fn start(name: &str, device: &str, more: &[(&str, &str)]) -> Job {
        let path =
            std::env::temp_dir().join(format!("verbcast-node-{name}-{}", std::process::id()));
        let (end, meeting) = (path.with_extension("end"), path.with_extension("meet"));
        let _ = (fs::remove_file(&end), fs::remove_file(&meeting));
        let mut job = Job { children: Vec::new(), said: Vec::new(), end };
        for rank in 0..SIZE {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", SELF, "--nocapture"]).env(END, &job.end);
            command.env("VERBCAST_RANK", rank.to_string()).env("VERBCAST_SIZE", SIZE.to_string());
            command.env("VERBCAST_RENDEZVOUS", format!("unix:{}", meeting.display()));
            command.env("VERBCAST_TOKEN", name).env("VERBCAST_DEVICE", device);
            command.env("VERBCAST_NODES", "shared:2").env("VERBCAST_TIMEOUT", "5");
            command.envs(more.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let stderr = BufReader::new(child.stderr.take().unwrap());
            let said = Arc::new(Mutex::new(Said::default()));
            job.said.push(Arc::clone(&said));
            job.children.push(child);
            thread::spawn(move || {
                for line in stderr.lines().map_while(Result::ok) {
                    let mut said = said.lock().unwrap();
                    match line.split_once(' ').map(|(op, roles)| (op.parse(), roles.parse())) {
                        Some((Ok(op), Ok(roles))) => (said.broadcasts, said.roles) = (op, roles),
                        _ => said.error.push_str(&line),
                    }
                }
            });
        }
        job
    }

    fn said(&self, rank: usize) -> Said {
        self.said[rank].lock().unwrap().clone()
    }

    fn all_said(&self) -> Vec<Said> {
        (0..SIZE).map(|rank| self.said(rank)).collect()
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Job) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < LIMIT, "{what}, not after {LIMIT:?}: {:?}", self.all_said());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// When broadcasts are under way: the rank of the second node that receives, as far as its mate has not replaced it since, and
    /// the mate.
    fn wait_for_receiver(&self) -> (usize, usize) {
        self.wait_until("they begin", |job| {
            (0..SIZE).all(|rank| job.said(rank).broadcasts > 20)
                && job.said(2).roles + job.said(3).roles > 0
        });
        if self.said(2).roles > self.said(3).roles { (2, 3) } else { (3, 2) }
    }

    fn signal(&self, rank: usize, signal: i32) {
        // SAFETY: a child that was not waited for has its number.
        unsafe { libc::kill(self.children[rank].id() as i32, signal) };
    }

    /// How all have ended, by rank.
    fn ends(&mut self) -> Vec<ExitStatus> {
        let began = Instant::now();
        let said = self.said.clone();
        let ended = self.children.iter_mut().enumerate().map(|(rank, child)| {
            loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                let said = said[rank].lock().unwrap().clone();
                assert!(began.elapsed() < LIMIT, "rank {rank} goes on: {said:?}");
                thread::sleep(Duration::from_millis(5));
            }
        });
        ended.collect()
    }

    fn end_well(&mut self) {
        fs::write(&self.end, "").unwrap();
        let ends = self.ends();
        assert!(ends.iter().all(ExitStatus::success), "{ends:?}: {:?}", self.all_said());
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for child in &mut self.children {
            // Whoever is still there, however the test went.
            let _ = (child.kill(), child.wait());
        }
        let _ = (fs::remove_file(&self.end), fs::remove_file(self.end.with_extension("meet")));
    }
}

/// Whoever polls takes the place of a receiver that is stopped, gets all that the root sends meanwhile, and lets it go on.
fn stop_each_of_a_node(name: &str, more: &[(&str, &str)]) {
    let Some(devices) = needs::devices() else { return };
    let mut job = Job::start(name, &devices[0], more);
    let (receiver, mate) = job.wait_for_receiver();
    for (away, other) in [(receiver, mate), (mate, receiver)] {
        job.signal(away, libc::SIGSTOP);
        thread::sleep(AWAY);
        job.wait_until("its mate gets on", |job| {
            let root = job.said(0).broadcasts;
            job.said(other).broadcasts >= root && job.said(0).broadcasts == root
        });
        let before = job.said(away).broadcasts;
        job.signal(away, libc::SIGCONT);
        job.wait_until("it goes on", |job| job.said(away).broadcasts > before + 20);
    }
    let roles = job.said(2).roles + job.said(3).roles;
    assert!(roles > 1, "nobody took the place: {:?}", job.all_said());
    job.end_well();
}

#[test]
fn a_mate_that_is_stopped_holds_up_nobody() {
    stop_each_of_a_node("stop", &[("VERBCAST_TIMEOUT", "30")]);
}

#[test]
fn a_mate_that_is_stopped_holds_up_none_that_sleep() {
    let sleep = [("VERBCAST_WAIT", "block"), ("VERBCAST_ALGORITHM", "window")];
    stop_each_of_a_node("sleep", &[&sleep[..], &[("VERBCAST_TIMEOUT", "30")]].concat());
}

/// All others end with an error that names the rank, whichever part it had in its node, and nothing is left of the memory.
fn kill_one(name: &str, which: impl Fn(&Job) -> usize, more: &[(&str, &str)]) {
    let Some(devices) = needs::devices() else { return };
    let before = left_behind();
    let mut job = Job::start(name, &devices[0], more);
    job.wait_for_receiver();
    let victim = which(&job);
    job.signal(victim, libc::SIGKILL);
    let ends = job.ends();
    for rank in (0..SIZE).filter(|rank| *rank != victim) {
        let Said { error, .. } = job.said(rank);
        assert!(!ends[rank].success(), "rank {rank} has not failed");
        assert!(error.contains(&format!("rank {victim}")), "rank {rank}, not {victim}: {error}");
    }
    drop(job);
    // Jobs of other tests may be under way, and end.
    let began = Instant::now();
    loop {
        let left = left_behind();
        let new: Vec<_> = left.difference(&before).collect();
        if new.is_empty() {
            return;
        }
        assert!(began.elapsed() < LIMIT, "{new:?} is left behind");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_receiver_that_is_killed_is_named() {
    kill_one("receiver", |job| job.wait_for_receiver().0, &[]);
}

#[test]
fn a_bystander_that_is_killed_is_named() {
    let sleeps = [("VERBCAST_WAIT", "block")];
    kill_one("bystander", |job| job.wait_for_receiver().1, &sleeps);
}

#[test]
fn a_root_that_is_killed_is_named() {
    kill_one("root", |_| 0, &[("VERBCAST_ALGORITHM", "window")]);
}

#[test]
fn a_mate_of_the_root_that_is_killed_is_named() {
    kill_one("mate", |_| 1, &[("VERBCAST_MAC", "on")]);
}

/// What of this crate's is in shared memory, or has a name among sockets.
fn left_behind() -> BTreeSet<String> {
    let files = fs::read_dir("/dev/shm").into_iter().flatten().filter_map(Result::ok);
    let files = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let named = |line: &str| line.split_once("@verbcast-").map(|(_, name)| name.to_owned());
    files.chain(sockets.lines().filter_map(named)).collect()
}
