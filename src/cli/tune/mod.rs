//! `verbcast tune`: measures the algorithms, and writes the table by which broadcasts choose.

pub mod args;
mod candidate;
mod choose;
mod text;

use crate::bench::{measure, save};
use crate::failure::Failure;
use crate::files::{check_file, write_whole};
use args::TuneArgs;
use choose::{choose, measured, table};
use std::io::Write;
use verbcast_core::protocol::choice::Table;

pub fn run(args: &TuneArgs) -> Result<(), Failure> {
    check_file("--output", &args.output).map_err(Failure::usage)?;
    let Some(results) = measure(&args.common, &[], |size| args.plan(size))? else { return Ok(()) };
    for what in &results.left_out {
        // Standard error may be closed.
        let _ = writeln!(std::io::stderr(), "warning: left out: {what}");
    }
    save(&args.common, &results)?;
    let measured = measured(&results.points);
    if measured.is_empty() {
        return Err(Failure::new("no algorithm could be measured, so there is no table"));
    }
    let columns = choose(&measured, args.margin / 100.0);
    let table = table(&columns).map_err(Failure::new)?;
    let file = format!("{}{table}", text::comments(args, &results));
    // What is written is what will be read.
    if file.parse::<Table>().as_ref() != Ok(&table) {
        return Err(Failure::new("the table is not read as it was written"));
    }
    write_whole(&args.output, &file)?;
    let path = args.output.display();
    let medians = text::medians(&measured, &columns);
    crate::print(&format!("{file}{medians}\n# To use it: VERBCAST_CHOICE={path}\n"))
}
