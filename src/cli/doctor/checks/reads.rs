//! 22: RDMA reads in flight.

use super::ARRIVAL;
use crate::doctor::check::Check;
use crate::doctor::finding::Tried;
use crate::doctor::lab::{Lab, Line};
use crate::doctor::site::Site;
use std::time::Duration;

pub const CHECK: Check = Check {
    number: 22,
    expected: "reads beyond what is served at a time wait, and all complete",
    bound: Duration::from_secs(15),
    attempt,
};

/// Reads that a connection of verbcast asks for.
const READS: i32 = 4;
const POSTED: usize = 48;

fn attempt(site: &Site) -> Result<Tried, String> {
    let lab = Lab::open(site)?;
    let limits = lab.context.limits().map_err(|error| error.to_string())?;
    let (serves, begins) = (limits.max_qp_rd_atom, limits.max_qp_init_rd_atom);
    let reads = READS.min(serves).min(begins).max(0) as u8;
    let (mut reader, mut owner) = (Line::new(&lab)?, Line::new(&lab)?);
    owner.readable.write(0, &[0x5a; 64]);
    reader.connect(&owner.end(), reads)?;
    owner.connect(&reader.end(), reads)?;
    for at in 0..POSTED {
        let (span, id) = (reader.own.span(64 * at, 64), reader.number());
        let queued = reader.qp.read_into(&span, owner.end().read(), id);
        queued.map_err(|error| error.to_string())?;
    }
    let took = reader.settle(ARRIVAL)?;
    let mut bytes = [0; 64 * POSTED];
    reader.own.copy(0, &mut bytes);
    let came = format!("{POSTED} in {took:.1?}, {reads} at a time (limits {serves} and {begins})");
    Ok(match bytes.iter().all(|byte| *byte == 0x5a) {
        true => Tried::holds(came),
        false => Tried::broken(came + ", with wrong bytes", "please send the report"),
    })
}
