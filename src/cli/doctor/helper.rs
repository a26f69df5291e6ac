//! A second process of this host, started by itself: receives beside this one, or answers until it is killed.

use super::args::Assist;
use super::group::Group;
use super::lab::{Arrival, Lab, Line, LineEnd};
use super::site::Site;
use crate::failure::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// A helper ends after this time, whatever happens.
const LIFE: Duration = Duration::from_secs(60);
/// How long a helper may take to answer.
const ANSWER: Duration = Duration::from_secs(15);
/// How long it listens after it was told to.
const LISTEN: Duration = Duration::from_secs(2);

/// What a helper that listens has heard.
#[derive(Serialize, Deserialize)]
pub struct Heard {
    pub datagrams: usize,
}

/// A helper, which is killed when this is dropped.
pub struct Helper {
    child: Child,
    to: ChildStdin,
    from: Receiver<String>,
}

impl Helper {
    /// Starts one for the site's device.
    pub fn start(site: &Site, task: Assist) -> Result<Helper, String> {
        let named = |error: io::Error| format!("cannot start a second process: {error}");
        let mut child = Command::new(std::env::current_exe().map_err(named)?)
            .args(["doctor", "--assist", task.name(), "--device", &site.device])
            .env("VERBCAST_PORT", site.port.to_string())
            .env("VERBCAST_GID_INDEX", site.gid_index.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(named)?;
        let pipes = (child.stdin.take(), child.stdout.take());
        let (Some(to), Some(from)) = pipes else {
            return Err("a second process has no pipes".to_owned());
        };
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Helper { child, to, from: receiver })
    }

    pub fn say(&mut self, value: &impl Serialize) -> Result<(), String> {
        write_line(&mut self.to, value)
    }

    pub fn hear<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let line = self.from.recv_timeout(ANSWER);
        let line = line.map_err(|_| "the second process does not answer".to_owned())?;
        let answer: Result<T, String> = read_line(&line)?;
        answer.map_err(|what| format!("in the second process: {what}"))
    }

    /// Ends it without a farewell.
    pub fn kill(&mut self) -> Result<(), String> {
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(|_| ()).map_err(|error| format!("cannot kill the second process: {error}"))
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.kill();
    }
}

fn write_line(to: &mut impl Write, value: &impl Serialize) -> Result<(), String> {
    let mut line = serde_json::to_vec(value).map_err(|error| error.to_string())?;
    line.push(b'\n');
    to.write_all(&line)
        .and_then(|()| to.flush())
        .map_err(|error| format!("the other process is gone: {error}"))
}

fn read_line<T: DeserializeOwned>(line: &str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| format!("the other process says {line:?}: {error}"))
}

/// This process as a helper.
pub fn assist(task: Assist, site: Result<Site, String>) -> Result<(), Failure> {
    thread::spawn(|| {
        thread::sleep(LIFE);
        std::process::exit(1);
    });
    let done = site.and_then(|site| match task {
        Assist::Listen => listen(&site),
        Assist::Answer => answer(&site),
    });
    done.or_else(|what| tell::<()>(Err(what))).map_err(Failure::new)
}

fn tell<T: Serialize>(value: Result<T, String>) -> Result<(), String> {
    write_line(&mut io::stdout(), &value)
}

fn ask<T: DeserializeOwned>() -> Result<T, String> {
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
    read_line(&line)
}

/// Receives in a group, and says how much has come.
fn listen(site: &Site) -> Result<(), String> {
    let group: Group = ask()?;
    let lab = Lab::open(site)?;
    let joined = lab.join(group)?;
    let (mut mailbox, _attachment) = lab.member(&joined, 16)?;
    mailbox.post(16)?;
    tell(Ok(()))?;
    // As soon as all was sent.
    let () = ask()?;
    let until = Instant::now() + LISTEN;
    let mut datagrams = 0;
    while let Some(arrival) = mailbox.receive(until.saturating_duration_since(Instant::now()))? {
        datagrams += usize::from(matches!(arrival, Arrival::Datagram(_)));
    }
    tell(Ok(Heard { datagrams }))
}

/// Connects, and then does nothing until it is killed or not needed any more.
fn answer(site: &Site) -> Result<(), String> {
    let lab = Lab::open(site)?;
    let mut line = Line::new(&lab)?;
    tell(Ok(line.end()))?;
    let other: LineEnd = ask()?;
    line.connect(&other, 1)?;
    tell(Ok(()))?;
    // The other process closes its end, or kills this one.
    let _ = io::stdin().read_line(&mut String::new());
    Ok(())
}
