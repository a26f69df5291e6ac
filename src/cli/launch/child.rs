//! One rank that the launcher has started.

use super::JOB_VARIABLE;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{self, ChildStdin, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use verbcast_core::rank::Rank;

/// Most bytes of a rank's output that are kept; what comes after is read and dropped.
const MAX_OUTPUT: u64 = 256 << 20;

pub struct Child {
    rank: Rank,
    process: process::Child,
    lifeline: Option<Lifeline>,
    output: JoinHandle<Vec<u8>>,
    complaints: Option<JoinHandle<Vec<u8>>>,
    status: Option<ExitStatus>,
    killed_after: Option<Duration>,
}

/// Held open and never written to: the rank ends when it is closed, however this process ends.
enum Lifeline {
    /// The rank's standard input.
    Pipe { _open: ChildStdin },
    /// Where the rank has connected that reads this process's standard input.
    Socket { _open: UnixListener },
}

/// Where the rank connects that has no pipe as its lifeline, beside the rendezvous.
pub fn lifeline_path(socket: &Path) -> PathBuf {
    socket.with_file_name("life")
}

/// How a rank has ended.
pub struct Outcome {
    pub rank: Rank,
    pub status: Option<ExitStatus>,
    /// How long it was waited for, if the launcher had to kill it.
    pub killed_after: Option<Duration>,
    pub output: Vec<u8>,
    /// Lines on standard error.
    pub complaints: Vec<String>,
}

impl Child {
    pub fn start(
        rank: Rank,
        size: u32,
        (job, token): (&str, &str),
        socket: &Path,
        reads_stdin: bool,
    ) -> io::Result<Child> {
        let listener =
            reads_stdin.then(|| UnixListener::bind(lifeline_path(socket))).transpose()?;
        // Rank 0 draws the progress bar.
        let draws = rank == Rank(0) && io::stderr().is_terminal();
        let mut rendezvous = std::ffi::OsString::from("unix:");
        rendezvous.push(socket);
        let mut process = Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .env(JOB_VARIABLE, job)
            .env("VERBCAST_RANK", rank.0.to_string())
            .env("VERBCAST_SIZE", size.to_string())
            .env("VERBCAST_LOCAL_RANK", rank.0.to_string())
            .env("VERBCAST_RENDEZVOUS", rendezvous)
            .env("VERBCAST_TOKEN", token)
            .env_remove("VERBCAST_TOKEN_FILE")
            .stdin(if reads_stdin { Stdio::inherit() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(if draws { Stdio::inherit() } else { Stdio::piped() })
            .spawn()?;
        let lifeline = match listener {
            Some(listener) => Some(Lifeline::Socket { _open: listener }),
            None => process.stdin.take().map(|pipe| Lifeline::Pipe { _open: pipe }),
        };
        let output = collect(process.stdout.take());
        let complaints = process.stderr.take().map(|stderr| collect(Some(stderr)));
        Ok(Child { rank, process, lifeline, output, complaints, status: None, killed_after: None })
    }

    pub fn is_running(&mut self) -> bool {
        if self.status.is_none() {
            // An error means that somebody else has waited for it: it is gone.
            match self.process.try_wait() {
                Ok(status) => self.status = status,
                Err(_) => return false,
            }
        }
        self.status.is_none()
    }

    /// Asks it to end.
    pub fn release(&mut self) {
        self.lifeline = None;
    }

    /// Ends it, if it has not ended after `waited`.
    pub fn kill(&mut self, waited: Duration) {
        if self.is_running() {
            self.killed_after = Some(waited);
            // It may have ended just now.
            let _ = self.process.kill();
        }
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Outcome {
        let status = match self.status {
            Some(status) => Some(status),
            None => self.process.wait().ok(),
        };
        let complaints = self.complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
        Outcome {
            rank: self.rank,
            status,
            killed_after: self.killed_after,
            output: self.output.join().unwrap_or_default(),
            complaints: BufReader::new(&complaints[..])
                .split(b'\n')
                .map_while(Result::ok)
                .map(|line| String::from_utf8_lossy(&line).into_owned())
                .collect(),
        }
    }
}

/// Reads everything, so that the rank never waits for a reader.
fn collect<R: Read + Send + 'static>(stream: Option<R>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut stream) = stream {
            // What was read before an error is kept.
            let _ = (&mut stream).take(MAX_OUTPUT).read_to_end(&mut kept);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        kept
    })
}
