//! The file of a process's timeline, in the trace event format of Chrome, which Perfetto reads, too: a list of events, one
//! on each line, that needs no end, so that what a process wrote before it was killed can be read.

use super::TraceError;
use crate::bootstrap::Environment;
use serde::Serialize;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The version of what verbcast puts into such files. It stands in the first event's arguments.
pub const FORMAT: u32 = 2;

/// Nanoseconds after which what is buffered is written, at the latest with the next event.
const FLUSHED_AFTER: u64 = 1_000_000_000;

/// Bytes that are written at once.
const BUFFER: usize = 64 << 10;

/// Whose timeline it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its rank and the size of the job, where a launcher has told them.
    pub place: Option<(u32, u32)>,
    /// The name of its host.
    pub host: String,
    /// Names the boot of its kernel: processes with the same one have the same clock.
    pub boot: String,
    /// Its number on its host.
    pub number: u32,
}

impl Process {
    /// This process.
    pub fn this() -> Process {
        let environment = Environment::from_env().ok().flatten();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Process {
            place: environment.map(|environment| (environment.rank.0, environment.size)),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: boot.trim().to_owned(),
            number: std::process::id(),
        }
    }

    /// What it is called in a picture.
    pub fn name(&self) -> String {
        match self.place {
            Some((rank, _)) => format!("rank {rank} on {}", self.host),
            None => format!("process {} on {}", self.number, self.host),
        }
    }

    /// A number that tells it from the others of its job.
    pub fn id(&self) -> u32 {
        self.place.map_or(self.number, |(rank, _)| rank)
    }

    fn file_name(&self) -> String {
        match self.place {
            Some((rank, _)) => format!("rank-{rank:05}.json"),
            None => format!("{}-{}.json", self.host, self.number),
        }
    }

    /// The first event: the process's name, and what its times mean.
    fn introduction(&self, now: u64) -> Value {
        let (rank, size) = self.place.unzip();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        json!({
            "name": "process_name",
            "ph": "M",
            "pid": self.id(),
            "args": {
                "name": self.name(),
                "verbcast": FORMAT,
                "rank": rank,
                "size": size,
                "host": self.host,
                "boot": self.boot,
                "now_ns": now,
                "wall_ns": since.as_nanos() as u64,
            },
        })
    }
}

/// The file. It is made with the first event, as a process that only starts ranks has nothing to tell.
#[derive(Debug)]
pub(super) struct EventFile {
    path: PathBuf,
    process: Process,
    file: Option<BufWriter<File>>,
    flushed: u64,
    has_failed: bool,
}

impl EventFile {
    /// The file of a process in a folder, which is made if it does not exist.
    pub fn new(folder: &Path, process: Process) -> Result<EventFile, TraceError> {
        fs::create_dir_all(folder).map_err(|error| TraceError::File(folder.to_owned(), error))?;
        let path = folder.join(process.file_name());
        Ok(EventFile { path, process, file: None, flushed: 0, has_failed: false })
    }

    /// Adds an event. After a failure, which is told once, nothing more is written.
    pub fn add(&mut self, now: u64, event: &impl Serialize) {
        if self.has_failed {
            return;
        }
        let added = self.open(now).and_then(|file| {
            file.write_all(b",\n")?;
            Ok(serde_json::to_writer(file, event)?)
        });
        self.tell(added);
        if now.saturating_sub(self.flushed) > FLUSHED_AFTER {
            self.flush(now);
        }
    }

    /// Writes what is buffered.
    pub fn flush(&mut self, now: u64) {
        self.flushed = now;
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        self.tell(flushed);
    }

    fn open(&mut self, now: u64) -> io::Result<&mut BufWriter<File>> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let mut file = BufWriter::with_capacity(BUFFER, File::create(&self.path)?);
                write!(file, "[\n{}", self.process.introduction(now))?;
                file
            }
        };
        Ok(self.file.insert(file))
    }

    fn tell(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome
            && !self.has_failed
        {
            self.has_failed = true;
            let path = self.path.display();
            // There is nobody left to tell if standard error is closed.
            let _ = writeln!(io::stderr(), "verbcast: cannot write {path}: {error}");
        }
    }
}
