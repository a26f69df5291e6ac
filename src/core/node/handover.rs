//! What a process hands on that was the receiver until a mate took its place.
//!
//! Datagrams are in its queue that came before that mate listened. Nobody else of the node has them. Those behind them the mate
//! publishes itself, from the first that it received.

/// How much of its queue a process hands on; `D` tells one datagram from another.
#[derive(Clone, Debug)]
pub struct Handover<D> {
    /// The first datagram off the wire that a mate has published since this process was the receiver.
    first: Option<D>,
    is_done: bool,
}

impl<D> Default for Handover<D> {
    fn default() -> Self {
        Handover { first: None, is_done: false }
    }
}

impl<D: PartialEq> Handover<D> {
    /// This process is the receiver: it hands on all.
    pub fn receive(&mut self) {
        *self = Handover::default();
    }

    /// A mate has published a datagram off the wire.
    pub fn published(&mut self, datagram: impl FnOnce() -> D) {
        self.first.get_or_insert_with(datagram);
    }

    /// It has missed what mates have published, and cannot tell any more what they have.
    pub fn overrun(&mut self) {
        self.is_done = true;
    }

    /// Whether a datagram off the wire is to be handed on.
    pub fn hands_on(&mut self, datagram: &D) -> bool {
        self.is_done |= self.first.as_ref() == Some(datagram);
        !self.is_done
    }

    /// Whether it hands on nothing any more.
    pub fn is_done(&self) -> bool {
        self.is_done
    }
}
