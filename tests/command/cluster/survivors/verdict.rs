//! How the ranks of a job ended, and whether that is good.

use super::job::Job;
use super::part::{Phase, UNHARMED};
use super::{ACK_TIMEOUT, TIMEOUT};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::{Duration, Instant};

/// When everybody must have ended who is left: the adapter's patience may be twice what was asked for (each of its attempts
/// is a power of two long), after which a step or leaving takes its time once more; and these are emulated machines.
const BOUND: Duration = Duration::from_secs(2 * ACK_TIMEOUT.as_secs() + 2 * TIMEOUT.as_secs() + 10);

/// How ranks ended so far that are left, and when.
pub struct Ends<'a> {
    job: &'a Job,
    ended: BTreeMap<u32, (String, Duration)>,
}

impl<'a> Ends<'a> {
    pub fn of(job: &'a Job) -> Ends<'a> {
        Ends { job, ended: BTreeMap::new() }
    }

    /// Looks who has ended meanwhile.
    pub fn look(&mut self, began: Instant) {
        for rank in self.job.survivors() {
            if let (false, Some(how)) = (self.ended.contains_key(&rank), self.job.end_of(rank)) {
                self.ended.insert(rank, (how, began.elapsed()));
            }
        }
    }

    /// Whether all ranks have ended that are left.
    pub fn are_all(&self) -> bool {
        self.ended.len() == self.job.survivors().count()
    }
}

enum Verdict {
    Good { unharmed: usize, longest: Duration, errors: BTreeSet<String> },
    Bad(String),
}

/// What came of one job.
pub struct Row {
    place: &'static str,
    run: u32,
    verdict: Verdict,
}

impl Row {
    pub fn is_good(&self) -> bool {
        matches!(self.verdict, Verdict::Good { .. })
    }

    fn is_unharmed(&self) -> bool {
        matches!(&self.verdict, Verdict::Good { errors, .. } if errors.is_empty())
    }

    pub fn new(job: &Job, ends: Ends, phase: Phase, run: u32) -> Row {
        Row { place: job.place.name(), run, verdict: judge(job, &ends, phase) }
    }
}

/// Each rank goes on unharmed, or ends in time with an error that names a rank of the host. In the midst of broadcasts all do
/// the same, and say the same; where these begin or have ended meanwhile, some may have left before.
fn judge(job: &Job, ends: &Ends, phase: Phase) -> Verdict {
    let all = || format!("{:?}", ends.ended);
    if !ends.are_all() {
        return Verdict::Bad(format!("some go on for ever: {}", all()));
    }
    let gone = job.struck();
    let (unharmed, failed): (Vec<_>, Vec<_>) =
        ends.ended.values().partition(|(how, _)| how == UNHARMED);
    if !failed.iter().all(|(how, _)| gone.iter().any(|rank| is_named(how, *rank))) {
        return Verdict::Bad(format!("not all name the host: {}", all()));
    }
    if phase == Phase::Broadcast && !unharmed.is_empty() && !failed.is_empty() {
        return Verdict::Bad(format!("some are unharmed and some are not: {}", all()));
    }
    let longest = failed.iter().map(|(_, when)| *when).max().unwrap_or_default();
    if longest > BOUND {
        return Verdict::Bad(format!("after more than {BOUND:?}: {}", all()));
    }
    let errors: BTreeSet<_> = failed.iter().map(|(how, _)| how.clone()).collect();
    if phase == Phase::Broadcast && errors.len() > 1 {
        return Verdict::Bad(format!("they do not say the same: {}", all()));
    }
    Verdict::Good { unharmed: unharmed.len(), longest, errors }
}

/// Whether an error names a rank, alone or among others.
fn is_named(error: &str, rank: u32) -> bool {
    ["rank", "ranks", "and"].iter().any(|before| error.contains(&format!("{before} {rank}")))
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | run {}: ", self.place, self.run)?;
        match &self.verdict {
            Verdict::Good { errors, .. } if errors.is_empty() => write!(f, "unharmed"),
            Verdict::Good { unharmed, longest, errors } => {
                write!(f, "{unharmed} unharmed, the others within {longest:.1?}: {errors:?}")
            }
            Verdict::Bad(what) => write!(f, "BAD: {what}"),
        }
    }
}

/// # Panics
/// If one is not.
pub fn assert_good(rows: &[Row]) {
    assert_all(rows, Row::is_good);
}

/// # Panics
/// If anything came of one.
pub fn assert_unharmed(rows: &[Row]) {
    assert_all(rows, Row::is_unharmed);
}

fn assert_all(rows: &[Row], is_so: impl Fn(&Row) -> bool) {
    let others: Vec<_> = rows.iter().filter(|row| !is_so(row)).map(ToString::to_string).collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
}
