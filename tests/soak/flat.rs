//! What the process holds of its system, round for round.

use crate::Outcome;
use std::error::Error;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Rounds after which everything that is made once is there.
const WARM: usize = 8;
/// How long what is gone may take to be gone.
const MOMENT: Duration = Duration::from_secs(5);
/// Pages that an allocator may keep more at one time than at another.
const RESIDENT_SLACK: u64 = 16 << 20;
/// Bytes that tables and lists may have grown to later than in the first rounds.
const ALLOCATED_SLACK: u64 = 32 << 10;

/// What was seen after each round of threads.
#[derive(Default)]
pub struct Flat {
    seen: Vec<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// Bytes in all pages.
    resident: u64,
    /// Bytes that Rust and the C libraries have allocated and not freed.
    allocated: u64,
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

    fn now() -> Result<Held, Box<dyn Error>> {
        let status = fs::read_to_string("/proc/self/status")?;
        let number = |name: &str| -> Result<u64, Box<dyn Error>> {
            let line =
                status.lines().find_map(|line| line.strip_prefix(name)).ok_or(name.to_owned())?;
            Ok(line.split_whitespace().next().ok_or("a number")?.parse()?)
        };
        Ok(Held {
            resident: number("VmRSS:")? << 10,
            allocated: allocated(),
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
        let mut now = self.held_now()?;
        if let Some(warm) = self.seen.get(WARM) {
            // A thread that was waited for may be there a moment longer.
            while now.is_more_than(warm) && begun.elapsed() < MOMENT {
                thread::sleep(Duration::from_millis(10));
                now = self.held_now()?;
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
        let (first, last) = (&warm[..third], &warm[warm.len() - third..]);
        stays("resident", first, last, |held| held.resident, RESIDENT_SLACK)?;
        stays("allocated", first, last, |held| held.allocated, ALLOCATED_SLACK)
    }

    /// What is held but for what this keeps of each round.
    fn held_now(&self) -> Result<Held, Box<dyn Error>> {
        let own = self.seen.capacity() * size_of::<Held>();
        let held = Held::now()?;
        Ok(Held { allocated: held.allocated.saturating_sub(own as u64), ..held })
    }

    pub fn in_words(&self) -> String {
        match (self.seen.get(WARM).or(self.seen.first()), self.seen.last()) {
            (Some(first), Some(last)) => format!("held {first:?} and now {last:?}"),
            _ => "nothing was looked at".to_owned(),
        }
    }
}

/// Whether a kind of memory is about what it was in the first rounds.
fn stays(name: &str, first: &[Held], last: &[Held], of: fn(&Held) -> u64, slack: u64) -> Outcome {
    let [first, last] = [first, last].map(|held| middle(held.iter().map(of).collect()));
    match last > first + first / 10 + slack {
        true => Err(format!("{name} memory has grown from {first} to {last} bytes").into()),
        false => Ok(()),
    }
}

fn middle(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

/// Bytes of the C library's allocator, which is Rust's here too. It counts what threads keep of freed memory for themselves, up to
/// 0.24 MB each, unless `GLIBC_TUNABLES` says `glibc.malloc.tcache_count=0`.
fn allocated() -> u64 {
    // SAFETY: it takes no arguments, and reads the allocator's counters under the allocator's locks.
    let all = unsafe { libc::mallinfo2() };
    (all.uordblks + all.hblkhd) as u64
}
