//! The ranks of a job: started on this host and watched over, or started by somebody else.

mod child;
pub mod cleanup;
pub mod decide;
mod rank;
pub mod signals;
mod verdict;
mod word;

use crate::failure::Failure;
use crate::units::hex;
use child::Child;
use cleanup::Cleanup;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, DirBuilder, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use verbcast::bootstrap::Environment;
use verbcast_core::rank::Rank;

/// Set in the ranks that a launcher has started: the job's name.
const JOB_VARIABLE: &str = "VERBCAST_LAUNCHED";
/// Between two looks at the ranks.
const TICK: Duration = Duration::from_millis(20);
/// Beyond the configured timeout: what the ranks need to tell one another of a failure.
const GRACE: Duration = Duration::from_secs(10);
/// How long the ranks may take to end when the launcher is asked to end.
const FAREWELL: Duration = Duration::from_secs(3);
/// A Unix socket's path has at most 107 bytes.
const MAX_FOLDER: usize = 90;

/// Whether a launcher has started this process.
pub fn is_child() -> bool {
    child_job_name().is_some()
}

/// The name that the launcher has given to the job, if there is one.
pub fn child_job_name() -> Option<String> {
    std::env::var(JOB_VARIABLE).ok()
}

/// The ranks of a job.
pub struct Job<'a> {
    /// Ranks to start on this host; none: this process is one that somebody else has started.
    pub ranks: Option<u32>,
    pub timeout: Duration,
    /// What is said where a signal ends the job.
    pub interrupted: &'a str,
    /// Whether ranks that somebody else has started find out where to meet if nobody says so.
    pub finds_rendezvous: bool,
    /// Whether rank 0 reads this process's standard input.
    pub reads_stdin: bool,
}

impl Job<'_> {
    /// Whether this process is to start the ranks, rather than being one.
    pub fn is_launcher(&self) -> bool {
        self.ranks.is_some() && !is_child()
    }

    /// Has every rank do `work`, whose outcome at rank 0 is the job's. Returns it in the process that
    /// tells the user: the launcher, or rank 0 where somebody else has started the ranks. `forget`
    /// removes what ranks of the job of that name may have left behind, if they were killed.
    pub fn run<T: Serialize + DeserializeOwned>(
        &self,
        forget: impl FnOnce(&str),
        work: impl FnOnce(&Environment, &Cleanup) -> Result<Option<T>, String>,
    ) -> Result<Option<T>, Failure> {
        match self.ranks {
            Some(ranks) if !is_child() => self.start(ranks, forget).map(Some),
            _ => rank::run(self, work),
        }
    }

    fn start<T: Serialize + DeserializeOwned>(
        &self,
        ranks: u32,
        forget: impl FnOnce(&str),
    ) -> Result<T, Failure> {
        let asked = Arc::new(AtomicUsize::new(0));
        for signal in signals::endings() {
            signal_hook::flag::register_usize(signal, Arc::clone(&asked), signal as usize)
                .map_err(|error| Failure::new(format!("cannot watch signals: {error}")))?;
        }
        let job = random_name().map_err(Failure::new)?;
        let token = random_secret().map_err(Failure::new)?;
        let folder = Folder::create(&job)?;
        let socket = folder.0.join("s");
        let mut children = Vec::new();
        let mut failure = None;
        for rank in (0..ranks).map(Rank) {
            let reads_stdin = self.reads_stdin && rank == Rank(0);
            match Child::start(rank, ranks, (&job, &token), &socket, reads_stdin) {
                Ok(child) => children.push(child),
                Err(error) => {
                    failure = Some(Failure::new(format!("cannot start {rank}: {error}")));
                    break;
                }
            }
        }
        let signal = match failure {
            Some(_) => None,
            None => watch(&mut children, &asked, self.timeout + GRACE),
        };
        if failure.is_some() || signal.is_some() {
            end(&mut children);
        }
        let outcomes: Vec<_> = children.into_iter().map(Child::finish).collect();
        forget(&job);
        drop(folder);
        match (failure, signal) {
            (Some(failure), _) => Err(failure),
            (None, Some(signal)) => {
                Err(Failure { messages: vec![self.interrupted.to_owned()], status: 128 + signal })
            }
            (None, None) => verdict::judge(outcomes),
        }
    }
}

/// Sixteen hexadecimal digits that nobody else has.
pub fn random_name() -> Result<String, String> {
    random::<8>()
}

/// A job's secret, which nobody can guess.
pub fn random_secret() -> Result<String, String> {
    random::<16>()
}

fn random<const LEN: usize>() -> Result<String, String> {
    let mut bytes = [0; LEN];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(|error| format!("cannot read /dev/urandom: {error}"))?;
    Ok(hex(&bytes))
}

/// Waits until every rank has ended. From the first end on, the others have `patience`. Returns
/// the signal if this process is asked to end.
fn watch(children: &mut [Child], asked: &AtomicUsize, patience: Duration) -> Option<u8> {
    let mut first_end = None;
    loop {
        if let Ok(signal @ 1..) = u8::try_from(asked.load(Ordering::Relaxed)) {
            return Some(signal);
        }
        let running =
            children.iter_mut().filter_map(|child| child.is_running().then_some(())).count();
        if running == 0 {
            return None;
        }
        if running < children.len() {
            let since = *first_end.get_or_insert_with(Instant::now);
            if since.elapsed() >= patience {
                for child in &mut *children {
                    child.kill(patience);
                }
            }
        }
        thread::sleep(TICK);
    }
}

/// Ends all ranks: asks them first, so that they remove what they have begun.
fn end(children: &mut [Child]) {
    for child in &mut *children {
        child.release();
    }
    let until = Instant::now() + FAREWELL;
    while children.iter_mut().any(Child::is_running) && Instant::now() < until {
        thread::sleep(TICK);
    }
    for child in children {
        child.kill(FAREWELL);
    }
}

/// A private folder for the rendezvous.
struct Folder(PathBuf);

impl Folder {
    fn create(job: &str) -> Result<Folder, Failure> {
        let mut parent = std::env::temp_dir();
        if parent.as_os_str().as_bytes().len() > MAX_FOLDER - 26 || parent.to_str().is_none() {
            parent = "/tmp".into();
        }
        let path = parent.join(format!("verbcast-{job}"));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", path.display())))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Rank 0 removes its socket, unless it was killed. What is left is empty and private.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_folder_of_the_socket_is_its_owners_alone() {
        let folder = Folder::create(&format!("test-{}", std::process::id())).unwrap();
        let mode = fs::metadata(&folder.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777 & !0o700, 0, "{mode:o}");
        assert!(Folder::create(&format!("test-{}", std::process::id())).is_err(), "it is taken");
    }
}
