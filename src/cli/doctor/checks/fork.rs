//! 28: registered memory when the program forks.

use super::ARRIVAL;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::inventory;
use crate::doctor::lab::{Lab, Line};
use crate::doctor::site::Site;
use std::time::Duration;
use verbcast_verbs::while_forked;

pub const CHECK: Check = Check {
    number: 28,
    expected: "the adapter sees what the parent writes while a child lives, and the parent what the adapter writes",
    bound: Duration::from_secs(15),
    attempt,
};

const BEFORE: u64 = 1;
const MEANWHILE: u64 = 2;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let (mut writer, mut reader) = (Line::new(&lab)?, Line::new(&lab)?);
    writer.connect(&reader.end(), 1)?;
    reader.connect(&writer.end(), 1)?;
    let word = |number: u64| number.to_le_bytes();
    writer.own.write(0, &word(BEFORE));
    reader.writable.write(0, &word(BEFORE));
    let seen = while_forked(|| {
        // Each write of the parent's takes a page from the child, or from the adapter.
        writer.own.write(0, &word(MEANWHILE));
        reader.writable.write(8, &word(BEFORE));
        let (span, id) = (writer.own.span(0, 8), writer.number());
        let queued = writer.qp.write_from(&span, reader.end().write(), id);
        queued.map_err(|error| error.to_string())?;
        writer.settle(ARRIVAL)?;
        Ok::<_, String>(u64::from_le_bytes(reader.writable.read(0)))
    });
    let seen = seen.map_err(|error| format!("no child can be made: {error}"))??;
    let how = inventory::fork();
    Ok(match seen {
        MEANWHILE => Tried::holds(how),
        _ => Tried::broken(
            format!("written before and after a fork: {MEANWHILE}, seen: {seen} ({how})"),
            "programs that fork lose data here: set RDMAV_FORK_SAFE=1, and please send the report",
        ),
    })
}
