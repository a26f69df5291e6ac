//! `verbcast figures`: figures of both broadcast papers, by their models and by simulation, with measurements beside.

pub mod args;
mod figure;
mod hoefler;
mod liu;
mod simulated;

use crate::chart::document;
use crate::failure::Failure;
use crate::files::write_whole;
use crate::results::Results;
use args::FiguresArgs;
use figure::Figure;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A figure's name, and what makes it.
type Maker = (&'static str, fn(&Scope) -> Result<Figure, Failure>);

const FIGURES: [Maker; 7] = [
    ("liu-10", liu::latency_at_8),
    ("liu-11", liu::latency_at_1024),
    ("liu-12", liu::throughput_over_co_roots),
    ("hoefler-4", hoefler::latency_over_ranks),
    ("hoefler-5", hoefler::latency_of_each_rank),
    ("hoefler-6", hoefler::latency_of_rank_1),
    ("hoefler-7", hoefler::latency_of_the_last_rank),
];

/// How much is simulated, and what was measured.
pub struct Scope {
    is_quick: bool,
    measured: Option<Results>,
}

pub fn run(args: &FiguresArgs) -> Result<(), Failure> {
    let wanted = wanted(args)?;
    let measured = args.measured.as_deref().map(read).transpose()?;
    let scope = Scope { is_quick: args.quick, measured };
    let folder = args.output.display();
    fs::create_dir_all(&args.output)
        .map_err(|error| Failure::new(format!("cannot make the folder {folder}: {error}")))?;
    let mut all = Vec::new();
    for (name, make) in wanted {
        let figure = make(&scope)?;
        let svg = document(&figure.lines().svg(), &figure.title);
        write_whole(&args.output.join(format!("{name}.svg")), &svg)?;
        let text = serde_json::to_string_pretty(&figure).map_err(Failure::new)?;
        write_whole(&args.output.join(format!("{name}.json")), &(text + "\n"))?;
        all.push((name, figure));
    }
    if args.json {
        let all: serde_json::Map<_, _> = all
            .iter()
            .map(|(name, figure)| Ok(((*name).to_owned(), serde_json::to_value(figure)?)))
            .collect::<serde_json::Result<_>>()
            .map_err(Failure::new)?;
        return crate::print(&(serde_json::to_string_pretty(&all).map_err(Failure::new)? + "\n"));
    }
    let mut text = String::new();
    for (name, figure) in &all {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name}: {}", figure.title);
        for remark in &figure.remarks {
            let _ = writeln!(text, "  {remark}");
        }
    }
    let figures = if all.len() == 1 { "figure" } else { "figures" };
    let _ = writeln!(text, "{} {figures} in {folder}", all.len());
    crate::print(&text)
}

fn wanted(args: &FiguresArgs) -> Result<Vec<Maker>, Failure> {
    let names: Vec<_> = FIGURES.iter().map(|(name, _)| *name).collect();
    if let Some(other) = args.figure.iter().find(|name| !names.contains(&name.as_str())) {
        let what = format!("--figure {other}: there are {}", names.join(", "));
        return Err(Failure::usage(what));
    }
    let is_wanted =
        |(name, _): &Maker| args.figure.is_empty() || args.figure.iter().any(|one| one == name);
    Ok(FIGURES.into_iter().filter(is_wanted).collect())
}

fn read(path: &Path) -> Result<Results, Failure> {
    let named = |what: String| Failure::new(format!("--measured {}: {what}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
    Results::parse(&text).map_err(named)
}
