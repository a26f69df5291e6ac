//! What a process hands on that was the receiver until a mate took its place.
//!
//! Datagrams are in its queue that came before that mate listened. Nobody else of the node has them. Those behind them the mate
//! publishes itself, from the first that it received.

/// How much of its queue a process hands on; `D` tells one datagram from another.
#[derive(Clone, Debug)]
pub(super) struct Handover<D> {
    /// The first datagram off the wire that a mate has published since this process was the receiver.
    first: Option<D>,
    /// Datagrams that the queue holds at most, and how many of these may still be handed on.
    queue: u32,
    left: u32,
}

impl<D: PartialEq> Handover<D> {
    /// By a process whose queue holds so many datagrams at most.
    pub fn new(queue: u32) -> Self {
        Handover { first: None, queue, left: queue }
    }

    /// This process is the receiver, and will have its whole queue to hand on.
    pub fn receive(&mut self) {
        (self.first, self.left) = (None, self.queue);
    }

    /// A mate has published a datagram off the wire.
    pub fn published(&mut self, datagram: impl FnOnce() -> D) {
        self.first.get_or_insert_with(datagram);
    }

    /// It has missed what mates have published, and cannot tell any more what they have.
    pub fn overrun(&mut self) {
        self.left = 0;
    }

    /// Whether a datagram off the wire is to be handed on.
    pub fn hands_on(&mut self, datagram: &D) -> bool {
        if self.first.as_ref() == Some(datagram) {
            self.left = 0;
        }
        let is_theirs = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_theirs
    }

    /// Whether it hands on nothing any more.
    pub fn is_done(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(handover: &mut Handover<u32>, datagrams: impl IntoIterator<Item = u32>) -> Vec<bool> {
        datagrams.into_iter().map(|datagram| handover.hands_on(&datagram)).collect()
    }

    #[test]
    fn what_came_before_a_mate_listened_is_handed_on_and_no_more() {
        let mut handover = Handover::new(100);
        assert_eq!(of(&mut handover, [1]), [true], "the mate has published nothing yet");
        handover.published(|| 4);
        handover.published(|| 5);
        assert_eq!(of(&mut handover, 2..7), [true, true, false, false, false]);
        assert!(handover.is_done());
        handover.receive();
        assert_eq!(of(&mut handover, [5]), [true]);
        handover.overrun();
        assert_eq!(of(&mut handover, [6]), [false], "mates may have it");
    }

    /// Who is never seen to publish, and a queue that is never seen empty, do not make it go on for ever.
    #[test]
    fn no_more_is_handed_on_than_was_in_the_queue() {
        let mut handover = Handover::new(3);
        assert_eq!(of(&mut handover, 1..6), [true, true, true, false, false]);
        assert!(handover.is_done());
    }
}
