//! What one rank does in a few functions, for Callgrind to count their instructions: turns without work, and broadcasts
//! that wait for nothing. The real library on a real device; `ci/ledger` runs it, one of two ranks under Callgrind.
//!
//! The other rank is not in a call meanwhile. What a leaf receives has come before it calls, and the root has room for
//! all that it sends, so that no turn is idle where broadcasts are counted.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;
use verbcast::bootstrap::Bootstrap;
use verbcast::{Broadcaster, Config, Environment, Rank, Star};

/// Turns without work.
const TURNS: u32 = 1000;
/// Broadcasts of 8 bytes: fewer than there are slots and receives, and more than a root sends without a look.
const MESSAGES: usize = 64;
/// Bytes of a message of 16 packets of 4 KiB, and of one with 48 more.
const LONG: usize = 16 * 4096;
const LONGER: usize = 64 * 4096;
const ROOT: Rank = Rank(0);
/// Until what was sent has come.
const PAUSE: Duration = Duration::from_secs(1);

type Outcome = Result<(), Box<dyn Error>>;

#[inline(never)]
fn counted_idle_turns(broadcaster: &mut Broadcaster) -> Outcome {
    for _ in 0..TURNS {
        broadcaster.progress()?;
    }
    Ok(())
}

#[inline(never)]
fn counted_short_messages(broadcaster: &mut Broadcaster) -> Outcome {
    for _ in 0..MESSAGES {
        broadcaster.broadcast_into(ROOT, &mut [1; 8])?;
    }
    Ok(())
}

#[inline(never)]
fn counted_long_message(broadcaster: &mut Broadcaster, message: &mut [u8]) -> Outcome {
    Ok(broadcaster.broadcast_into(ROOT, message)?)
}

#[inline(never)]
fn counted_longer_message(broadcaster: &mut Broadcaster, message: &mut [u8]) -> Outcome {
    // Otherwise the compiler would merge the two functions.
    assert_eq!(message.len(), LONGER);
    Ok(broadcaster.broadcast_into(ROOT, message)?)
}

/// Has the root do something, and then the leaf, which takes nothing of it before: both have ended what they did.
fn in_turn(star: &mut Star, is_root: bool, mut what: impl FnMut() -> Outcome) -> Outcome {
    star.all_gather(&[])?;
    for turn in [true, false] {
        if is_root == turn {
            what()?;
            sleep(PAUSE);
        }
        star.all_gather(&[])?;
    }
    Ok(())
}

fn main() -> Outcome {
    verbcast::trace::from_env("off")?;
    let config = Config::from_env()?;
    let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
    let mut star = Star::join(&environment, config.device.timeout)?;
    let mut broadcaster = Broadcaster::new(&mut star, &config)?;
    let is_root = broadcaster.rank() == ROOT;
    let (mut message, mut longer) = (vec![1; LONG], vec![1; LONGER]);
    // The first of everything takes more: connections are made, and maps grow.
    for _ in 0..3 {
        broadcaster.broadcast_into(ROOT, &mut [1; 8])?;
        broadcaster.broadcast_into(ROOT, &mut message)?;
        broadcaster.broadcast_into(ROOT, &mut longer)?;
        broadcaster.flush()?;
    }
    in_turn(&mut star, is_root, || counted_idle_turns(&mut broadcaster))?;
    in_turn(&mut star, is_root, || counted_short_messages(&mut broadcaster))?;
    broadcaster.flush()?;
    in_turn(&mut star, is_root, || counted_long_message(&mut broadcaster, &mut message))?;
    broadcaster.flush()?;
    in_turn(&mut star, is_root, || counted_longer_message(&mut broadcaster, &mut longer))?;
    broadcaster.close()?;
    Ok(())
}
