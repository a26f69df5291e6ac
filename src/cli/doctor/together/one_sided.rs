//! Writes and reads between the first two ranks.

use super::{Circle, Part};
use crate::doctor::bounded::step;
use crate::doctor::cells::{self, Seen};
use crate::doctor::finding::{Finding, Outcome, Tried};
use crate::doctor::lab::{Line, LineEnd};
use crate::doctor::packets::{self, Counts};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Writes at most, and how long the writer goes on with them.
const WRITES: u64 = 2000;
const WRITING: Duration = Duration::from_secs(4);
const READS: u32 = 300;
/// How long the owner goes on rewriting.
const REWRITING: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);

/// What rank 0 says of an attempt.
#[derive(Serialize, Deserialize)]
struct Verdict {
    outcome: Outcome,
    came: String,
    advice: Option<String>,
}

impl Verdict {
    fn of(Tried { outcome, came, advice }: Tried) -> Verdict {
        Verdict { outcome, came, advice }
    }

    fn tried(self) -> Tried {
        Tried { outcome: self.outcome, came: self.came, advice: self.advice }
    }
}

pub const PART: Part = Part {
    tries: [
        (19, "what is accepted by its check word was written, and the last write is seen"),
        (20, "what is read during a rewrite is whole, or found to be replaced"),
    ],
    attempt,
};

fn attempt(circle: &mut Circle<'_>) -> Vec<Finding> {
    step("writes and reads between the first two ranks");
    let refused = |what| {
        Tried::broken(what, "do reliable connections work between these hosts (ib_write_bw)?")
    };
    let (writes, reads) = match connected(circle) {
        Err(what) => (refused(what), Tried::not_tried("the above first")),
        Ok(mut connection) => {
            let writes = written(circle, connection.as_mut());
            let reads = told(circle, |me| read(me, connection.as_mut()));
            (writes.unwrap_or_else(refused), reads.unwrap_or_else(refused))
        }
    };
    PART.findings([writes, reads])
}

/// The own line and the other's end, at the first two ranks.
fn connected(circle: &mut Circle<'_>) -> Result<Option<(Line, LineEnd)>, String> {
    let me = circle.me().index();
    let line = (me < 2).then(|| Line::new(&circle.lab)).transpose();
    let (own, line) = match line {
        Ok(line) => (Ok(line.as_ref().map(Line::end)), line),
        Err(what) => (Err(what), None),
    };
    let ends = circle.gather::<Option<LineEnd>>(own)?;
    let connection = line.zip(ends[1 - me.min(1)]);
    let connection = connection.map(|(mut line, other)| {
        line.keep(&packets::packet(0, circle.mtu));
        line.connect(&other, 1).map(|()| (line, other))
    });
    let (outcome, connection) = match connection.transpose() {
        Ok(connection) => (Ok(()), connection),
        Err(what) => (Err(what), None),
    };
    circle.barrier(outcome)?;
    Ok(connection)
}

/// What came of an attempt, as rank 0 saw it.
fn told(
    circle: &mut Circle<'_>,
    attempt: impl FnOnce(&Circle<'_>) -> Result<Option<Tried>, String>,
) -> Result<Tried, String> {
    let own = attempt(circle).map(|tried| tried.map(Verdict::of));
    let verdicts = circle.gather::<Option<Verdict>>(own)?;
    let first = verdicts.into_iter().next().flatten();
    first.map(Verdict::tried).ok_or_else(|| "rank 0 saw nothing".to_owned())
}

/// Rank 1 writes numbers into the memory of rank 0, which looks meanwhile, and once more when it has heard how many there
/// were: how fast they come is another matter.
fn written(
    circle: &mut Circle<'_>,
    mut connection: Option<&mut (Line, LineEnd)>,
) -> Result<Tried, String> {
    let (me, begun) = (circle.me().0, Instant::now());
    let mut seen = Seen::default();
    let own = match connection.as_deref_mut() {
        Some((line, _)) if me == 0 => {
            while seen.last() < WRITES && begun.elapsed() < WRITING {
                seen.look(&line.writable);
            }
            Ok(None)
        }
        Some((line, other)) => write(line, other, begun).map(Some),
        None => Ok(None),
    };
    let written = circle.gather::<Option<u64>>(own)?.into_iter().flatten().next();
    told(circle, |_| {
        let watched = connection.as_ref().filter(|_| me == 0);
        Ok(watched.zip(written).map(|((line, _), written)| {
            seen.look(&line.writable);
            seen.judge(written)
        }))
    })
}

/// Writes numbers one after the other; how many.
fn write(line: &mut Line, other: &LineEnd, begun: Instant) -> Result<u64, String> {
    for number in 1..=WRITES {
        line.own.write(0, &cells::cell(number));
        let (span, id) = (line.own.span(0, cells::LEN), line.number());
        let queued = line.qp.write_from(&span, other.write(), id);
        queued.map_err(|error| error.to_string())?;
        line.settle(PATIENCE)?;
        if begun.elapsed() >= WRITING {
            return Ok(number);
        }
    }
    Ok(WRITES)
}

/// Rank 0 reads what rank 1 goes on rewriting.
fn read(
    circle: &Circle<'_>,
    connection: Option<&mut (Line, LineEnd)>,
) -> Result<Option<Tried>, String> {
    let Some((line, other)) = connection else { return Ok(None) };
    let begun = Instant::now();
    if circle.me().0 == 1 {
        let mut number = 0;
        while begun.elapsed() < REWRITING {
            number += 1;
            line.keep(&packets::packet(number, circle.mtu));
        }
        return Ok(None);
    }
    let mut counts = Counts::default();
    for _ in 0..READS {
        if begun.elapsed() >= REWRITING {
            break;
        }
        counts.add(&line.read_kept(other, circle.mtu, PATIENCE)?);
    }
    Ok(Some(counts.judge()))
}
