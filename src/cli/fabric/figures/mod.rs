//! `verbcast fabric figures`: the figures of both papers, simulated.

mod acks;
pub mod args;
mod catalogue;
mod network;
mod speedup;
mod summary;
mod sweep;

use crate::chart::{Lines, document};
use crate::fabric::output;
use crate::failure::Failure;
use crate::files::write_whole;
use crate::progress::Progress;
use args::{FiguresArgs, PaperName};
use catalogue::{figures, file, is_wanted};
use network::Network;
use serde::Serialize;
use std::fs;
use std::time::Instant;
use summary::Summary;

pub fn run(args: &FiguresArgs) -> Result<(), Failure> {
    let wanted = figures(args);
    let has_speedup = is_wanted(args, PaperName::FatTree, speedup::NUMBER);
    let acks_shown =
        || acks::SHOWN.iter().filter(|shown| is_wanted(args, PaperName::Acks, shown.number));
    let has_acks = acks_shown().count() > 0;
    if wanted.is_empty() && !has_speedup && !has_acks {
        return Err(Failure::usage(
            "--figure: there are 8 to 17 of fat-tree, 8 to 16 of mesh, and 1 and 2 of acks",
        ));
    }
    let folder = args.output.display();
    fs::create_dir_all(&args.output)
        .map_err(|error| Failure::new(format!("cannot make the folder {folder}: {error}")))?;
    let points: usize = wanted.iter().map(sweep::points).sum();
    let points = points + if has_speedup { speedup::POINTS } else { 0 };
    let points = points + if has_acks { acks::points(args) } else { 0 };
    let progress = Progress::new(points as u64, "points");
    let began = Instant::now();
    let mut summary = Summary::new(args);
    for paper in [PaperName::FatTree, PaperName::Mesh] {
        let of_paper = || wanted.iter().filter(|figure| figure.paper == paper);
        let has_more = has_speedup && paper == PaperName::FatTree;
        if of_paper().count() == 0 && !has_more {
            continue;
        }
        let network = Network::new(paper, args)?;
        for of in of_paper() {
            let figure = sweep::figure(of, &network, args, &progress)?;
            write(args, &of.file(), &figure.lines(), &figure)?;
            summary.add(&of.file(), &figure);
        }
        if has_more {
            let figure = speedup::speedup(&network, args, &progress)?;
            let name = file(paper, speedup::NUMBER);
            write(args, &name, &figure.lines(), &figure)?;
            summary.add_speedup(&name, &figure);
        }
    }
    if has_acks {
        let acks = acks::acks(args, &progress)?;
        for shown in acks_shown() {
            let name = file(PaperName::Acks, shown.number);
            write(args, &name, &acks.lines(shown), &acks)?;
            summary.add_acks(&name, &acks, shown);
        }
        summary.run.events += acks.events();
    }
    drop(progress);
    summary.end(began.elapsed());
    write_json(args, "summary", &summary)?;
    match args.json {
        true => output::json(&summary),
        false => crate::print(&summary.text(&args.output)),
    }
}

/// Writes a figure and its numbers.
fn write(
    args: &FiguresArgs,
    name: &str,
    lines: &Lines,
    numbers: &impl Serialize,
) -> Result<(), Failure> {
    let svg = document(&lines.svg(), &lines.title);
    write_whole(&args.output.join(format!("{name}.svg")), &svg)?;
    write_json(args, name, numbers)
}

fn write_json(args: &FiguresArgs, name: &str, value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::new)?;
    write_whole(&args.output.join(format!("{name}.json")), &(text + "\n"))
}
