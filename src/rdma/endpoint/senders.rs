//! The processes that send datagrams, by where they send them from: known from their addresses, and from the probes of groups,
//! which may come from another GID of the same port.

use crate::rdma::ids::ProcessId;
use crate::rdma::ud::Sender;
use std::collections::HashMap;

/// The processes, by the sources of their datagrams.
#[derive(Debug, Default)]
pub struct Senders {
    by_source: HashMap<Sender, ProcessId>,
    /// Who was looked up last, who most often is the next.
    last: Option<(Sender, ProcessId)>,
}

impl Senders {
    /// A process sends from here.
    pub fn learn(&mut self, sender: Sender, process: ProcessId) {
        self.by_source.insert(sender, process);
        self.last = None;
    }

    /// All that a process sends comes from this QP now.
    pub fn relocate(&mut self, process: ProcessId, qpn: u32) {
        let of_process = |(sender, _): &(Sender, ProcessId)| Sender { qpn, ..*sender };
        let gone = self.by_source.extract_if(|_, known| *known == process);
        let gone: Vec<_> = gone.collect();
        self.by_source.extend(gone.iter().map(|one| (of_process(one), process)));
        self.last = None;
    }

    /// Where what was [found](Self::find) last came from, if it was of this process.
    pub fn last_of(&self, process: ProcessId) -> Option<Sender> {
        self.last.filter(|(_, last)| *last == process).map(|(sender, _)| sender)
    }

    /// The process that sends from here, if it is known.
    pub fn find(&mut self, sender: Sender) -> Option<ProcessId> {
        if let Some((last, process)) = self.last
            && last == sender
        {
            return Some(process);
        }
        let process = *self.by_source.get(&sender)?;
        self.last = Some((sender, process));
        Some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(gid: u8, qpn: u32) -> Sender {
        Sender { gid: [gid; 16], qpn }
    }

    #[test]
    fn who_sends_from_another_qp_is_known_by_that_alone() {
        let mut senders = Senders::default();
        senders.learn(sender(1, 17), ProcessId(3));
        senders.learn(sender(2, 17), ProcessId(3));
        senders.learn(sender(1, 18), ProcessId(4));
        assert_eq!(senders.find(sender(2, 17)), Some(ProcessId(3)));
        assert_eq!(senders.last_of(ProcessId(3)), Some(sender(2, 17)));
        assert_eq!(senders.last_of(ProcessId(4)), None);
        assert_eq!(senders.find(sender(2, 18)), None, "a stranger");
        senders.relocate(ProcessId(3), 19);
        assert_eq!(senders.last_of(ProcessId(3)), None);
        assert_eq!((senders.find(sender(1, 17)), senders.find(sender(2, 17))), (None, None));
        assert_eq!(senders.find(sender(2, 19)), Some(ProcessId(3)));
        assert_eq!(senders.find(sender(1, 18)), Some(ProcessId(4)));
    }
}
