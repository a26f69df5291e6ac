//! Reads under way over a connection, and what can be read behind them.

use verbcast_verbs::Remote;

/// How many reads are under way, and from where the last of them reads, if that may be read again.
#[derive(Debug, Default)]
pub struct Reads {
    under_way: usize,
    last: Option<Remote>,
}

impl Reads {
    pub fn begin(&mut self, from: Remote) {
        self.under_way += 1;
        self.last = Some(from);
    }

    pub fn end(&mut self) {
        self.under_way -= 1;
    }

    /// Last words go behind them. Whoever hears those may give the memory back that was read.
    pub fn close(&mut self) {
        self.last = None;
    }

    /// Memory that the other side keeps for a read under way, unless last words went behind that.
    pub fn kept(&self) -> Option<Remote> {
        self.last.filter(|_| self.under_way > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> Remote {
        Remote { address, key: 7 }
    }

    #[test]
    fn what_is_being_read_is_kept_until_then() {
        let mut reads = Reads::default();
        assert_eq!(reads.kept(), None);
        reads.begin(at(100));
        reads.begin(at(200));
        reads.end();
        assert_eq!(reads.kept(), Some(at(200)));
        reads.end();
        assert_eq!(reads.kept(), None);
    }

    #[test]
    fn nothing_is_kept_behind_last_words() {
        let mut reads = Reads::default();
        reads.begin(at(100));
        reads.close();
        assert_eq!(reads.kept(), None, "its owner may have heard them");
        reads.begin(at(300));
        assert_eq!(reads.kept(), Some(at(300)), "of another communicator");
    }
}
