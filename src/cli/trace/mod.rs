//! `verbcast trace`: what happened in a job whose ranks have written timelines, on one clock and one page.

mod clocks;
mod digest;
mod members;
mod page;
mod read;
mod verdict;

use crate::chart::document;
use crate::failure::Failure;
use crate::files::write_whole;
use clap::Args;
use clocks::Offset;
use digest::Digest;
use read::{Event, Timeline};
use std::fs;
use std::path::PathBuf;

#[derive(Args)]
pub struct TraceArgs {
    /// The folder with the timelines: what VERBCAST_TRACE was when the job ran
    #[arg(value_name = "DIR")]
    traces: PathBuf,
    /// The folder for the page, index.html, and for trace.json, all timelines on one clock; it is made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Also write each rank over time as a file of its own, timeline.svg
    #[arg(long)]
    svg: bool,
}

pub const HELP: &str = "\
Examples:
  A copy to eight processes on this host that loses packets, and what happened:
    VERBCAST_TRACE=traces verbcast copy data.bin 'out.{rank}' --ranks 8 --fault loss=0.02
    verbcast trace traces -o page

  The same of any MPI program, on a folder that all hosts share:
    mpirun -n 16 -x LD_PRELOAD=libverbcast.so -x VERBCAST_TRACE=traces ./program

trace.json opens in Perfetto (ui.perfetto.dev) and in Chromium's chrome://tracing, and so does each rank's own file.";

pub fn run(args: &TraceArgs) -> Result<(), Failure> {
    let (timelines, left_out) = read::read_all(&args.traces).map_err(Failure::new)?;
    let offsets = clocks::offsets(&timelines);
    let (digests, length) = digest::digests(&timelines, &offsets);
    let told = told(&digests, &left_out);
    let page = page::page(&digests, length, &offsets, &told);
    let cannot = |error| format!("cannot make the folder {}: {error}", args.output.display());
    fs::create_dir_all(&args.output).map_err(|error| Failure::new(cannot(error)))?;
    write_whole(&args.output.join("trace.json"), &merged(&timelines, &offsets)?)?;
    if args.svg {
        let drawing = document(&page::lanes(&digests, length), &page::title(&digests));
        write_whole(&args.output.join("timeline.svg"), &drawing)?;
    }
    let path = args.output.join("index.html");
    write_whole(&path, &page)?;
    crate::print(&format!("{}\n{}\n", told.join("\n"), path.display()))
}

/// What there is to say in sentences, and which files are missing in it.
fn told(digests: &[Digest], left_out: &[PathBuf]) -> Vec<String> {
    let left_out = left_out.iter().map(|path| {
        format!("{} was cut off before it says whose it is, and is left out.", path.display())
    });
    verdict::sentences(digests).into_iter().chain(left_out).collect()
}

/// All timelines as one, on the clock of the first.
fn merged(timelines: &[Timeline], offsets: &[Offset]) -> Result<String, Failure> {
    let mut lines = Vec::new();
    for (timeline, offset) in timelines.iter().zip(offsets) {
        for event in &timeline.events {
            let ts = event.ts.map(|ts| ts + offset.add);
            let event = Event { ts, ..event.clone() };
            lines.push(serde_json::to_string(&event).map_err(Failure::new)?);
        }
    }
    Ok(format!("{{\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n")))
}
