//! Memory for messages that is used again and again.

use crate::rdma::Owned;
use std::ops::{Deref, DerefMut};
use verbcast_verbs::Block;

/// Bytes for messages, made by [`Broadcaster::buffer`](super::Broadcaster::buffer).
///
/// It is read and written as a slice, and broadcasts of it or of a part of it find it registered with the
/// device, which saves them that work.
#[derive(Debug)]
pub struct Buffer {
    memory: Owned,
}

impl Buffer {
    pub(super) fn new(block: Option<Block>, len: usize) -> Self {
        let plain = || Owned::Vec(vec![0; len]);
        Buffer { memory: block.map_or_else(plain, Owned::Block) }
    }

    pub(super) fn into_owned(self) -> Owned {
        self.memory
    }

    pub(super) fn from_owned(memory: Owned) -> Self {
        Buffer { memory }
    }

    /// Whether it was registered when it was made, rather than being memory as any other.
    pub fn is_registered(&self) -> bool {
        matches!(self.memory, Owned::Block(_))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}
