//! The virtual ring of all ranks.

use crate::rank::Rank;

/// The neighbours of `me` on the virtual ring of `size` ranks (Hoefler 2007, section 2.2). Every
/// protocol watches them for liveness and passes failures on to them, so that all ranks learn of one.
pub fn ring_peers(me: Rank, size: u32) -> Vec<Rank> {
    let mut peers = vec![me.predecessor(size), me.successor(size)];
    peers.dedup();
    peers.retain(|peer| *peer != me);
    peers
}
