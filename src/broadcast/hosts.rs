//! What the hosts of ranks are called.

use std::collections::HashMap;
use std::sync::Arc;
use verbcast_core::driver::Failure;
use verbcast_core::rank::Rank;
use verbcast_core::wire::Proposal;

/// The names of the ranks' hosts, where there are several.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts(Arc<[Option<Arc<str>>]>);

impl Hosts {
    /// As the ranks have told.
    pub fn of(all: &[Proposal]) -> Hosts {
        let whereabouts = || all.iter().map(|one| &one.whereabouts);
        if whereabouts().all(|one| one.host == all[0].whereabouts.host) {
            return Hosts::default();
        }
        let mut known: HashMap<&str, Arc<str>> = HashMap::new();
        let names = whereabouts().map(|one| {
            let name = one.name.get()?;
            Some(Arc::clone(known.entry(name).or_insert_with(|| name.into())))
        });
        Hosts(names.collect())
    }

    fn name(&self, rank: Rank) -> Option<Arc<str>> {
        self.0.get(rank.index()).cloned().flatten()
    }

    /// With the host of the rank that failed.
    pub fn locate(&self, failure: Failure) -> Failure {
        let host = self.name(failure.rank);
        failure.on(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbcast_core::wire::{HostName, Terms, Whereabouts};

    fn on(hosts: &[(u8, &str)]) -> Hosts {
        let proposal = |&(host, name): &(u8, &str)| {
            let name = HostName::new(name);
            let whereabouts = Whereabouts { host: [host; 16], name, ..Whereabouts::default() };
            Proposal { terms: Terms { ring: 1, common: 0 }, whereabouts, introduction: None }
        };
        Hosts::of(&hosts.iter().map(proposal).collect::<Vec<_>>())
    }

    #[test]
    fn hosts_are_named_where_there_are_several() {
        let several = on(&[(1, "node1"), (2, "node2"), (2, "node2"), (3, "no name")]);
        let names = [0, 1, 2, 3, 4].map(|rank| several.name(Rank(rank)));
        let names = names.map(|name| name.map(|name| name.to_string()));
        let expected = ["node1", "node2", "node2"].map(|name| Some(name.to_owned()));
        assert_eq!(names[..3], expected);
        assert_eq!(names[3..], [None, None]);
        let one = on(&[(1, "node1"), (1, "node1")]);
        assert_eq!(one.name(Rank(0)), None);
    }
}
