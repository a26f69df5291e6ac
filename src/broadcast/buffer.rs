//! Memory for messages that is used again and again.

use std::ops::{Deref, DerefMut};
use verbcast_verbs::Block;

/// Bytes for messages, made by [`Broadcaster::buffer`](super::Broadcaster::buffer).
///
/// It is read and written as a slice, and broadcasts of it or of a part of it find it registered with the
/// device, which saves them that work.
#[derive(Debug)]
pub struct Buffer {
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Registered(Block),
    Plain(Box<[u8]>),
}

impl Buffer {
    pub(super) fn new(block: Option<Block>, len: usize) -> Self {
        let plain = || Memory::Plain(vec![0; len].into());
        Buffer { memory: block.map_or_else(plain, Memory::Registered) }
    }

    /// Whether it was registered when it was made, rather than being memory as any other.
    pub fn is_registered(&self) -> bool {
        matches!(self.memory, Memory::Registered(_))
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Registered(block) => block,
            Memory::Plain(bytes) => bytes,
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Registered(block) => block,
            Memory::Plain(bytes) => bytes,
        }
    }
}
