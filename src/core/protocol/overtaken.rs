//! Whether what is missing of a broadcast was sent for certain.

use crate::rank::OpId;

/// The last broadcast of which something was multicast before it had begun here, whether it was kept or not: whoever did so was
/// done with those before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overtaken {
    by: Option<OpId>,
}

impl Overtaken {
    /// Something of a broadcast was multicast that has not begun here.
    pub fn note(&mut self, op: OpId) {
        if self.by.is_none_or(|by| op.after(by) > 0) {
            self.by = Some(op);
        }
    }

    /// Whether the broadcast that begins now is one before that.
    pub fn begin(&mut self, op: OpId) -> bool {
        self.by = self.by.filter(|by| by.after(op) > 0);
        self.by.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_last_one_heard_of_is_overtaken() {
        let mut overtaken = Overtaken::default();
        assert!(!overtaken.begin(OpId(0)));
        overtaken.note(OpId(5));
        overtaken.note(OpId(3));
        assert!(overtaken.begin(OpId(4)));
        assert!(!overtaken.begin(OpId(5)));
        assert!(
            !overtaken.begin(OpId(5 + (1 << 31) + 1)),
            "it is forgotten before numbers come again"
        );
        overtaken.note(OpId(0));
        assert!(overtaken.begin(OpId(u32::MAX)), "numbers go round");
    }
}
