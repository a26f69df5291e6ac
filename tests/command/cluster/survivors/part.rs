//! What a rank of a job does to which something happens: it meets the others, broadcasts, and leaves, and says how that
//! ended.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use verbcast::{Broadcaster, Config, Environment, Rank, Star};

/// What a process is told that is a rank of such a job: the phase, the root, the rank that comes late to it, the folder.
pub const VARIABLE: &str = "VERBCAST_SURVIVOR";
/// The test that is a rank.
pub const SELF: &str = "cluster::survivors::part::of_a_rank";

/// What a rank writes when it is in the phase, or about to be.
pub const THERE: &str = "there";
/// What a rank writes in the end, with how it ended.
pub const ENDED: &str = "ended";
/// How a rank ends to which nothing happened.
pub const UNHARMED: &str = "unharmed";
/// What is there once the host was struck: who comes late to a phase comes now.
pub const STRUCK: &str = "struck";
/// What is there once broadcasts shall end.
pub const OVER: &str = "over";

/// Bytes of each message.
const LEN: usize = 20_000;
/// Broadcasts after which all ranks are where broadcasts are under way.
const SOME: u32 = 20;
/// How long a rank may wait for what the driver of the job does.
const PATIENCE: Duration = Duration::from_secs(240);

/// When a host is struck; while ranks leave, with the last broadcast before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    SetUp,
    Broadcast,
    Close,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::SetUp, Phase::Broadcast, Phase::Close];

    pub fn name(self) -> &'static str {
        match self {
            Phase::SetUp => "set-up",
            Phase::Broadcast => "broadcast",
            Phase::Close => "close",
        }
    }
}

struct Part {
    phase: Phase,
    root: Rank,
    rank: Rank,
    is_late: bool,
    folder: PathBuf,
}

/// Writes a file whole or not at all, which another kernel sees.
fn put(path: &Path, what: &str) -> std::io::Result<()> {
    let part = path.with_extension("part");
    fs::write(&part, what)?;
    fs::rename(part, path)
}

impl Part {
    fn from_env(environment: &Environment) -> Option<Part> {
        let told = env::var(VARIABLE).ok()?;
        let [phase, root, late, folder] = told.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            panic!("{VARIABLE} is '{told}'")
        };
        let phase = Phase::ALL.into_iter().find(|one| one.name() == phase).unwrap();
        let (root, rank) = (Rank(root.parse().unwrap()), environment.rank);
        let is_late = late.parse() == Ok(rank.0);
        Some(Part { phase, root, rank, is_late, folder: folder.into() })
    }

    /// Where a rank says something of itself.
    fn path(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{what}-{}", self.rank.0))
    }

    /// Is in a phase, if it is the one in question: says so, and waits if it comes late to it.
    fn enter(&self, phase: Phase) -> Result<(), Box<dyn Error>> {
        if phase != self.phase {
            return Ok(());
        }
        put(&self.path(THERE), "")?;
        let began = Instant::now();
        while self.is_late && !self.folder.join(STRUCK).exists() {
            if began.elapsed() > PATIENCE {
                return Err("no host was struck".into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Broadcasts from 0 on until the root says that it was the last.
    fn broadcast(&self, broadcaster: &mut Broadcaster) -> Result<(), Box<dyn Error>> {
        let mut message = vec![0; LEN];
        for number in 0.. {
            let expected = number as u8;
            if number == SOME {
                self.enter(Phase::Close)?;
            }
            if self.rank == self.root {
                message.fill(expected);
                message[0] = u8::from(self.is_last(number));
            }
            broadcaster.broadcast_into(self.root, &mut message)?;
            if message[1..].iter().any(|&byte| byte != expected) {
                return Err(format!("wrong bytes in message {number}").into());
            }
            if message[0] != 0 {
                return Ok(());
            }
            if number == SOME {
                self.enter(Phase::Broadcast)?;
            }
        }
        unreachable!("the root ends it")
    }

    fn is_last(&self, number: u32) -> bool {
        match self.phase {
            Phase::Broadcast => number > SOME && self.folder.join(OVER).exists(),
            Phase::SetUp | Phase::Close => number == SOME,
        }
    }

    fn play(&self, environment: &Environment) -> Result<(), Box<dyn Error>> {
        let config = Config::from_env()?;
        self.enter(Phase::SetUp)?;
        let mut bootstrap = Star::join(environment, config.device.timeout)?;
        let mut broadcaster = Broadcaster::new(&mut bootstrap, &config)?;
        self.broadcast(&mut broadcaster)?;
        broadcaster.close()?;
        Ok(())
    }
}

/// Not a test of its own: a rank, if this process is one.
#[test]
fn of_a_rank() {
    let Some(environment) = Environment::from_env().unwrap() else { return };
    let Some(part) = Part::from_env(&environment) else { return };
    let outcome = match part.play(&environment) {
        Ok(()) => UNHARMED.to_owned(),
        Err(error) => error.to_string(),
    };
    put(&part.path(ENDED), &outcome).unwrap();
}
