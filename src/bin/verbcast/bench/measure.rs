//! The measurements: a slice of broadcasts by one contender.

use super::contender::Contender;
use super::control::Word;
use super::lab::Lab;
use super::log::Log;
use crate::results::Test;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::ops::Range;
use verbcast::rank::Rank;

/// Does the broadcasts `slice` of a run, and returns when all ranks have done them and owe nothing. `skew`
/// is the mean delay of the receivers in nanoseconds. Collective.
pub fn measure(
    lab: &mut Lab<'_>,
    (test, skew): (Test, Option<u64>),
    contender: &mut dyn Contender,
    message: &mut [u8],
    slice: Range<u64>,
    log: &mut Log,
) -> Result<(), String> {
    let before = contender.counters();
    lab.barrier(contender)?;
    log.iterations += slice.end - slice.start;
    match test {
        Test::Acknowledge => acknowledge(lab, contender, message, slice, log),
        Test::Osu => osu(lab, contender, message, slice, log),
        Test::Clock => clock(lab, contender, message, slice, log),
        Test::Throughput => throughput(lab, contender, message, slice, log),
        Test::Skew => late(lab, contender, message, slice, skew.unwrap_or(0), log),
    }?;
    lab.settle(contender)?;
    log.counters += contender.counters().since(before);
    Ok(())
}

/// Liu 2004, section 6.2: after each broadcast, one receiver after the other acknowledges it to the root,
/// which counts the time up to then, less the latency of the acknowledgement.
fn acknowledge(
    lab: &mut Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
    slice: Range<u64>,
    log: &mut Log,
) -> Result<(), String> {
    for broadcast in slice {
        let root = lab.root.of(broadcast, lab.ranks);
        let turn = (broadcast % u64::from(lab.ranks - 1)) as u32;
        let receiver = Rank((root.0 + 1 + turn) % lab.ranks);
        let began = lab.control.now();
        let is_here = log.broadcast(contender, root, message)?;
        if lab.me() == root {
            let came = lab.hear(receiver, Word::Acknowledge, contender)?;
            let taken = lab.control.now() - began;
            if came == 1 {
                log.histogram.record(taken.saturating_sub(lab.clock.latency));
            }
        } else if lab.me() == receiver {
            lab.control.tell(root, Word::Acknowledge, u64::from(is_here))?;
        }
    }
    Ok(())
}

/// As `osu_bcast`: each rank counts its own time in each broadcast, and a barrier follows.
fn osu(
    lab: &mut Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
    slice: Range<u64>,
    log: &mut Log,
) -> Result<(), String> {
    for broadcast in slice {
        let root = lab.root.of(broadcast, lab.ranks);
        let began = lab.control.now();
        if log.broadcast(contender, root, message)? {
            log.histogram.record(lab.control.now() - began);
        }
        lab.barrier(contender)?;
    }
    Ok(())
}

/// Hoefler 2007, section 4.3: the time from the root's call to each rank's return. The ranks learn after the
/// broadcast when it began.
fn clock(
    lab: &mut Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
    slice: Range<u64>,
    log: &mut Log,
) -> Result<(), String> {
    for broadcast in slice {
        let root = lab.root.of(broadcast, lab.ranks);
        lab.barrier(contender)?;
        let mut began = lab.now();
        let is_here = log.broadcast(contender, root, message)?;
        let ended = lab.now();
        if lab.me() == root {
            for other in (0..lab.ranks).map(Rank).filter(|rank| *rank != root) {
                lab.control.tell(other, Word::Began, began)?;
            }
        } else {
            began = lab.hear(root, Word::Began, contender)?;
        }
        if is_here {
            // Clocks that disagree by more than the broadcast took make it look like none.
            log.histogram.record(ended.wrapping_sub(began).cast_signed().max(0).cast_unsigned());
        }
    }
    Ok(())
}

/// Liu 2004, section 6.3: as many broadcasts as the ranks can do, up to the last that came here.
fn throughput(
    lab: &mut Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
    slice: Range<u64>,
    log: &mut Log,
) -> Result<(), String> {
    let count = slice.end - slice.start;
    let began = lab.control.now();
    let mut ended = began;
    for broadcast in slice {
        let root = lab.root.of(broadcast, lab.ranks);
        if log.broadcast(contender, root, message)? {
            ended = lab.control.now();
        }
    }
    log.nanos += ended - began;
    if count > 0 && ended > began {
        log.histogram.record((ended - began) / count);
    }
    Ok(())
}

/// Liu 2004, section 6.4: after a barrier the receivers delay, each at random, and every rank counts its
/// time in the broadcast.
fn late(
    lab: &mut Lab<'_>,
    contender: &mut dyn Contender,
    message: &mut [u8],
    slice: Range<u64>,
    skew: u64,
    log: &mut Log,
) -> Result<(), String> {
    for broadcast in slice {
        let root = lab.root.of(broadcast, lab.ranks);
        lab.barrier(contender)?;
        if lab.me() != root {
            delay(lab, draw(lab.seed, lab.me(), broadcast, skew));
        }
        let began = lab.control.now();
        if log.broadcast(contender, root, message)? {
            log.histogram.record(lab.control.now() - began);
        }
    }
    Ok(())
}

/// Computes, as a program would, without keeping others from it that have to share a core.
fn delay(lab: &Lab<'_>, nanos: u64) {
    let until = lab.control.now() + nanos;
    while lab.control.now() < until {
        std::thread::yield_now();
    }
}

/// The delay of a rank before a broadcast: the same for every contender, even from none to twice the mean.
fn draw(seed: u64, rank: Rank, broadcast: u64, mean: u64) -> u64 {
    let mut generator = ChaCha8Rng::seed_from_u64(seed.wrapping_add(broadcast));
    generator.set_stream(u64::from(rank.0));
    let share = f64::from(generator.next_u32()) / f64::from(u32::MAX);
    (2.0 * share * mean as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_repeat_and_have_their_mean() {
        let all: Vec<u64> = (0..10_000).map(|at| draw(7, Rank(3), at, 400_000)).collect();
        let mean = all.iter().sum::<u64>() / 10_000;
        assert!((390_000..410_000).contains(&mean), "{mean}");
        assert!(all.iter().all(|nanos| *nanos <= 800_000));
        assert_eq!(draw(7, Rank(3), 5, 400_000), all[5]);
        assert_ne!(draw(7, Rank(4), 5, 400_000), all[5]);
        assert_eq!(draw(7, Rank(3), 5, 0), 0);
    }
}
