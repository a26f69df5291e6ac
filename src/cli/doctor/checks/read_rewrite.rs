//! 20: a read during a rewrite.

use super::ARRIVAL;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Lab, Line};
use crate::doctor::packets;
use crate::doctor::site::Site;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 20,
    expected: "what is read during a rewrite is whole, or found to be replaced",
    bound: Duration::from_secs(25),
    attempt,
};

const READS: u32 = 300;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let (mut reader, mut owner) = (Line::new(&lab)?, Line::new(&lab)?);
    reader.connect(&owner.end(), 1)?;
    owner.connect(&reader.end(), 1)?;
    owner.keep(&packets::packet(0, site.mtu));
    let (from, ended) = (owner.end(), AtomicBool::new(false));
    let counts = thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !ended.load(Ordering::Acquire) {
                number += 1;
                owner.keep(&packets::packet(number, site.mtu));
            }
        });
        let mut counts = packets::Counts::default();
        let read = (0..READS).try_for_each(|_| {
            counts.add(&reader.read_kept(&from, site.mtu, ARRIVAL)?);
            Ok::<(), String>(())
        });
        ended.store(true, Ordering::Release);
        read.map(|()| counts)
    })?;
    Ok(counts.judge())
}
