//! `verbcast report`: what benchmarks have measured, on one page.

mod by_host;
mod figures;
mod page;
mod papers;
mod setup;
mod tables;

use crate::chart::document;
use crate::failure::Failure;
use crate::files::write_whole;
use crate::results::Results;
use clap::Args;
use setup::setups;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ReportArgs {
    /// What verbcast bench has written with --json; several are put together. Where two have measured
    /// the same, the one with more broadcasts counts, and of as many the later
    #[arg(required = true, value_name = "RESULTS.json")]
    results: Vec<PathBuf>,
    /// The folder for the page, index.html; it is made where there is none
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Also write each chart as a file of its own: figure-1.svg and so on, in the order of the page
    #[arg(long)]
    svg: bool,
}

pub fn run(args: &ReportArgs) -> Result<(), Failure> {
    let results: Result<Vec<_>, _> = args.results.iter().map(|path| read(path)).collect();
    let results = results.map_err(Failure::new)?;
    let setups = setups(&results);
    let page = page::page(&setups);
    let cannot = |error| format!("cannot make the folder {}: {error}", args.output.display());
    fs::create_dir_all(&args.output).map_err(|error| Failure::new(cannot(error)))?;
    let path = args.output.join("index.html");
    write_whole(&path, &page)?;
    if args.svg {
        let figures = setups.iter().flat_map(|setup| figures::figures(&setup.points));
        for (number, figure) in (1..).zip(figures) {
            let drawing = document(&figure.svg, &figure.title);
            write_whole(&args.output.join(format!("figure-{number}.svg")), &drawing)?;
        }
    }
    crate::print(&format!("{}\n", path.display()))
}

fn read(path: &Path) -> Result<Results, String> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Results::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}
