//! 19: 16-byte writes seen while they land.

use super::ARRIVAL;
use crate::doctor::cells;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Lab, Line};
use crate::doctor::site::Site;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 19,
    expected: "what is accepted by its check word was written, and the last write is seen",
    bound: Duration::from_secs(20),
    attempt,
};

const WRITES: u64 = 2000;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let (mut writer, mut reader) = (Line::new(&lab)?, Line::new(&lab)?);
    writer.connect(&reader.end(), 1)?;
    reader.connect(&writer.end(), 1)?;
    let (to, ended) = (reader.end(), AtomicBool::new(false));
    let seen = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = cells::Seen::default();
            while !ended.load(Ordering::Acquire) {
                seen.look(&reader.writable);
            }
            seen.look(&reader.writable);
            seen
        });
        let written = (1..=WRITES).try_for_each(|number| {
            writer.own.write(0, &cells::cell(number));
            let (span, id) = (writer.own.span(0, cells::LEN), writer.number());
            let queued = writer.qp.write_from(&span, to.write(), id);
            queued.map_err(|error| error.to_string())?;
            writer.settle(ARRIVAL).map(|_| ())
        });
        ended.store(true, Ordering::Release);
        let seen = watcher.join().map_err(|_| "the watcher failed".to_owned());
        written.and(seen)
    })?;
    Ok(seen.judge(WRITES))
}
