//! A message that the transport has been given, with its memory.

use std::ops::{Deref, DerefMut};
use verbcast_verbs::Block;

/// A message with its memory.
#[derive(Debug)]
pub enum Owned {
    /// Memory as any other.
    Vec(Vec<u8>),
    /// Memory that is registered.
    Block(Block),
}

impl Owned {
    /// The message in memory as any other; a copy, unless it is there.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Owned::Vec(bytes) => bytes,
            Owned::Block(block) => block.to_vec(),
        }
    }
}

impl Default for Owned {
    fn default() -> Self {
        Owned::Vec(Vec::new())
    }
}

impl Deref for Owned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Owned::Vec(bytes) => bytes,
            Owned::Block(block) => block,
        }
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Owned::Vec(bytes) => bytes,
            Owned::Block(block) => block,
        }
    }
}
