//! How a broadcast begins.

use super::operation::Operation;
use super::{Config, Groups, MOST_FRAGMENTS, Repair, Repairers, Window};
use crate::protocol::{Core, Limits, StartError};
use crate::rank::{OpId, Rank};
use crate::time::Instant;

impl Window {
    /// As [`start`](Core::start), with other repairers for this operation, the same at every rank.
    ///
    /// # Errors
    /// As [`start`](Core::start).
    pub fn start_with(
        &mut self,
        now: Instant,
        root: Rank,
        len: u64,
        repairers: Repairers,
    ) -> Result<OpId, StartError> {
        self.now = now;
        let Config { in_flight, fragment_len, .. } = self.config;
        let limits = Limits { size: self.size, in_flight, fragment_len, fragments: MOST_FRAGMENTS };
        let cut = limits.admit(root, len, self.operations.len())?;
        let op = self.next_op();
        let groups = Groups::new(repairers, self.size);
        let operation = Operation::new(self.me, root, groups, cut, self.next_seq);
        let is_repaired = operation.repairer(self.me).is_some();
        if !is_repaired && root != self.me {
            self.expected.insert(op.0, cut.count());
        }
        self.introduce(&operation);
        self.next_seq = operation.end();
        self.operations.push_back(operation);
        self.advance();
        if is_repaired && self.config.repair == Repair::Pull {
            self.pull.begin(now);
        }
        self.settle();
        self.events.extend(self.departed.iter().filter_map(|left| left.disagreement(op)));
        Ok(op)
    }

    /// The first time with a root and groups, each rank needs a connection with its repairer: to report
    /// to it, to read from it, and to hear of its farewell.
    fn introduce(&mut self, operation: &Operation) {
        let (root, groups) = operation.context();
        if self.introduced.insert((root, groups)) {
            self.partners.extend(groups.repairer(self.me, root));
            self.partners.extend(groups.leaves(self.me, root));
        }
    }
}
