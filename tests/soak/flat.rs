//! What the process holds of its system, round for round.

use crate::Outcome;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Rounds after which everything that is made once is there.
const WARM: usize = 8;
/// How long what is gone may take to be gone.
const MOMENT: Duration = Duration::from_secs(5);
/// Pages that an allocator may keep more at one time than at another.
const SLACK: u64 = 16 << 20;

/// What was seen after each round of threads.
#[derive(Default)]
pub struct Flat {
    seen: Vec<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    resident: u64,
    locked: u64,
    descriptors: usize,
    threads: u64,
}

impl Held {
    fn is_more_than(&self, other: &Held) -> bool {
        self.locked > other.locked
            || self.descriptors > other.descriptors
            || self.threads > other.threads
    }

    fn now() -> Result<Held, Box<dyn std::error::Error>> {
        let status = fs::read_to_string("/proc/self/status")?;
        let number = |name: &str| -> Result<u64, Box<dyn std::error::Error>> {
            let line =
                status.lines().find_map(|line| line.strip_prefix(name)).ok_or(name.to_owned())?;
            Ok(line.split_whitespace().next().ok_or("a number")?.parse()?)
        };
        Ok(Held {
            resident: number("VmRSS:")? << 10,
            locked: number("VmPin:")? << 10,
            descriptors: fs::read_dir("/proc/self/fd")?.count(),
            threads: number("Threads:")?,
        })
    }
}

impl Flat {
    /// Looks, and says what has grown that never should: what is pinned for devices, descriptors and threads.
    pub fn look(&mut self) -> Outcome {
        let begun = Instant::now();
        let mut now = Held::now()?;
        if let Some(warm) = self.seen.get(WARM) {
            // A thread that was waited for may be there a moment longer.
            while now.is_more_than(warm) && begun.elapsed() < MOMENT {
                thread::sleep(Duration::from_millis(10));
                now = Held::now()?;
            }
            if now.is_more_than(warm) {
                return Err(format!("there is more than before: {now:?}, and {warm:?}").into());
            }
        }
        self.seen.push(now);
        Ok(())
    }

    /// Whether memory has stayed.
    pub fn judge(&self) -> Outcome {
        let warm = self.seen.get(WARM..).unwrap_or_default();
        let third = warm.len() / 3;
        if third < 3 {
            println!("too few rounds to judge whether memory stays");
            return Ok(());
        }
        let (first, last) = (middle(&warm[..third]), middle(&warm[warm.len() - third..]));
        match last > first + first / 10 + SLACK {
            true => Err(format!("memory has grown from {first} to {last} bytes").into()),
            false => Ok(()),
        }
    }

    pub fn in_words(&self) -> String {
        match (self.seen.get(WARM).or(self.seen.first()), self.seen.last()) {
            (Some(first), Some(last)) => format!("held {first:?} and now {last:?}"),
            _ => "nothing was looked at".to_owned(),
        }
    }
}

fn middle(held: &[Held]) -> u64 {
    let mut resident: Vec<_> = held.iter().map(|held| held.resident).collect();
    resident.sort_unstable();
    resident[resident.len() / 2]
}
