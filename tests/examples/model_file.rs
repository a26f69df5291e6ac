//! Gives every rank a copy of a file that rank 0 reads, such as a trained model.
//!
//! The file goes in chunks. While one is on its way, rank 0 reads the next, and the others write the one before.
//!
//! ```text
//! cargo build --release --no-default-features --features mpi --example model_file
//! mpirun -n 8 target/release/examples/model_file model.bin '/tmp/model.{rank}.bin'
//! ```

use mpi::traits::*;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem;

const CHUNK: usize = 1 << 20;

/// What a rank does with the file.
enum Side {
    Reads(File),
    Writes(File),
}

impl Side {
    fn open(rank: i32, from: &str, to: &str) -> io::Result<Side> {
        match rank {
            0 => Ok(Side::Reads(File::open(from)?)),
            _ => Ok(Side::Writes(File::create(to.replace("{rank}", &rank.to_string()))?)),
        }
    }

    fn len(&self) -> io::Result<u64> {
        match self {
            Side::Reads(file) => Ok(file.metadata()?.len()),
            Side::Writes(_) => Ok(0),
        }
    }

    /// Fills the next chunk, or empties the one before.
    fn step(&mut self, next: &mut [u8], before: &[u8]) -> io::Result<()> {
        match self {
            Side::Reads(file) => file.read_exact(next),
            Side::Writes(file) => file.write_all(before),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(from), Some(to)) = (paths.next(), paths.next()) else {
        return Err("usage: model_file FROM TO, with {rank} in TO".into());
    };
    let universe = mpi::initialize().ok_or("MPI does not start")?;
    let world = verbcast::mpi::MulticastCommunicator::new(universe.world())?;
    let root = world.process_at_rank(0);

    let opened = Side::open(world.rank(), &from, &to);
    let opened = opened.and_then(|side| Ok((side.len()?, side)));
    // A rank that returns with an error leaves, and the others' next broadcast fails with its name.
    let (mut len, mut side) = opened.map_err(|error| format!("{from} to {to}: {error}"))?;
    root.broadcast_into(&mut len)?;

    let mut chunks = (0..len).step_by(CHUNK).map(|at| CHUNK.min((len - at) as usize));
    let mut before = Vec::new();
    let mut current = vec![0; chunks.next().unwrap_or(0)];
    side.step(&mut current, &before)?;
    while !current.is_empty() {
        let mut next = vec![0; chunks.next().unwrap_or(0)];
        let stepped = mpi::request::scope(|scope| {
            let request = root.immediate_broadcast_into(scope, &mut current)?;
            let stepped = side.step(&mut next, &before);
            request.wait()?;
            Ok::<_, verbcast::mpi::Error>(stepped)
        })?;
        stepped?;
        before = mem::replace(&mut current, next);
    }
    side.step(&mut [], &before)?;

    if world.rank() == 0 {
        let by = world.by_mpi().map_or("multicast".to_owned(), |why| format!("MPI: {why}"));
        println!("{len} bytes to {} ranks by {by}", world.size() - 1);
    }
    Ok(())
}
