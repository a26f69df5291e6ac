//! Buffers of datagrams that were copied out of the memory of a node, to be used again.

/// How many are kept. A rank that is in step has one in use.
const MOST: usize = 8;

/// Buffers that nobody uses.
#[derive(Debug, Default)]
pub struct Spares {
    buffers: Vec<Vec<u8>>,
}

impl Spares {
    /// A buffer of so many bytes, whatever they are.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.buffers.pop().unwrap_or_default();
        buffer.resize(len, 0);
        buffer
    }

    /// Takes a buffer back.
    pub fn put(&mut self, buffer: Vec<u8>) {
        if self.buffers.len() < MOST && buffer.capacity() > 0 {
            self.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again() {
        let mut spares = Spares::default();
        let long = spares.take(100);
        let at = long.as_ptr();
        spares.put(long);
        let short = spares.take(8);
        assert_eq!((short.as_ptr(), short.len()), (at, 8));
        let other = spares.take(8);
        assert_ne!(other.as_ptr(), at);
    }

    #[test]
    fn few_are_kept() {
        let mut spares = Spares::default();
        let buffers: Vec<_> = (0..2 * MOST).map(|_| spares.take(1)).collect();
        buffers.into_iter().for_each(|buffer| spares.put(buffer));
        spares.put(Vec::new());
        assert_eq!(spares.buffers.len(), MOST);
    }
}
