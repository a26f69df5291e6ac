//! How much ranks may tell one another through a rendezvous.

use verbcast_core::wire::Gathered;

/// Longest job token, in bytes.
pub(super) const MAX_TOKEN: usize = 256;
/// Longest frame before both sides have proven that they belong to the job, in bytes.
pub(super) const MAX_GREETING: usize = 256;
/// Longest blob of one rank, in bytes.
pub(super) const MAX_BLOB: usize = 1 << 20;
/// Most bytes of all ranks' blobs together.
pub(super) const MAX_TOTAL: usize = 256 << 20;

/// Longest frame to one of `size` ranks: all blobs, and what is around them.
pub(super) fn max_answer(size: u32) -> usize {
    MAX_TOTAL.min(MAX_BLOB.saturating_mul(size as usize)) + Gathered::overhead(size as usize)
}
