//! Which chunks all ranks have from an earlier copy, by their hashes.

use super::digest::LEN;
use super::manifest::Layout;
use super::meeting::meet;
use super::plan::Plan;
use super::source::Source;
use super::staging::Tree;
use super::transfer::Chunks;
use crate::launch::decide::{blame, settle};
use std::fs::File;
use std::os::unix::fs::FileExt;
use verbcast::bootstrap::Star;
use verbcast::broadcast::Broadcaster;
use verbcast_core::rank::Rank;

/// Where the bytes are that are compared.
pub enum Side<'a> {
    Source(Source),
    Destination(&'a Tree),
}

/// Returns for each chunk whether every rank has it. Rank 0 reads everything for it.
pub fn agree(
    caster: &mut Broadcaster,
    star: &mut Star,
    plan: &Plan,
    side: Side<'_>,
) -> Result<Vec<bool>, String> {
    let rank = caster.rank();
    let chunks = Chunks::new(plan, Vec::new());
    let count = chunks.count() as usize;
    let mut digests = vec![0; count * LEN];
    let tree = match side {
        Side::Source(source) => {
            if let Err(reason) = hash_source(source, plan, &chunks, &mut digests) {
                caster.abort(&reason);
                return Err(blame(rank, reason));
            }
            None
        }
        Side::Destination(tree) => Some(tree),
    };
    caster.broadcast_into(Rank(0), &mut digests).map_err(|error| error.to_string())?;
    let mut held = vec![0xff_u8; count.div_ceil(8)];
    if let Some(tree) = tree {
        for (chunk, has) in (0..).zip(compare(tree, plan, &chunks, &digests)) {
            if !has {
                held[chunk / 8] &= !(1 << (chunk % 8));
            }
        }
    }
    let all = settle(star, meet(caster, Ok(held)), |blobs| Ok(in_all(blobs, count.div_ceil(8))))?;
    let has = |chunk: usize| all.get(chunk / 8).is_some_and(|bits| bits >> (chunk % 8) & 1 == 1);
    Ok((0..count).map(has).collect())
}

/// The bits that are set in all of the bitmaps of so many bytes. What one lacks is not set in it.
fn in_all(bitmaps: Vec<Vec<u8>>, len: usize) -> Vec<u8> {
    let mut all = vec![0xff; len];
    for bitmap in bitmaps {
        for (at, bits) in all.iter_mut().enumerate() {
            *bits &= bitmap.get(at).copied().unwrap_or(0);
        }
    }
    all
}

fn hash_source(
    mut source: Source,
    plan: &Plan,
    chunks: &Chunks,
    digests: &mut [u8],
) -> Result<(), String> {
    let mut buffer = vec![0; chunks.len(0)];
    for (chunk, digest) in (0..).zip(digests.chunks_exact_mut(LEN)) {
        let part = &mut buffer[..chunks.len(chunk)];
        source.read(part)?;
        digest.copy_from_slice(&plan.hash.of(part));
    }
    source.finish()
}

/// Which chunks are there and right. One that cannot be read counts as missing.
fn compare(tree: &Tree, plan: &Plan, chunks: &Chunks, digests: &[u8]) -> Vec<bool> {
    let mut layout = Layout::new(tree.manifest());
    let mut buffer = vec![0; chunks.len(0)];
    let mut open: Option<(usize, Option<File>)> = None;
    let mut held = Vec::new();
    for (chunk, digest) in (0..).zip(digests.chunks_exact(LEN)) {
        let mut rest = &mut buffer[..chunks.len(chunk)];
        let mut is_there = true;
        while !rest.is_empty() {
            let Some(piece) = layout.next(rest.len()) else { return held };
            let (part, after) = rest.split_at_mut(piece.len);
            if open.as_ref().is_none_or(|(entry, _)| *entry != piece.entry) {
                open = Some((piece.entry, tree.open_again(piece.entry).ok()));
            }
            let file = open.as_ref().and_then(|(_, file)| file.as_ref());
            is_there &= file.is_some_and(|file| file.read_exact_at(part, piece.offset).is_ok());
            rest = after;
        }
        held.push(is_there && plan.hash.of(&buffer[..chunks.len(chunk)])[..] == *digest);
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_lacks_is_not_in_all() {
        assert_eq!(in_all(vec![vec![0b1110, 0xff], vec![0b0111, 0x80]], 2), [0b0110, 0x80]);
        assert_eq!(in_all(vec![vec![0xff, 0xff], vec![0xff]], 2), [0xff, 0]);
        assert_eq!(in_all(vec![vec![0xff; 3]], 2), [0xff; 2]);
    }
}
