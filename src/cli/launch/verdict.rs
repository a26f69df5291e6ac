//! What became of all ranks, in as few words as possible.

use super::child::Outcome;
use super::word::Word;
use crate::failure::Failure;
use crate::message::decode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use verbcast::bootstrap::name_ranks;
use verbcast_core::rank::Rank;

/// A message and the ranks that say it.
type Said = (String, Vec<Rank>);

/// What rank 0 has to say, if every rank has succeeded.
pub fn judge<T: Serialize + DeserializeOwned>(outcomes: Vec<Outcome>) -> Result<T, Failure> {
    let mut complaints = Vec::new();
    let mut deaths = Vec::new();
    let mut reports = Vec::new();
    let mut summary = None;
    for outcome in outcomes {
        let rank = outcome.rank;
        for line in outcome.complaints {
            say(&mut complaints, line, rank);
        }
        let succeeded = outcome.status.is_some_and(|status| status.success());
        match decode(&outcome.output) {
            Ok(Word::Failed(message)) => {
                for line in message.lines() {
                    say(&mut reports, line.to_owned(), rank);
                }
            }
            Ok(Word::Done(found)) if succeeded => summary = summary.or(found),
            _ => {
                let end = match outcome.status {
                    _ if outcome.killed_after.is_some() => {
                        let seconds = outcome.killed_after.unwrap_or_default().as_secs_f64();
                        format!("did not end within {seconds} s after another rank and was killed")
                    }
                    Some(status) => describe(status),
                    None => "vanished".to_owned(),
                };
                say(&mut deaths, end, rank);
            }
        }
    }
    for (line, ranks) in complaints {
        // Standard error may be closed.
        let _ = writeln!(std::io::stderr(), "{}: {line}", name_ranks(&ranks));
    }
    let deaths = deaths.into_iter().map(|(end, ranks)| format!("{} {end}", name_ranks(&ranks)));
    let reports =
        reports.into_iter().map(|(what, ranks)| format!("{}: {what}", name_ranks(&ranks)));
    let messages: Vec<String> = deaths.chain(reports).collect();
    match summary {
        Some(summary) if messages.is_empty() => Ok(summary),
        _ if messages.is_empty() => Err(Failure::new("rank 0 ended without an outcome")),
        _ => Err(Failure { messages, status: 1 }),
    }
}

fn say(said: &mut Vec<Said>, message: String, rank: Rank) {
    match said.iter_mut().find(|(known, _)| *known == message) {
        // A rank may complain twice in the same words.
        Some((_, ranks)) if ranks.last() == Some(&rank) => {}
        Some((_, ranks)) => ranks.push(rank),
        None => said.push((message, vec![rank])),
    }
}

fn describe(status: std::process::ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => match signal_hook::low_level::signal_name(signal) {
            Some(name) => format!("was killed by signal {signal} ({name})"),
            None => format!("was killed by signal {signal}"),
        },
        (None, Some(code)) => format!("ended with exit status {code} and no report"),
        (None, None) => "ended".to_owned(),
    }
}
