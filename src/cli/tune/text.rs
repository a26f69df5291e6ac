//! What is told of a table: its head, and why each algorithm was taken.

use super::args::TuneArgs;
use super::candidate::Candidate;
use super::choose::{Column, Measured, Medians, best};
use crate::bench::text::head;
use crate::results::Results;
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// Widths of the first column and of a median.
const FIRST: usize = 10;
const LEAST: usize = 10;

/// When, where and how the table was measured, as comments.
pub fn comments(args: &TuneArgs, results: &Results) -> String {
    let time = UNIX_EPOCH + Duration::from_secs(results.system.time);
    let counts: Vec<String> = {
        let mut counts: Vec<u32> = results.points.iter().map(|point| point.ranks).collect();
        counts.dedup();
        counts.iter().map(u32::to_string).collect()
    };
    let mut text = format!(
        "# Measured by verbcast tune on {}, among {} ranks\n",
        humantime::format_rfc3339_seconds(time),
        counts.join(", ")
    );
    text += &head(results);
    let _ = writeln!(text, "# {}; margin {} %", args.method.describe(), args.margin);
    let settings = results.configuration.variables.iter();
    for said in settings
        .map(|(name, value)| format!("{name}={value}"))
        .chain(results.left_out.iter().map(|what| format!("left out: {what}")))
    {
        let _ = writeln!(text, "# {}", said.replace(char::is_control, " "));
    }
    text
}

/// The medians of all algorithms in microseconds, and which was taken.
pub fn medians(measured: &Measured, columns: &[Column]) -> String {
    let mut text = String::new();
    for Column { ranks, taken, .. } in columns {
        let Some(sizes) = measured.get(ranks) else { continue };
        let candidates = all(sizes.values());
        // Writing to a String does not fail.
        let _ = writeln!(text, "\n# {ranks} ranks, medians in microseconds");
        let _ = write!(text, "{:<FIRST$}", "# Size");
        for candidate in &candidates {
            let _ = write!(text, "  {candidate:>LEAST$}");
        }
        text += "  taken\n";
        for (size, medians) in sizes {
            let _ = write!(text, "{size:<FIRST$}");
            for candidate in &candidates {
                let cell =
                    median(medians, *candidate).map_or("-".to_owned(), |m| format!("{m:.2}"));
                let width = candidate.to_string().len().max(LEAST);
                let _ = write!(text, "  {cell:>width$}");
            }
            if let Some(candidate) = taken.get(size) {
                let _ = write!(text, "  {}", reason(medians, *candidate));
            }
            text += "\n";
        }
    }
    text
}

/// The candidates that were measured, in their order.
fn all<'a>(places: impl Iterator<Item = &'a Medians>) -> Vec<Candidate> {
    let measured: Vec<Candidate> = places.flatten().map(|(candidate, _)| *candidate).collect();
    Candidate::all().filter(|candidate| measured.contains(candidate)).collect()
}

fn median(medians: &Medians, candidate: Candidate) -> Option<f64> {
    medians.iter().find(|(other, _)| *other == candidate).map(|(_, median)| *median)
}

/// What was taken, and what is better by too little.
fn reason(medians: &Medians, taken: Candidate) -> String {
    match (best(medians), median(medians, taken)) {
        (Some((best, least)), Some(own)) if best != taken => {
            let percent = 100.0 * (1.0 - least / own);
            format!("{taken} ({best} takes only {percent:.1} % less)")
        }
        _ => taken.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use verbcast_core::protocol::choice::Algorithm;

    const BINOMIAL: Candidate = Candidate::Protocol(Algorithm::Binomial);
    const CHAIN: Candidate = Candidate::Protocol(Algorithm::Chain);
    const ON_DEMAND: Candidate = Candidate::Protocol(Algorithm::TwoStageOnDemand);

    #[test]
    fn each_choice_has_its_medians() {
        let sizes = BTreeMap::from([
            (8, vec![(CHAIN, 30.0), (ON_DEMAND, 10.0)]),
            (64, vec![(BINOMIAL, 9.8), (ON_DEMAND, 10.0), (Candidate::Mpi, 11.0)]),
        ]);
        let taken = BTreeMap::from([(8, ON_DEMAND), (64, ON_DEMAND)]);
        let column = Column { ranks: 4, without_mpi: taken.clone(), taken };
        let text = medians(&Measured::from([(4, sizes)]), &[column]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "# 4 ranks, medians in microseconds",
                "# Size      two-stage-on-demand    binomial       chain         mpi  taken",
                "8                         10.00           -       30.00           -  two-stage-on-demand",
                "64                        10.00        9.80           -       11.00  two-stage-on-demand \
                 (binomial takes only 2.0 % less)",
            ]
        );
    }
}
