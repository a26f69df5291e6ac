//! Computes on one block of data while the next one is on its way.
//!
//! Rank 0 has the data, and every rank computes a checksum of it. The blocks lie in two buffers that are
//! registered with the device once, and take turns.
//!
//! ```text
//! cargo build --example nonblocking
//! export VERBCAST_SIZE=3 VERBCAST_RENDEZVOUS=unix:/tmp/nonblocking
//! for rank in 0 1 2; do VERBCAST_RANK=$rank target/debug/examples/nonblocking & done; wait
//! ```

use std::error::Error;
use verbcast::{Broadcaster, Config, Environment, Rank, Star};

const ROOT: Rank = Rank(0);
const BLOCKS: u8 = 8;
const BLOCK_LEN: usize = 256 << 10;
/// Bytes of which the checksum is computed between two calls that let broadcasts make progress.
const PIECE_LEN: usize = 16 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::from_env()?;
    let environment = Environment::from_env()?.ok_or("not started as a rank of a job")?;
    let mut bootstrap = Star::join(&environment, config.device.timeout)?;
    let mut broadcaster = Broadcaster::new(&mut bootstrap, &config)?;

    let mut next = broadcaster.buffer(BLOCK_LEN);
    let mut here = broadcaster.buffer(BLOCK_LEN);
    // The first block is full of zeros, and each one of its number.
    here.fill(0);
    broadcaster.broadcast_into(ROOT, &mut here)?;
    let mut sum = 1;
    for block in 1..BLOCKS {
        if broadcaster.rank() == ROOT {
            next.fill(block);
        }
        let pending = broadcaster.start(ROOT, next)?;
        sum = checksum(sum, &here, &mut broadcaster)?;
        next = here;
        here = broadcaster.wait(pending)?;
    }
    sum = checksum(sum, &here, &mut broadcaster)?;
    println!("{}: checksum {sum:08x}", broadcaster.rank());
    broadcaster.close()?;
    Ok(())
}

/// Adler's checksum goes on with a block, while the broadcast of the next one makes progress.
fn checksum(sum: u32, block: &[u8], broadcaster: &mut Broadcaster) -> Result<u32, Box<dyn Error>> {
    let (mut low, mut high) = (sum & 0xffff, sum >> 16);
    for piece in block.chunks(PIECE_LEN) {
        for byte in piece {
            low = (low + u32::from(*byte)) % 65521;
            high = (high + low) % 65521;
        }
        broadcaster.progress()?;
    }
    Ok(high << 16 | low)
}
