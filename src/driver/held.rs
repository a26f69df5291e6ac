//! Packets of operations that have not begun here.

use crate::protocol::Via;
use crate::rank::OpId;
use crate::transport::Buffer;

/// Kept packets, in the order of their arrival. Datagrams are kept up to a limit, since they take
/// buffers from the current operation's; reliable messages always, since their sender is held back
/// once the receive queue is empty.
#[derive(Debug)]
pub(super) struct Held {
    packets: Vec<(OpId, Via, Buffer)>,
    datagrams: usize,
    most_datagrams: usize,
}

impl Held {
    pub fn new(most_datagrams: usize) -> Self {
        Held { packets: Vec::new(), datagrams: 0, most_datagrams }
    }

    /// Keeps a packet, or gives its buffer back where there are too many.
    pub fn keep(&mut self, op: OpId, via: Via, buffer: Buffer) -> Result<(), Buffer> {
        if via == Via::Multicast {
            if self.datagrams == self.most_datagrams {
                return Err(buffer);
            }
            self.datagrams += 1;
        }
        self.packets.push((op, via, buffer));
        Ok(())
    }

    /// The next kept packet of an operation before `next`.
    pub fn take_begun(&mut self, next: OpId) -> Option<(Via, Buffer)> {
        let at = self.packets.iter().position(|(op, ..)| op.after(next) < 0)?;
        let (_, via, buffer) = self.packets.remove(at);
        self.datagrams -= usize::from(via == Via::Multicast);
        Some((via, buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_limited_and_reliable_messages_are_not() {
        let mut held = Held::new(1);
        let buffer = |index| Buffer { index };
        assert_eq!(held.keep(OpId(5), Via::Multicast, buffer(0)), Ok(()));
        assert_eq!(held.keep(OpId(6), Via::Multicast, buffer(1)), Err(buffer(1)));
        assert_eq!(held.keep(OpId(6), Via::Reliable, buffer(2)), Ok(()));
        assert_eq!(held.take_begun(OpId(5)), None);
        assert_eq!(held.take_begun(OpId(6)), Some((Via::Multicast, buffer(0))));
        assert_eq!(held.keep(OpId(6), Via::Multicast, buffer(1)), Ok(()));
    }
}
