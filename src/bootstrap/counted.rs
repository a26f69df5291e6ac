//! What the making of a communicator asks of its bootstrap, counted.

use super::{Bootstrap, BootstrapError, Secret};
use verbcast_core::rank::Rank;

/// What was asked of a bootstrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Exchanges in which every rank waits for all others.
    pub rounds: u32,
    /// Bytes that this rank gave in them.
    pub given: usize,
    /// Bytes that it got, its own among them.
    pub gathered: usize,
}

/// A bootstrap that counts what is asked of it.
#[derive(Debug)]
pub struct Counted<B> {
    inner: B,
    asked: Asked,
}

impl<B: Bootstrap> Counted<B> {
    /// Of another one.
    pub fn new(inner: B) -> Self {
        Counted { inner, asked: Asked::default() }
    }

    /// What was asked since this was last taken.
    pub fn take(&mut self) -> Asked {
        std::mem::take(&mut self.asked)
    }
}

impl<B: Bootstrap> Bootstrap for Counted<B> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn secret(&self) -> Result<Secret, String> {
        self.inner.secret()
    }

    fn all_gather(&mut self, blob: &[u8]) -> Result<Vec<Vec<u8>>, BootstrapError> {
        let blobs = self.inner.all_gather(blob)?;
        self.asked.rounds += 1;
        self.asked.given += blob.len();
        self.asked.gathered += blobs.iter().map(Vec::len).sum::<usize>();
        Ok(blobs)
    }
}
